// Sums over rows and over ranks.
#include "sim/numerics/ordered_rows.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace batchvar {
namespace {

Order RowOrderOf(int32_t block, int64_t width) {
  Order order;
  order.arithmetic = Arithmetic::kRowBlocks;
  order.block = block;
  order.pieces = {{0, width}};
  return order;
}

float PlainSum(const Order& order, const std::vector<float>& row, DType dtype = DType::kBf16) {
  return SumRow(order, std::ssize(row), dtype,
                [&row](int64_t i, float sum) { return sum + row[i]; });
}

TEST(OrderedRows, VectorsDivideTheRow) {
  EXPECT_EQ(RowVectorWidth(4096, DType::kBf16), 8);
  EXPECT_EQ(RowVectorWidth(4096, DType::kFp32), 4);
  EXPECT_EQ(RowVectorWidth(577, DType::kBf16), 1);
  EXPECT_EQ(RowVectorWidth(12, DType::kFp16), 4);
}

TEST(OrderedRows, ThreadsTakeVectorsWithTheStrideOfTheBlock) {
  // Two threads, vectors of 8: thread 0 has elements 0..7 and 16..23.
  std::vector<float> row(32, 0.0f);
  row[0] = 0x1p24f;
  row[8] = 1;
  row[16] = -0x1p24f;
  row[24] = 1;
  EXPECT_EQ(PlainSum(RowOrderOf(2, 32), row), 2.0f);
  // Four threads have one vector each, and the butterfly meets 0 with 2 first.
  EXPECT_EQ(PlainSum(RowOrderOf(4, 32), row), 2.0f);
  // One thread walks the row and loses the unit that meets 2^24.
  EXPECT_EQ(PlainSum(RowOrderOf(1, 32), row), 1.0f);
}

TEST(OrderedRows, WarpsMeetAfterTheirThreads) {
  // 64 threads of one element: threads 0 and 32 are in different warps.
  std::vector<float> row(64, 0.0f);
  row[0] = 0x1p24f;
  row[1] = 1;
  row[32] = -0x1p24f;
  row[33] = 1;
  Order order = RowOrderOf(64, 64);
  const auto one = [&row](int64_t i, float sum) { return sum + row[i]; };
  std::vector<float> sums(64);
  for (int i = 0; i < 64; ++i) sums[i] = one(i, 0.0f);
  EXPECT_EQ(SumThreads(sums.data(), 64), 1.0f);  // (2^24 + 1 -> 2^24) + (1 - 2^24)
}

TEST(OrderedRows, BlocksThatHoldSmallIntegersAgree) {
  std::vector<float> row(4096);
  float sum = 0;
  for (size_t i = 0; i < row.size(); ++i) sum += row[i] = static_cast<float>(i % 31) - 15;
  for (const int32_t block : {1, 16, 33, 256, 512, 1024}) {
    EXPECT_EQ(PlainSum(RowOrderOf(block, 4096), row), sum) << block;
  }
}

TEST(OrderedRows, RanksGoByTheList) {
  Order order;
  order.arithmetic = Arithmetic::kRankSum;
  order.combine = Combine::kSerialFp32;
  order.pieces = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  const float values[] = {0x1p24f, 1, 1, -0x1p24f};
  EXPECT_EQ(SumOfRanks(order, values), 0.0f);
  order.pieces = {{1, 2}, {2, 3}, {3, 4}, {0, 1}};
  EXPECT_EQ(SumOfRanks(order, values), 2.0f);
  order.combine = Combine::kExactSum;
  EXPECT_EQ(SumOfRanks(order, values), 2.0f);
}

}  // namespace
}  // namespace batchvar
