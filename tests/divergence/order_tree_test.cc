// Trees of small orders, written out by hand.
#include "sim/divergence/order_tree.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace batchvar {
namespace {

std::vector<int64_t> First(int64_t n) {
  std::vector<int64_t> places(n);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

Order OrderOf(Arithmetic arithmetic, Combine combine, std::vector<Range> pieces) {
  Order order;
  order.arithmetic = arithmetic;
  order.combine = combine;
  order.pieces = std::move(pieces);
  return order;
}

std::string Dot(const Order& order, const std::vector<int64_t>& places) {
  return NestedList(TreeOfDot(order, places));
}

TEST(OrderTree, ChainsOfFusedSums) {
  Order order = OrderOf(Arithmetic::kMmaSm80, Combine::kNone, {{0, 20}});
  EXPECT_EQ(Dot(order, First(20)), "[[[0,1,2,3,4,5,6,7],8,9,10,11,12,13,14,15],16,17,18,19]");
  order.instr_k = 4;
  EXPECT_EQ(Dot(order, First(10)), "[[[0,1,2,3],4,5,6,7],8,9]");
  order = OrderOf(Arithmetic::kFmaChain, Combine::kNone, {{0, 4}});
  EXPECT_EQ(Dot(order, First(4)), "[[[0,1],2],3]");
  order = OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 64}});
  EXPECT_EQ(Dot(order, {0, 15, 16, 40}), "[[[0,1],2],3]");
}

TEST(OrderTree, InstructionsAreCountedFromThePiece) {
  EXPECT_EQ(Dot(OrderOf(Arithmetic::kMmaSm80, Combine::kSerialFp32, {{0, 3}, {3, 13}}), First(13)),
            "[[0,1,2],[[3,4,5,6,7,8,9,10],11,12]]");
}

TEST(OrderTree, PiecesMeetAsTheOrderSays) {
  const std::vector<Range> five = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  const auto dot = [&five](Combine combine) {
    return Dot(OrderOf(Arithmetic::kMmaSm90, combine, five), First(5));
  };
  EXPECT_EQ(dot(Combine::kSerialFp32), "[[[[0,1],2],3],4]");
  EXPECT_EQ(dot(Combine::kSerial16bit), "[[[[0,1],2],3],4]");
  EXPECT_EQ(dot(Combine::kTurnstile), "[[[[0,1],2],3],4]");
  EXPECT_EQ(dot(Combine::kPairwise), "[[[0,1],[2,3]],4]");
  EXPECT_EQ(Dot(OrderOf(Arithmetic::kMmaSm90, Combine::kSerialFp32, {{2, 3}, {0, 2}}), First(3)),
            "[[0,1],2]");
}

TEST(OrderTree, SlicesTakeTheirStretchOfEveryBlock) {
  Order order = OrderOf(Arithmetic::kFmaChain, Combine::kNone, {{0, 8}});
  order.block = 4;
  order.slice_k = 2;
  EXPECT_EQ(Dot(order, First(8)), "[[[[0,1],4],5],[[[2,3],6],7]]");
  order.combine = Combine::kButterfly;
  order.slice_k = 4;
  EXPECT_EQ(Dot(order, First(8)), "[[[0,4],[2,6]],[[1,5],[3,7]]]");
}

TEST(OrderTree, RanksFollowTheList) {
  Order order = OrderOf(Arithmetic::kRankSum, Combine::kSerialFp32, {{1, 2}, {2, 3}, {0, 1}});
  EXPECT_EQ(NestedList(TreeOfRanks(order)), "[0,[1,2]]");
  order.combine = Combine::kExactSum;
  EXPECT_EQ(NestedList(TreeOfRanks(order)), "[0,1,2]");
  EXPECT_TRUE(TreeOfRanks(order).order_free);
}

TEST(OrderTree, ThreadsOfARowMeetFarthestFirst) {
  Order order = OrderOf(Arithmetic::kRowBlocks, Combine::kNone, {{0, 64}});
  order.block = 4;  // threads load 8 bf16 at once: thread t has 8 t .. 8 t + 7 and 32 more
  EXPECT_EQ(NestedList(TreeOfRow(order, 64, DType::kBf16, {0, 1, 8, 16, 24, 32, 40})),
            "[[[[0,1],5],3],[[2,6],4]]");
  order.block = 64;  // two warps: 31 and 32 are neighbours that meet last
  EXPECT_EQ(NestedList(TreeOfRow(order, 64, DType::kFp32, {0, 4, 8})), "[[0,2],1]");
  EXPECT_EQ(NestedList(TreeOfRow(order, 1024 * 9, DType::kFp32, {0, 4, 128, 132})),
            "[[0,1],[2,3]]");
}

TEST(OrderTree, AttentionWalksBlocksAndMergesPieces) {
  Order order = OrderOf(Arithmetic::kFmaChain, Combine::kNone, {{0, 4}});
  order.block = 2;
  const auto tree = [&order](int64_t n) { return NestedList(TreeOfAttention(order, First(n))); };
  EXPECT_EQ(tree(4), "[[[0,1],2],3]");
  order.descending = true;
  EXPECT_EQ(tree(4), "[[0,[2,3]],1]");
  order.combine = Combine::kLse;
  order.pieces = {{0, 2}, {2, 4}, {4, 5}, {5, 6}};
  EXPECT_EQ(tree(6), "[[[[0,1],[2,3]],4],5]");
  order.combine_lanes = 2;  // lane 0 has pieces 0 and 2, lane 1 pieces 1 and 3
  EXPECT_EQ(tree(6), "[[[0,1],4],[[2,3],5]]");
  order.combine_lanes = 0;
  order.combine = Combine::kChained;
  EXPECT_EQ(tree(6), "[[[[[0,1],2],3],4],5]");
}

}  // namespace
}  // namespace batchvar
