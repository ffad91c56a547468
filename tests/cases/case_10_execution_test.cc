// case-10: every row but the first is wrong (tenstorrent/tt-xla#5940), a negative control. Where a
// row stands in the batch is no part of its order under data-parallel, split-K and one-shot plans,
// so a dependence on it is evidence of a bug; under stream-K, two-shot and ring it can matter. And
// no reordering explains a difference beyond the rounding bound.
#include <cmath>

#include "kernels/cpu/row_ops.h"
#include "sim/divergence/rounding_bound.h"
#include "sim/numerics/float_bits.h"
#include "sim/plan/allreduce_policy.h"
#include "tests/cases/case_operands.h"

namespace batchvar {
namespace {

constexpr int64_t kM = 300, kN = 1536, kK = 2048;

int64_t DifferBetweenRows(const std::string& policy, int64_t row_a, int64_t row_b, int64_t n = kN,
                          int64_t k = kK) {
  const GemmPlan plan = CaseGemmPlan(policy, kM, n, k);
  const GemmData data = CaseGemmData(2, n, k);
  return CaseExecution(data, OrdersOfRow(plan, row_a), OrdersOfRow(plan, row_b))
      .difference.differ_fp32;
}

TEST(Case10Execution, PlaceDoesNotMatterWhereEveryTileIsCutAlike) {
  for (const char* policy : {"batch_invariant", "textbook", "deepgemm",
                             "{name: cutlass_splitk, split_k: 4, mode: serial}"}) {
    EXPECT_EQ(DifferBetweenRows(policy, 0, 1), 0) << policy;
    EXPECT_EQ(DifferBetweenRows(policy, 0, kM - 1), 0) << policy;
  }
}

TEST(Case10Execution, PlaceCanMatterUnderStreamK) {
  const char* policy = "{name: stream_k, generation: 2}";
  // 36 tiles happen to be shared evenly: split-K after all. 48 tiles are cut one by one.
  EXPECT_EQ(DifferBetweenRows(policy, 0, kM - 1), 0);
  EXPECT_GT(DifferBetweenRows(policy, 0, kM - 1, 2048, 4096), 0);
}

std::vector<float> ReducedAt(AllReducePolicyKind kind, int64_t row) {
  constexpr int32_t kRanks = 4;
  AllReducePolicySpec spec;
  spec.kind = kind;
  const AllReduceMessage message{kM, kN, DType::kBf16, kRanks};
  const AllReducePlan plan = PlanAllReduce(spec, message, CaseDevice());
  std::vector<std::vector<uint16_t>> values;
  std::vector<const uint16_t*> ranks;
  for (int32_t r = 0; r < kRanks; ++r) {
    values.push_back(SeededRows(10, "case.rank." + std::to_string(r), 1, kN, DType::kBf16,
                                r % 2 == 0 ? 100.0f : 0.01f, DataFamily::kNormal));
  }
  for (const auto& value : values) ranks.push_back(value.data());
  std::vector<float> out(kN);
  AllReduceRow(StripsOfAllReduceRow(plan, message, row), kN, ranks, DType::kBf16, out.data());
  return out;
}

TEST(Case10Execution, PlaceInAnAllReduce) {
  EXPECT_EQ(ReducedAt(AllReducePolicyKind::kOneShot, 0),
            ReducedAt(AllReducePolicyKind::kOneShot, kM - 1));
  EXPECT_NE(ReducedAt(AllReducePolicyKind::kTwoShot, 0),
            ReducedAt(AllReducePolicyKind::kTwoShot, kM - 1));
  EXPECT_NE(ReducedAt(AllReducePolicyKind::kRing, 0),
            ReducedAt(AllReducePolicyKind::kRing, kM - 1));
}

// The largest |a - b| / bound over all outputs of two results.
double ShareOfBound(const GemmData& data, const std::vector<float>& a,
                    const std::vector<float>& b) {
  double largest = 0;
  for (int64_t row = 0; row < data.rows; ++row) {
    for (int64_t column = 0; column < data.columns; ++column) {
      double magnitudes = 0;
      for (int64_t k = 0; k < data.k; ++k) {
        magnitudes += std::fabs(double{FloatOfBf16(data.x[row * data.k + k])} *
                                FloatOfBf16(data.w[column * data.k + k]));
      }
      const int64_t i = row * data.columns + column;
      const double bound = ReorderingBound(
          data.k, magnitudes, std::max(std::fabs(a[i]), std::fabs(b[i])), DType::kFp32);
      largest = std::max(largest, std::fabs(double{a[i]} - b[i]) / bound);
    }
  }
  return largest;
}

TEST(Case10Execution, ADifferenceBeyondTheBoundIsNoReordering) {
  const GemmData data = CaseGemmData(3, 128, kK);
  const RowOrders orders = OrdersOfRow(CaseGemmPlan("batch_invariant", kM, 128, kK), 0);
  const std::vector<float> right = CaseResults(data, orders);
  for (const char* policy : {"textbook", "{name: cutlass_splitk, split_k: 4, mode: parallel}",
                             "{name: gemv, m_max: 512, then: textbook}"}) {
    const RowOrders other = OrdersOfRow(CaseGemmPlan(policy, kM, 128, kK), 0);
    EXPECT_LT(ShareOfBound(data, right, CaseResults(data, other)), 1.0) << policy;
  }
  // The bug of the case: rows but the first read something else.
  GemmData wrong = data;
  for (int64_t k = 0; k < kK; ++k) wrong.x[kK + k] = data.x[kK + (k + 1) % kK];
  EXPECT_GT(ShareOfBound(data, right, CaseResults(wrong, orders)), 10.0);
}

}  // namespace
}  // namespace batchvar
