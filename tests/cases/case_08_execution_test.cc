// case-08 by execution: one more token switches the all-reduce (lightseekorg/tokenspeed#1234). A
// random model as wide as the case's runs on 8 ranks under its own plans; everything but the
// all-reduce is pinned.
#include "kernels/cpu/row_ops.h"
#include "nlohmann/json.hpp"
#include "sim/plan/allreduce_policy.h"
#include "tests/cases/case_decoder.h"
#include "tests/cases/case_file.h"
#include "tests/cases/case_operands.h"
#include "tests/cases/case_replay.h"
#include "tests/kernels/decoder_folder.h"

namespace batchvar {
namespace {

constexpr int kPromptTokens = 16;
constexpr int kOutputTokens = 200;
constexpr int kExecutedTokens = 24;  // from the prompt's end on

class Case08Execution : public CaseTest {
 protected:
  Case08Execution() : CaseTest("case-08-collective-threshold.yaml") {}
  void SetUp() override {
    CaseTest::SetUp();
    if (IsSkipped()) return;
    hidden_ = Number("model", "hidden");
    ranks_ = setup_["ranks"].as<std::vector<int32_t>>();
    spec_.kind = AllReducePolicyKind::kOneShotUpTo;
    // The largest batch that one shot still serves.
    while (PlanAt(cap_ + 1, ranks_[0]).algorithm == AllReducePolicyKind::kOneShot) ++cap_;
  }
  AllReducePlan PlanAt(int64_t tokens, int32_t ranks) const {
    return PlanAllReduce(spec_, {tokens, hidden_, DType::kBf16, ranks}, CaseDevice());
  }
  // Row `row` of a step of so many tokens, the same numbers whatever the step. Ranks' numbers lie
  // far apart: the sum of eight bf16 numbers of one size is often exact in any order.
  std::vector<float> ReducedAt(int64_t tokens, int32_t ranks, int64_t row) const {
    std::vector<std::vector<uint16_t>> values;
    std::vector<const uint16_t*> pointers;
    for (int32_t rank = 0; rank < ranks; ++rank) {
      values.push_back(SeededRows(8, "case.rank." + std::to_string(rank), 1, hidden_, DType::kBf16,
                                  rank % 2 == 0 ? 100.0f : 0.01f, DataFamily::kNormal));
    }
    for (const auto& value : values) pointers.push_back(value.data());
    std::vector<float> out(hidden_);
    const AllReduceMessage message{tokens, hidden_, DType::kBf16, ranks};
    AllReduceRow(StripsOfAllReduceRow(PlanAt(tokens, ranks), message, row), hidden_, pointers,
                 DType::kBf16, out.data());
    return out;
  }

  int64_t hidden_ = 0;
  int64_t cap_ = 1;
  std::vector<int32_t> ranks_;
  AllReducePolicySpec spec_;
};

// In two-shot row t starts at rank t mod n, so row 0 alone keeps the order of one-shot.
TEST_F(Case08Execution, TheBitsOfARowChangeAtTheCapAndNowhereElse) {
  constexpr int64_t kRow = 3, kMost = 64;
  for (const int32_t ranks : ranks_) {
    const std::vector<float> one_shot = ReducedAt(kRow + 1, ranks, kRow);
    const std::vector<float> two_shot = ReducedAt(kMost, ranks, kRow);
    EXPECT_NE(one_shot, two_shot) << ranks;
    for (int64_t tokens = kRow + 1; tokens <= kMost; ++tokens) {
      const bool one = PlanAt(tokens, ranks).algorithm == AllReducePolicyKind::kOneShot;
      EXPECT_EQ(ReducedAt(tokens, ranks, kRow), one ? one_shot : two_shot)
          << tokens << " " << ranks;
    }
    EXPECT_EQ(ReducedAt(1, ranks, 0), ReducedAt(kMost, ranks, 0)) << ranks;
  }
}

// The model of the case, as thin as it can be in every other direction.
constexpr int kHeads = 8, kHeadDim = 16, kIntermediate = 128, kVocab = 128;

class Case08Model : public Case08Execution {
 protected:
  void SetUp() override {
    Case08Execution::SetUp();
    if (IsSkipped()) return;
    nlohmann::json config = nlohmann::json::parse(SmallConfig("LlamaForCausalLM"));
    config["num_hidden_layers"] = 1;
    config["hidden_size"] = hidden_;
    config["intermediate_size"] = kIntermediate;
    config["num_attention_heads"] = kHeads;
    config["num_key_value_heads"] = kHeads;
    folder_.WriteRandomModel(config.dump(), /*seed=*/8);
    model_ = std::make_unique<CaseModel>(folder_.path(), DType::kBf16, ranks_[0]);
    SpreadRanks();
  }
  // Ranks' partial sums far apart: those of one size add up exactly in nearly every element, and an
  // exact sum has one value in any order.
  void SpreadRanks() {
    DecoderLayer& layer = model_->weights.layers[0];
    for (int32_t rank = 0; rank < ranks_[0]; ++rank) {
      const float scale = rank % 2 == 0 ? 0.25f : 0.25f / 4096.0f;
      const auto random = [&](const char* name, PackedMatrix* weights) {
        const std::vector<uint16_t> words =
            SeededRows(8, name + std::to_string(rank), weights->n(), weights->k(), DType::kBf16,
                       scale, DataFamily::kNormal);
        *weights = PackedMatrix::Pack(words.data(), weights->n(), weights->k(), DType::kBf16);
      };
      random("case.o.", &layer.o[rank]);
      random("case.down.", &layer.mlps[0].down[rank]);
    }
  }

  // `first` requests that decode from the start. With `late`, one more joins them.
  ReplayResult Replayed(int64_t first, bool late, const std::string& allreduce) const {
    const std::string head =
        "model: {name: case_08, layers: 1, hidden_size: " + std::to_string(hidden_) +
        ", intermediate_size: " + std::to_string(kIntermediate) +
        ", q_heads: " + std::to_string(kHeads) + ", kv_heads: " + std::to_string(kHeads) +
        ", head_dim: " + std::to_string(kHeadDim) + ", vocab_size: " + std::to_string(kVocab) +
        ", max_positions: 256}\ndevice: h100_sxm\ntp: " + std::to_string(ranks_[0]) +
        "\nscheduler: {padding: exact, num_gpu_blocks: 10000}\n"
        "policies: {gemm: batch_invariant, attention: batch_invariant, allreduce: " +
        allreduce + "}\n";
    std::string trace;
    for (int64_t i = 0; i < first; ++i) {
      trace += TraceLine("r" + std::to_string(i), 0, kPromptTokens, kOutputTokens);
    }
    if (late) trace += TraceLine("late", kLateNs, 1, kOutputTokens);
    return ReplayOf(head, trace, {"r4"});
  }
  CaseText TextOf(const ReplayResult& run, std::vector<int64_t> forced = {}) const {
    return ExecuteCase(model_.get(), model_->Prompt(kPromptTokens),
                       CaseRows(*model_, run, 0, kPromptTokens + kExecutedTokens - 1),
                       {DType::kFp32, std::move(forced)});
  }
  // The first generated token that comes of a step of more than `first` requests.
  static int64_t JoinedAt(const ReplayResult& run, int64_t first) {
    for (const HistoryEntry& entry : run.histories[0]->entries()) {
      if (entry.num_requests > first) return entry.begin() + 1 - kPromptTokens;
    }
    return -1;
  }

  static constexpr int64_t kLateNs = 500'000;
  TestFolder folder_;
  std::unique_ptr<CaseModel> model_;
};

TEST_F(Case08Model, ADecodeInABatchAtTheCapAndThenOneAboveItChangesItsOrderAndItsBits) {
  const ReplayResult stays = Replayed(cap_, false, "one_shot_up_to");
  const ReplayResult grows = Replayed(cap_, true, "one_shot_up_to");
  const int64_t joined = JoinedAt(grows, cap_);
  ASSERT_GT(joined, 1);
  ASSERT_LT(joined, kExecutedTokens);
  const CaseText at_cap = TextOf(stays), above = TextOf(grows, at_cap.tokens);
  EXPECT_EQ(LogitDistance(at_cap, above, joined), 0);  // still with as many as the cap allows
  EXPECT_GT(LogitDistance(at_cap, above, kExecutedTokens), 0);
  // The very first step in the larger batch: the all-reduce is the first op whose bits are others.
  const int64_t position = kPromptTokens + joined - 1;
  std::vector<int64_t> tokens = model_->Prompt(kPromptTokens);
  tokens.insert(tokens.end(), at_cap.tokens.begin(), at_cap.tokens.end());
  const std::vector<RowEvent> a = CaseRows(*model_, stays, 0, position + 1);
  const std::vector<RowEvent> b = CaseRows(*model_, grows, 0, position + 1);
  EXPECT_EQ(a.back().batch, cap_);
  EXPECT_EQ(b.back().batch, cap_ + 1);
  EXPECT_NE(a.back().plan->Of(Op::kAllReduceAttention).klass,
            b.back().plan->Of(Op::kAllReduceAttention).klass);
  const Divergence divergence = CompareLastRow(model_.get(), tokens, a, b.back());
  ASSERT_TRUE(divergence.first_op.has_value());
  EXPECT_EQ(divergence.ladder[*divergence.first_op].op, Op::kAllReduceAttention);
}

TEST_F(Case08Model, OneAlgorithmForAllSizesIsAFix) {
  const ReplayResult run = Replayed(cap_, true, "one_shot");
  EXPECT_GT(JoinedAt(run, cap_), 1);
  EXPECT_TRUE(SameBits(TextOf(Replayed(cap_, false, "one_shot")), TextOf(run)));
}

}  // namespace
}  // namespace batchvar
