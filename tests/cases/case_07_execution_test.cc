// case-07 by execution: two ranks commute, four do not (lm-sys blog, 2025-09-22).
#include "kernels/cpu/row_ops.h"
#include "sim/numerics/float_bits.h"
#include "sim/numerics/ordered_dot.h"
#include "tests/cases/case_operands.h"

namespace batchvar {
namespace {

constexpr int64_t kWidth = 4096;

// The sum over `ranks` ranks, which starts at rank `first`; outliers make terms lie far apart.
std::vector<float> SumFrom(int32_t ranks, int32_t first, Combine combine) {
  Order order;
  order.arithmetic = Arithmetic::kRankSum;
  order.combine = combine;
  for (int32_t i = 0; i < ranks; ++i) {
    const int64_t rank = (first + i) % ranks;
    order.pieces.push_back({rank, rank + 1});
  }
  std::vector<std::vector<uint16_t>> values;
  std::vector<const uint16_t*> pointers;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const float scale = rank % 2 == 0 ? 100.0f : 0.01f;
    values.push_back(SeededRows(7, "case.rank." + std::to_string(rank), 1, kWidth, DType::kBf16,
                                scale, DataFamily::kOutliers));
  }
  for (const auto& value : values) pointers.push_back(value.data());
  std::vector<float> out(kWidth);
  const std::vector<OrderStrip> strips = {{{0, kWidth}, order}};
  AllReduceRow(strips, kWidth, pointers, DType::kBf16, out.data());
  return out;
}

TEST(Case07Execution, TwoRanksCommute) {
  for (const Combine combine : {Combine::kSerialFp32, Combine::kSerial16bit}) {
    EXPECT_EQ(SumFrom(2, 0, combine), SumFrom(2, 1, combine));
  }
}

TEST(Case07Execution, FourRanksDoNot) {
  for (const Combine combine : {Combine::kSerialFp32, Combine::kSerial16bit}) {
    EXPECT_NE(SumFrom(4, 0, combine), SumFrom(4, 1, combine));
  }
}

// Degree 2 cuts K at the rank boundary and rounds each part to 16 bits before they are added.
TEST(Case07Execution, DegreeOneAndTwoDiffer) {
  const GemmData whole = CaseGemmData(4, 256, 4096);
  const RowOrders orders = OrdersOfRow(CaseGemmPlan("batch_invariant", 4, 256, 4096), 0);
  const Order one = orders.strips[0].order;
  Order half = one;
  half.pieces = {{0, 2048}};
  int64_t differ = 0;
  for (int64_t row = 0; row < whole.rows; ++row) {
    for (int64_t column = 0; column < whole.columns; ++column) {
      const uint16_t *x = &whole.x[row * whole.k], *w = &whole.w[column * whole.k];
      const float parts[] = {
          RoundTo(OrderedDot(half, {whole.dtype, x, 1, w, 1}), whole.dtype),
          RoundTo(OrderedDot(half, {whole.dtype, x + 2048, 1, w + 2048, 1}), whole.dtype)};
      const float two = RoundTo(SumSerial(parts, 1, 2), whole.dtype);
      differ += two != RoundTo(OrderedDot(one, {whole.dtype, x, 1, w, 1}), whole.dtype);
    }
  }
  EXPECT_GT(differ, whole.rows * whole.columns / 10);
}

}  // namespace
}  // namespace batchvar
