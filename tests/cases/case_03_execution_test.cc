// case-03 by execution: where the second request's prompt is cut (lm-sys blog, 2025-09-22). A small
// random model runs seq_b's prompt at its full length, alone and behind seq_a, under the attention
// orders of the plans; GEMMs are pinned.
#include "nlohmann/json.hpp"
#include "tests/cases/case_decoder.h"
#include "tests/cases/case_file.h"
#include "tests/cases/case_replay.h"
#include "tests/kernels/decoder_folder.h"

namespace batchvar {
namespace {

constexpr int kOutputTokens = 4;
constexpr int kBestEffort = 0;

class Case03Execution : public CaseTest {
 protected:
  Case03Execution() : CaseTest("case-03-chunk-boundary.yaml") {}
  void SetUp() override {
    CaseTest::SetUp();
    if (IsSkipped()) return;
    unit_ = static_cast<int>(Number("attention", "kv_split_size"));
    seq_a_ = static_cast<int>(Number("requests", "seq_a"));
    seq_b_ = static_cast<int>(Number("requests", "seq_b"));
    nlohmann::json config = nlohmann::json::parse(SmallConfig("LlamaForCausalLM"));
    config["max_position_embeddings"] = seq_b_ + kOutputTokens;
    config["num_attention_heads"] = 2;  // attention over so many positions is nearly all the work
    config["num_key_value_heads"] = 1;
    config["head_dim"] = 8;
    folder_.WriteRandomModel(config.dump(), /*seed=*/3);
    model_ = std::make_unique<CaseModel>(folder_.path());
  }
  std::string FixedSize() const {
    return "{name: batch_invariant, split_size: " + std::to_string(unit_) + ", prefix_apart: true}";
  }

  // seq_b behind so many tokens of seq_a (0: alone).
  CaseText TextOfB(int alignment, int seq_a, const std::string& attention) {
    const std::string head =
        "model: llama3_8b\ndevice: h100_sxm\nscheduler: {max_num_batched_tokens: " +
        std::to_string(Number("scheduler", "max_chunk_tokens")) +
        ", chunk_alignment: " + std::to_string(alignment) +
        "}\npolicies: {gemm: batch_invariant, attention: " + attention + "}\n";
    std::string trace;
    if (seq_a > 0) trace += TraceLine("seq_a", 0, seq_a, kOutputTokens);
    trace += TraceLine("seq_b", 0, seq_b_, kOutputTokens);
    const ReplayResult run = ReplayOf(head, trace, {"seq_b"});
    return ExecuteCase(model_.get(), model_->Prompt(seq_b_),
                       CaseRows(*model_, run, 0, seq_b_ + kOutputTokens - 1));
  }
  TestFolder folder_;
  std::unique_ptr<CaseModel> model_;
  int unit_ = 0, seq_a_ = 0, seq_b_ = 0;
};

// Where the split size is fixed, the place of the cut decides.
TEST_F(Case03Execution, AloneAndBehindSeqAAgreeOnlyAligned) {
  const CaseText alone = TextOfB(unit_, 0, FixedSize());
  ASSERT_EQ(std::ssize(alone.tokens), kOutputTokens);
  EXPECT_TRUE(SameBits(alone, TextOfB(unit_, seq_a_, FixedSize())));
  const CaseText best_effort = TextOfB(kBestEffort, seq_a_, FixedSize());
  EXPECT_FALSE(SameBits(alone, best_effort));
  // Another length of seq_a cuts elsewhere, and gives bits of its own.
  EXPECT_FALSE(SameBits(best_effort, TextOfB(kBestEffort, seq_a_ - 1000, FixedSize())));
}

// One query tile for any chunk, so that every step of up to four requests has four pieces.
TEST_F(Case03Execution, AlignedIsNotEnoughWhereTheNumberOfSplitsIsFixed) {
  const char* attention = "{name: textbook, tile_q: 65536, max_split: 4}";
  EXPECT_FALSE(SameBits(TextOfB(unit_, 0, attention), TextOfB(unit_, seq_a_, attention)));
}

}  // namespace
}  // namespace batchvar
