// Orders of a large model laid onto a small one: pieces in units of the instruction, columns by
// their share.
#include "kernels/experiment/borrowed_plan.h"

#include <gtest/gtest.h>

#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

Order Pieces(std::vector<Range> pieces) {
  Order order;
  order.combine = pieces.size() > 1 ? Combine::kSerialFp32 : Combine::kNone;
  order.pieces = std::move(pieces);
  return order;
}

TEST(BorrowOrder, EqualPiecesShareTheUnitsOfTheExecutedK) {
  const Order four = Pieces({{0, 1024}, {1024, 2048}, {2048, 3072}, {3072, 4096}});
  EXPECT_EQ(BorrowOrder(four, 4096, 64).pieces,
            (std::vector<Range>{{0, 16}, {16, 32}, {32, 48}, {48, 64}}));
  // 172 = 11 units, the last one short: 3 units a piece.
  EXPECT_EQ(BorrowOrder(four, 4096, 172).pieces,
            (std::vector<Range>{{0, 48}, {48, 96}, {96, 144}, {144, 172}}));
}

TEST(BorrowOrder, FewerUnitsThanPiecesMakeFewerPieces) {
  const Order three = Pieces({{0, 1408}, {1408, 2816}, {2816, 4096}});
  const Order borrowed = BorrowOrder(three, 4096, 64);  // ceil(4 / 3) = 2 units a piece
  EXPECT_EQ(borrowed.pieces, (std::vector<Range>{{0, 32}, {32, 64}}));
  EXPECT_EQ(borrowed.combine, Combine::kSerialFp32);
  const Order one = BorrowOrder(three, 4096, 16);
  EXPECT_EQ(one.pieces, (std::vector<Range>{{0, 16}}));
  EXPECT_EQ(one.combine, Combine::kNone);
}

TEST(BorrowOrder, UnequalEdgesMoveByTheirFraction) {
  const Order stream_k = Pieces({{0, 1216}, {1216, 2688}, {2688, 4096}});
  // Units of 16 in 160: 1216 / 4096 of 10 units = 2.97 -> 3, 2688 / 4096 of 10 = 6.56 -> 7.
  EXPECT_EQ(BorrowOrder(stream_k, 4096, 160).pieces,
            (std::vector<Range>{{0, 48}, {48, 112}, {112, 160}}));
}

TEST(BorrowOrder, TheSameKIsLeftAlone) {
  const Order two = Pieces({{0, 2048}, {2048, 4096}});
  EXPECT_EQ(BorrowOrder(two, 4096, 4096), two);
}

TEST(BorrowOrder, EveryResultCoversTheExecutedKOnce) {
  for (int64_t pieces = 1; pieces <= 9; ++pieces) {
    for (int64_t executed = 1; executed <= 200; executed += 7) {
      std::vector<Range> equal, unequal;
      for (int64_t i = 0; i < pieces; ++i) {
        equal.push_back({i * 512, (i + 1) * 512});
        unequal.push_back({512 * pieces * i * i / (pieces * pieces),
                           512 * pieces * (i + 1) * (i + 1) / (pieces * pieces)});
      }
      EXPECT_TRUE(CoversOnce(BorrowOrder(Pieces(equal), 512 * pieces, executed), executed));
      EXPECT_TRUE(CoversOnce(BorrowOrder(Pieces(unequal), 512 * pieces, executed), executed));
    }
  }
}

TEST(BorrowStrips, ColumnsMoveByTheirFractionAndEqualNeighboursJoin) {
  const Order one = Pieces({{0, 4096}});
  const Order two = Pieces({{0, 1000}, {1000, 4096}});
  const std::vector<OrderStrip> strips = {{{0, 128}, one}, {{128, 256}, two}, {{256, 1024}, one}};
  const std::vector<OrderStrip> borrowed = BorrowStrips(strips, 1024, 64, 4096, 4096);
  ASSERT_EQ(borrowed.size(), 3U);
  EXPECT_EQ(borrowed[1].columns, (Range{8, 16}));
  EXPECT_EQ(borrowed[2].columns, (Range{16, 64}));
  // With 16 terms both orders are one piece, so the row has one strip.
  EXPECT_EQ(BorrowStrips(strips, 1024, 64, 4096, 16).size(), 1U);
}

}  // namespace
}  // namespace batchvar
