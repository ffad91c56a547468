// case-02 by execution: three copies of one prompt (vllm-project/vllm#1464). The plans are those of
// the case's model, borrowed by the small one that runs; its prefix cache is off, as in 2023.
#include "tests/cases/case_decoder.h"
#include "tests/cases/case_file.h"
#include "tests/cases/case_replay.h"

namespace batchvar {
namespace {

constexpr int kPromptTokens = 40;
constexpr int kOutputTokens = 128;
// A kernel of its own for one token, and above it as many pieces of K as fill the device.
constexpr char kPolicies[] = "{gemm: {name: gemv, m_max: 1}, attention: fa2}";

class Case02Execution : public CaseTest {
 protected:
  Case02Execution() : CaseTest("case-02-batch-of-three.yaml") {}

  ReplayResult Replayed(int copies, const std::string& policies) const {
    const auto model = [this](const char* key) { return std::to_string(Number("model", key)); };
    const std::string head =
        "model: {name: case_02, layers: " + model("layers") + ", hidden_size: " + model("hidden") +
        ", intermediate_size: " + model("intermediate") + ", q_heads: " + model("heads") +
        ", kv_heads: " + model("kv_heads") +
        ", head_dim: " + std::to_string(Number("model", "hidden") / Number("model", "heads")) +
        ", vocab_size: " + model("vocab") +
        ", max_positions: 4096}\ndevice: a10g\ndtype: " + setup_["dtype"].as<std::string>() +
        "\nscheduler: {enable_prefix_caching: false, padding: exact, num_gpu_blocks: 4096}\n"
        "policies: " +
        policies + "\n";
    std::string trace;
    std::vector<std::string> ids;
    for (int i = 0; i < copies; ++i) {
      ids.push_back("copy" + std::to_string(i));
      trace += TraceLine(ids.back(), 0, kPromptTokens, kOutputTokens, "[[1, 40]]");
    }
    return ReplayOf(head, trace, ids);
  }

  std::vector<RowEvent> EventsOf(const ReplayResult& run, size_t copy) {
    return CaseRows(model_, run, copy, kPromptTokens + kOutputTokens - 1);
  }
  CaseText TextOf(const ReplayResult& run, size_t copy, std::vector<int64_t> forced = {}) {
    return ExecuteCase(&model_, model_.Prompt(kPromptTokens), EventsOf(run, copy),
                       {DType::kFp32, std::move(forced)});
  }

  CaseModel model_{TinyModel(), DType::kFp16};
};

TEST_F(Case02Execution, ThreeCopiesAreEnoughToMoveTheLogits) {
  const ReplayResult one = Replayed(1, kPolicies), three = Replayed(3, kPolicies);
  const CaseText alone = TextOf(one, 0);
  ASSERT_EQ(std::ssize(alone.tokens), kOutputTokens);
  EXPECT_TRUE(SameBits(alone, TextOf(Replayed(1, kPolicies), 0)));  // alone, it repeats
  for (size_t copy = 0; copy < 3; ++copy) {
    EXPECT_GT(LogitDistance(alone, TextOf(three, copy, alone.tokens), kOutputTokens), 0) << copy;
  }
}

TEST_F(Case02Execution, OneDecompositionIsAFix) {
  const ReplayResult one = Replayed(1, "batch_invariant"), three = Replayed(3, "batch_invariant");
  for (size_t copy = 0; copy < 3; ++copy) {
    EXPECT_TRUE(SameBits(TextOf(one, 0), TextOf(three, copy))) << copy;
  }
}

// The first decode step, alone and as one of three, from the same keys and values.
TEST_F(Case02Execution, TheFirstOpWhoseBitsDifferIsTheFirstWhosePlanDoes) {
  const ReplayResult one = Replayed(1, kPolicies), three = Replayed(3, kPolicies);
  const std::vector<RowEvent> events = EventsOf(one, 0), others = EventsOf(three, 0);
  const RowEvent &a = events[kPromptTokens], &b = others[kPromptTokens];
  ASSERT_EQ(a.padded_m, 1);
  ASSERT_EQ(b.padded_m, 3);
  std::vector<int64_t> tokens = model_.Prompt(kPromptTokens);
  tokens.push_back(7);
  const Divergence divergence =
      CompareLastRow(&model_, tokens, std::span(events).first(kPromptTokens + 1), b);
  ASSERT_TRUE(divergence.first_op.has_value());
  const LadderRung& rung = divergence.ladder[*divergence.first_op];
  EXPECT_EQ(rung.layer, 0);
  EXPECT_EQ(rung.op, Op::kQkvProj);
  EXPECT_EQ(KindOf(rung.op), OpKind::kGemm);  // it sums over K
  EXPECT_NE(a.plan->Of(rung.op).klass, b.plan->Of(rung.op).klass);
  EXPECT_EQ(a.plan->Of(Op::kRmsNormIn).klass, b.plan->Of(Op::kRmsNormIn).klass);
  // Both plans, as the reports put them side by side: a dot product by lanes, and tensor cores.
  const size_t op = IndexOf(*one.book, rung.op);
  const OpPlan &alone = one.book->Lookup(op, 1), &among = one.book->Lookup(op, 3);
  EXPECT_EQ(alone.policy, "gemv");
  EXPECT_EQ(among.policy, "textbook");
  EXPECT_NE(alone.order, among.order);
}

}  // namespace
}  // namespace batchvar
