// case-04 by execution: the split count of decode attention (ROCm/aiter#4378). Its last line, that
// answers differ in the middle of the context range only, is about tokens; here stands its lower
// end: where nothing is long enough to be split, nothing differs.
#include "tests/cases/case_operands.h"

namespace batchvar {
namespace {

constexpr AttentionHeads kHeads = {16, 1, 128, DType::kBf16};

Order OrderInBatch(const AttentionPolicySpec& spec, int64_t batch, int64_t kv_len) {
  const std::vector<AttentionRequest> step(batch, {1, kv_len});
  return MakeAttentionPolicy(spec)->Plan(step, kHeads, CaseDevice())[0].order;
}

AttentionPolicySpec SplitsOf(int32_t num_splits) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kFa2;
  spec.num_splits = num_splits;
  return spec;
}

BitsDifference Compare(const Order& a, const Order& b, int64_t kv_len) {
  AttentionData data;
  data.kv_len = kv_len;
  data.q_heads = kHeads.q_heads;
  data.kv_heads = kHeads.kv_heads;
  data.head_dim = kHeads.head_dim;
  const auto rows = [&data](const char* name, int64_t count, int64_t width) {
    return SeededRows(4, name, count, width, data.dtype, 1.0f, DataFamily::kNormal);
  };
  data.q = rows("case.q", 1, int64_t{data.q_heads} * data.head_dim);
  data.k = rows("case.k", kv_len, data.head_dim);
  data.v = rows("case.v", kv_len, data.head_dim);
  WorkerPool pool(1);
  Execution execution;
  EXPECT_EQ(ExecuteAttentionTwice(data, a, b, {BestIsa(), &pool}, &execution), FloatFault::kNone);
  return execution.difference;
}

TEST(Case04Execution, AFixedSplitCountRepeatsExactly) {
  for (const int32_t splits : {1, 8}) {
    const Order order = OrderInBatch(SplitsOf(splits), 1, 8192);
    ASSERT_EQ(order.pieces.size(), static_cast<size_t>(splits));
    EXPECT_EQ(Compare(order, order, 8192).differ_fp32, 0);
  }
}

TEST(Case04Execution, TwoSplitCountsDiffer) {
  const BitsDifference difference =
      Compare(OrderInBatch(SplitsOf(1), 1, 8192), OrderInBatch(SplitsOf(8), 1, 8192), 8192);
  EXPECT_GT(difference.differ_16bit, 0);
  EXPECT_GT(difference.max_abs, 0.0);
  EXPECT_LT(difference.max_abs, 2.441e-3);  // what the case measured, in fp8, is an upper end
}

TEST(Case04Execution, ANumberOfSplitsVariesWithTheBatchAndASizeDoesNot) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kFa3;
  EXPECT_GT(Compare(OrderInBatch(spec, 1, 8192), OrderInBatch(spec, 64, 8192), 8192).differ_fp32,
            0);
  spec.kind = AttentionPolicyKind::kBatchInvariant;
  EXPECT_EQ(Compare(OrderInBatch(spec, 1, 8192), OrderInBatch(spec, 64, 8192), 8192).differ_fp32,
            0);
}

TEST(Case04Execution, WhatIsTooShortToSplitDoesNotDiffer) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kTextbook;
  EXPECT_EQ(Compare(OrderInBatch(spec, 1, 128), OrderInBatch(spec, 64, 128), 128).differ_fp32, 0);
}

}  // namespace
}  // namespace batchvar
