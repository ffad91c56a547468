#include "sim/plan/allreduce_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/base/rng.h"
#include "sim/plan/moe_policy.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kHidden = 4096;

AllReducePolicySpec Spec(AllReducePolicyKind kind) {
  AllReducePolicySpec spec;
  spec.kind = kind;
  return spec;
}

AllReduceMessage Message(int64_t rows, int32_t ranks, int64_t width = kHidden) {
  return {rows, width, DType::kBf16, ranks};
}

std::vector<int64_t> Ranks(const Order& order) {
  std::vector<int64_t> ranks;
  for (const Range& piece : order.pieces) ranks.push_back(piece.begin);
  return ranks;
}

AllReducePolicyKind Chosen(const AllReducePolicySpec& spec, int64_t rows, int32_t ranks,
                           const DeviceSpec& device) {
  return PlanAllReduce(spec, Message(rows, ranks), device).algorithm;
}

TEST(AllReduce, OneShotAddsRanksInOrderWhateverTheSize) {
  const auto plan = PlanAllReduce({}, Message(1, 4), H100());
  ASSERT_EQ(plan.slices.size(), 1u);
  EXPECT_THAT(Ranks(plan.slices[0].order), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(plan.slices[0].order.combine, Combine::kSerialFp32);
  EXPECT_EQ(plan.slices[0].order.arithmetic, Arithmetic::kRankSum);
  EXPECT_EQ(PlanAllReduce({}, Message(5000, 4), H100()).klass, plan.klass);
}

TEST(AllReduce, OneRankHasNothingToAdd) {
  for (const AllReducePolicyKind kind : AllAllReducePolicies()) {
    const auto plan = PlanAllReduce(Spec(kind), Message(3, 1), H100());
    EXPECT_EQ(plan.slices.size(), 1u);
    EXPECT_EQ(plan.slices[0].order.combine, Combine::kNone);
  }
}

TEST(AllReduce, TwoShotStartsAtTheOwnerOfTheSlice) {
  const AllReducePolicySpec spec = Spec(AllReducePolicyKind::kTwoShot);
  const auto plan = PlanAllReduce(spec, Message(2, 4, 40), H100());  // 10 vectors of 8 elements
  ASSERT_EQ(plan.slices.size(), 4u);
  EXPECT_EQ(plan.slices[1].columns, (Range{16, 32}));
  EXPECT_EQ(plan.slices[3].columns, (Range{48, 80}));  // the last one takes the rest
  EXPECT_THAT(Ranks(plan.slices[0].order), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Ranks(plan.slices[2].order), ElementsAre(2, 3, 0, 1));
  EXPECT_EQ(plan.slices[2].order.partial, DType::kFp32);
}

TEST(AllReduce, ARowsClassIsItsOwnStretch) {
  const AllReducePolicySpec spec = Spec(AllReducePolicyKind::kTwoShot);
  const AllReduceMessage message = Message(8, 4);
  const auto plan = PlanAllReduce(spec, message, H100());
  // Two rows a rank: whole rows have one order each.
  EXPECT_EQ(ClassOfAllReduceRow(plan, message, 0), ClassOfOrder(plan.slices[0].order));
  EXPECT_EQ(ClassOfAllReduceRow(plan, message, 1), ClassOfAllReduceRow(plan, message, 0));
  EXPECT_NE(ClassOfAllReduceRow(plan, message, 2), ClassOfAllReduceRow(plan, message, 0));
  // One neighbour more moves the edges: the same row, another class.
  const AllReduceMessage more = Message(9, 4);
  const auto moved = PlanAllReduce(spec, more, H100());
  EXPECT_EQ(ClassOfAllReduceRow(moved, more, 0), ClassOfAllReduceRow(plan, message, 0));
  EXPECT_NE(ClassOfAllReduceRow(moved, more, 2), ClassOfAllReduceRow(plan, message, 2));
  EXPECT_NE(moved.klass, plan.klass);
}

// By hand: 3 ranks, 100 elements, chunks of 16: loops of 48, 48 and the rest of 4 in chunks of 8.
TEST(AllReduce, RingChunksByHand) {
  AllReducePolicySpec spec = Spec(AllReducePolicyKind::kRing);
  spec.chunk_bytes = 32;
  const auto plan = PlanAllReduce(spec, Message(1, 3, 100), H100());
  std::vector<Range> columns;
  for (const OrderStrip& slice : plan.slices) columns.push_back(slice.columns);
  EXPECT_THAT(columns, ElementsAre(Range{0, 16}, Range{16, 32}, Range{32, 48}, Range{48, 64},
                                   Range{64, 80}, Range{80, 96}, Range{96, 100}));
  EXPECT_THAT(Ranks(plan.slices[0].order), ElementsAre(1, 2, 0));
  EXPECT_THAT(Ranks(plan.slices[1].order), ElementsAre(2, 0, 1));
  EXPECT_THAT(Ranks(plan.slices[2].order), ElementsAre(0, 1, 2));
  EXPECT_THAT(Ranks(plan.slices[6].order), ElementsAre(1, 2, 0));
  EXPECT_EQ(plan.slices[0].order.combine, Combine::kSerial16bit);
  EXPECT_EQ(plan.slices[0].order.partial, DType::kBf16);
  // Two channels: 56 elements and 44, each cut on its own.
  spec.channels = 2;
  const auto two = PlanAllReduce(spec, Message(1, 3, 100), H100());
  EXPECT_EQ(two.slices[3].columns, (Range{48, 72}));  // chunk 0 on both sides of the edge at 56
  EXPECT_THAT(Ranks(two.slices[3].order), ElementsAre(1, 2, 0));
}

TEST(AllReduce, TreeIsAChainAndExactHasNoOrderOfItsOwn) {
  const auto tree = PlanAllReduce(Spec(AllReducePolicyKind::kTree), Message(7, 4), H100());
  EXPECT_THAT(Ranks(tree.slices[0].order), ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(tree.slices[0].order.combine, Combine::kSerial16bit);
  const auto exact = PlanAllReduce(Spec(AllReducePolicyKind::kExact), Message(7, 4), H100());
  EXPECT_EQ(exact.slices[0].order.combine, Combine::kExactSum);
}

TEST(AllReduce, VllmSwitchesBySizeAndRanks) {
  const AllReducePolicySpec spec = Spec(AllReducePolicyKind::kVllm);
  EXPECT_EQ(Chosen(spec, 1, 2, H100()), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(spec, 1023, 2, H100()), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(spec, 1024, 2, H100()), AllReducePolicyKind::kRing);  // 8 MiB
  EXPECT_EQ(Chosen(spec, 63, 4, H100()), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(spec, 64, 4, H100()), AllReducePolicyKind::kTwoShot);
  EXPECT_EQ(Chosen(spec, 31, 8, H100()), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(spec, 32, 8, H100()), AllReducePolicyKind::kRing);
  EXPECT_EQ(Chosen(spec, 1, 3, H100()), AllReducePolicyKind::kRing);
  EXPECT_EQ(Chosen(spec, 256, 4, Device(148, 100)), AllReducePolicyKind::kRing);  // 2 MiB
  AllReducePolicySpec pcie = spec;
  pcie.nvlink_mesh = false;
  pcie.fallback = AllReducePolicyKind::kTree;
  EXPECT_EQ(Chosen(pcie, 1, 2, H100()), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(pcie, 1, 4, H100()), AllReducePolicyKind::kTree);
  AllReducePolicySpec symmetric = spec;
  symmetric.nccl_symm_mem = true;
  EXPECT_EQ(Chosen(symmetric, 1, 8, H100()), AllReducePolicyKind::kExact);
  EXPECT_EQ(Chosen(symmetric, 8, 8, H100()), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(symmetric, 16, 8, H100()), AllReducePolicyKind::kExact);
  EXPECT_THAT(PlanAllReduce(spec, Message(64, 4), H100()).reason, HasSubstr("two stages"));
}

TEST(AllReduce, SglangOnBlackwellAndBefore) {
  const AllReducePolicySpec spec = Spec(AllReducePolicyKind::kSglang);
  const DeviceSpec b200 = Device(148, 100);
  EXPECT_EQ(Chosen(spec, 1024, 2, b200), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(spec, 1025, 2, b200), AllReducePolicyKind::kTwoShot);
  EXPECT_EQ(Chosen(spec, 80, 4, b200), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(spec, 81, 4, b200), AllReducePolicyKind::kTwoShot);
  EXPECT_EQ(Chosen(spec, 32, 8, b200), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(Chosen(spec, 33, 8, b200), AllReducePolicyKind::kExact);
  EXPECT_EQ(Chosen(spec, 64, 4, H100()), AllReducePolicyKind::kTwoShot);
}

TEST(AllReduce, OneShotUpToCountsTheMessagesOfAllRanks) {
  AllReducePolicySpec spec = Spec(AllReducePolicyKind::kOneShotUpTo);
  const auto chosen = [&spec](int64_t rows, int32_t ranks) {
    return PlanAllReduce(spec, Message(rows, ranks, /*width=*/7168), H100()).algorithm;
  };
  EXPECT_EQ(chosen(9, 8), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(chosen(10, 8), AllReducePolicyKind::kTwoShot);
  EXPECT_EQ(chosen(4, 16), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(chosen(5, 16), AllReducePolicyKind::kTwoShot);
  spec.max_bytes = 10 * 7168 * 2 * 8;  // the limit itself is still one shot
  EXPECT_EQ(chosen(10, 8), AllReducePolicyKind::kOneShot);
  EXPECT_EQ(chosen(11, 8), AllReducePolicyKind::kTwoShot);
  EXPECT_THAT(PlanAllReduce(spec, Message(1, 8), H100()).reason, HasSubstr("one shot"));
}

TEST(AllReduce, OneShotUpToHandsOutWholeRowsSoOnlyTheChoiceDependsOnTheSize) {
  const AllReducePolicySpec spec = Spec(AllReducePolicyKind::kOneShotUpTo);
  const AllReduceMessage ten = Message(10, 8, 7168);
  const AllReduceMessage many = Message(5000, 8, 7168);
  const auto plan = PlanAllReduce(spec, ten, H100());
  const auto of_many = PlanAllReduce(spec, many, H100());
  ASSERT_EQ(plan.slices.size(), 8u);
  EXPECT_EQ(plan.slices[3].order.pieces.front(), (Range{3, 4}));
  EXPECT_EQ(plan.klass, of_many.klass);
  for (const int64_t row : {0, 3, 8, 9}) {
    EXPECT_EQ(ClassOfAllReduceRow(plan, ten, row), ClassOfOrder(plan.slices[row % 8].order)) << row;
    EXPECT_EQ(ClassOfAllReduceRow(of_many, many, row), ClassOfAllReduceRow(plan, ten, row)) << row;
  }
}

// Checked by PlanAllReduce itself: slices cover the message, orders cover the ranks.
TEST(AllReduce, RandomMessagesAreCovered) {
  RandomStream random(31, "test.allreduce");
  for (int i = 0; i < 2000; ++i) {
    for (const AllReducePolicyKind kind : AllAllReducePolicies()) {
      AllReducePolicySpec spec = Spec(kind);
      spec.channels = 1 + static_cast<int32_t>(random.NextBelow(4));
      spec.chunk_bytes = 16 * (1 + static_cast<int32_t>(random.NextBelow(64)));
      AllReduceMessage message = Message(1 + static_cast<int64_t>(random.NextBelow(9)),
                                         1 + static_cast<int32_t>(random.NextBelow(9)),
                                         1 + static_cast<int64_t>(random.NextBelow(700)));
      const auto plan = PlanAllReduce(spec, message, H100());
      EXPECT_FALSE(plan.reason.empty());
      ClassOfAllReduceRow(plan, message, message.rows - 1);
    }
  }
  for (const AllReducePolicyKind kind : AllAllReducePolicies()) {
    EXPECT_FALSE(AllReduceSource(Spec(kind)).version.empty());
  }
}

TEST(Moe, TheTileFollowsTheStepAndTheOrderDoesNot) {
  EXPECT_EQ(VllmMoeTile(1, 8).tile, (Tile{16, 64, 128}));
  EXPECT_EQ(VllmMoeTile(64, 8).tile, (Tile{32, 64, 128}));
  EXPECT_EQ(VllmMoeTile(65, 8).tile, (Tile{32, 128, 64}));
  EXPECT_EQ(VllmMoeTile(4096, 8).tile, (Tile{128, 128, 64}));
  const Order order = MoeOrder({}, 4096, DType::kBf16, H100());
  EXPECT_TRUE(CoversOnce(order, 4096));
  EXPECT_EQ(order.combine, Combine::kNone);
  EXPECT_EQ(MoeSource({}).project, "vLLM");
}

}  // namespace
}  // namespace batchvar
