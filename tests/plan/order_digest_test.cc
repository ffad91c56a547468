#include "sim/plan/order_digest.h"

#include <gtest/gtest.h>

#include "sim/plan/allreduce_policy.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/row_policy.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

Order Pieces(std::vector<Range> pieces) {
  Order order;
  order.combine = pieces.size() > 1 ? Combine::kSerialFp32 : Combine::kNone;
  order.pieces = std::move(pieces);
  return order;
}

// A plan of 5 x 4 tiles of 16 x 128 over 70 x 500 elements, K = 100, as stream-K might cut it.
GemmPlan MixedPlan(std::vector<TileGroup> tiles) {
  GemmPlan plan;
  plan.shape = {70, 500, 100};
  plan.decision.tile = {16, 128, 64};
  plan.decision.m_blocks = 5;
  plan.decision.n_blocks = 4;
  plan.tiles = std::move(tiles);
  return plan;
}

const Order kWhole = Pieces({{0, 100}});
const Order kHalves = Pieces({{0, 64}, {64, 100}});

// Computed apart from this code, with Python's hashlib from the form in order_digest.h. If one of
// these fails, the byte form has changed: every stored baseline changes with it.
TEST(OrderDigest, PinnedBytes) {
  const auto policy = MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kTextbook));
  EXPECT_EQ(policy->Plan({1, 4096, 4096}, H100()).klass.Hex(), "285be15a7052f3ac180833e68433a5db");
  EXPECT_EQ(ClassOfPlan(MixedPlan({{{0, 5}, {0, 1}, kWhole}, {{0, 5}, {1, 4}, kHalves}})).Hex(),
            "328fd6128859c13dc1f1e3633c8f18dd");
  const auto attention = MakeAttentionPolicy({});
  EXPECT_EQ(attention->Plan({{1, 4096}}, {32, 8, 128}, H100())[0].klass.Hex(),
            "66a63181224408383483afc1d2d95cb4");
  EXPECT_EQ(ClassOfRule({}).Hex(), "4015137e7ba50239e37638358ef21dd5");
  EXPECT_EQ(ClassOfOrder(NormOrder({}, 1, 4096, DType::kBf16)).Hex(),
            "9016143721b73769e1c446d8f6693b6c");
  EXPECT_EQ(PlanAllReduce({}, {1, 4096, DType::kBf16, 4}, H100()).klass.Hex(),
            "760f14b29ab50aad8ec20632953ec6f4");
}

// The longer form, also from Python.
TEST(OrderDigest, PinnedBytesOfSlices) {
  const auto gemv = MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kGemv));
  EXPECT_EQ(gemv->Plan({1, 4096, 4096}, H100()).klass.Hex(), "47a304f829b45f8681b3fe853593b7a8");
  Order sliced = Pieces({{0, 4096}});
  sliced.slice_k = 2;
  sliced.block = 64;
  EXPECT_EQ(ClassOfOrder(sliced).Hex(), "9c17d252ff08ff4baebb937d3c8b0e46");
  Order narrow = Pieces({{0, 4096}});
  narrow.instr_k = 8;
  EXPECT_EQ(ClassOfOrder(narrow).Hex(), "4e7c1cba7c7a25042a99d47be0fb6d58");
}

TEST(OrderDigest, PinnedBytesOfTheLongerForms) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kFa3;  // 11 pieces of 3 blocks, walked down
  const auto fa3 = MakeAttentionPolicy(spec);
  EXPECT_EQ(fa3->Plan({{1, 4096}}, {32, 8, 128}, H100())[0].klass.Hex(),
            "12ef4064bfa5ebddd7d2607fcd8dfb3d");
  EXPECT_EQ(ClassOfRule(fa3->Rule({{1, 4096}}, {32, 8, 128}, H100())).Hex(),
            "db08ca47599bde99b0756a3c878f19d9");
  spec.kind = AttentionPolicyKind::kFlashInfer;  // 32 chunks of 128, merged in 4 lanes
  EXPECT_EQ(MakeAttentionPolicy(spec)->Plan({{1, 4096}}, {32, 8, 128}, H100())[0].klass.Hex(),
            "254dc0bf31494969a748688efc78bd15");
  AllReducePolicySpec two_shot;
  two_shot.kind = AllReducePolicyKind::kTwoShot;  // four slices of 16 elements
  EXPECT_EQ(PlanAllReduce(two_shot, {1, 64, DType::kBf16, 4}, H100()).klass.Hex(),
            "c0cb8ffac9b53d3c6844e891313aa9e8");
}

TEST(OrderDigest, EveryFieldOfAnOrderCounts) {
  const Digest base = ClassOfOrder(kHalves);
  Order changed = kHalves;
  changed.arithmetic = Arithmetic::kMmaSm80;
  EXPECT_NE(ClassOfOrder(changed), base);
  changed = kHalves;
  changed.combine = Combine::kSerial16bit;
  EXPECT_NE(ClassOfOrder(changed), base);
  changed = kHalves;
  changed.partial = DType::kBf16;
  EXPECT_NE(ClassOfOrder(changed), base);
  changed = kHalves;
  changed.output = DType::kFp16;
  EXPECT_NE(ClassOfOrder(changed), base);
  changed = kHalves;
  changed.block = 128;
  EXPECT_NE(ClassOfOrder(changed), base);
  changed = kHalves;
  changed.slice_k = 2;
  EXPECT_NE(ClassOfOrder(changed), base);
  changed = kHalves;
  changed.instr_k = 8;
  EXPECT_NE(ClassOfOrder(changed), base);
  EXPECT_NE(ClassOfOrder(Pieces({{64, 100}, {0, 64}})), base);
  changed = kHalves;
  changed.descending = true;
  const Digest descending = ClassOfOrder(changed);
  EXPECT_NE(descending, base);
  changed = kHalves;
  changed.combine_lanes = 4;
  EXPECT_NE(ClassOfOrder(changed), base);
  EXPECT_NE(ClassOfOrder(changed), descending);
}

TEST(OrderDigest, StripsJoinEqualNeighbours) {
  EXPECT_EQ(ClassOfStrips({{{0, 300}, kWhole}, {{300, 500}, kWhole}}), ClassOfOrder(kWhole));
  const Digest mixed = ClassOfStrips({{{0, 128}, kWhole}, {{128, 500}, kHalves}});
  EXPECT_EQ(mixed,
            ClassOfStrips({{{0, 128}, kWhole}, {{128, 200}, kHalves}, {{200, 500}, kHalves}}));
  EXPECT_NE(mixed, ClassOfStrips({{{0, 256}, kWhole}, {{256, 500}, kHalves}}));
  // The same as a row of a GEMM plan with these columns.
  EXPECT_EQ(mixed, ClassOfRow(MixedPlan({{{0, 5}, {0, 1}, kWhole}, {{0, 5}, {1, 4}, kHalves}}), 3));
}

TEST(OrderDigest, DoesNotDependOnHowTilesWereGrouped) {
  const GemmPlan whole = MixedPlan({{{0, 5}, {0, 2}, kWhole}, {{0, 5}, {2, 4}, kHalves}});
  const GemmPlan pieces = MixedPlan({{{2, 5}, {1, 2}, kWhole},
                                     {{0, 2}, {0, 2}, kWhole},
                                     {{2, 5}, {0, 1}, kWhole},
                                     {{0, 3}, {2, 3}, kHalves},
                                     {{0, 3}, {3, 4}, kHalves},
                                     {{3, 5}, {2, 4}, kHalves}});
  EXPECT_TRUE(IsComplete(whole));
  EXPECT_TRUE(IsComplete(pieces));
  EXPECT_EQ(ClassOfPlan(pieces), ClassOfPlan(whole));
  const GemmPlan uniform = MixedPlan({{{0, 5}, {0, 2}, kWhole}, {{0, 5}, {2, 4}, kWhole}});
  EXPECT_EQ(ClassOfPlan(uniform), ClassOfOrder(kWhole));
}

TEST(OrderDigest, DoesNotDependOnTheTileSize) {
  GemmPlan coarse = MixedPlan({{{0, 5}, {0, 2}, kWhole}, {{0, 5}, {2, 4}, kHalves}});
  GemmPlan fine = MixedPlan({{{0, 9}, {0, 4}, kWhole}, {{0, 9}, {4, 8}, kHalves}});
  fine.decision.tile = {8, 64, 64};
  fine.decision.m_blocks = 9;
  fine.decision.n_blocks = 8;
  ASSERT_TRUE(IsComplete(fine));
  EXPECT_EQ(ClassOfPlan(fine), ClassOfPlan(coarse));
}

TEST(OrderDigest, RowsSeeTheirSliceOnly) {
  const GemmPlan plan =
      MixedPlan({{{0, 2}, {0, 4}, kWhole}, {{2, 5}, {0, 1}, kWhole}, {{2, 5}, {1, 4}, kHalves}});
  ASSERT_TRUE(IsComplete(plan));
  EXPECT_EQ(ClassOfRow(plan, 0), ClassOfOrder(kWhole));
  EXPECT_EQ(ClassOfRow(plan, 31), ClassOfOrder(kWhole));
  EXPECT_NE(ClassOfRow(plan, 32), ClassOfRow(plan, 31));
  EXPECT_EQ(ClassOfRow(plan, 69), ClassOfRow(plan, 32));  // the place of a row is no part of it
  EXPECT_NE(ClassOfPlan(plan), ClassOfRow(plan, 69));
  const std::vector<OrderStrip> strips = StripsOfRow(plan, 69);
  ASSERT_EQ(strips.size(), 2u);
  EXPECT_EQ(strips[0].columns, (Range{0, 128}));
  EXPECT_EQ(strips[1].columns, (Range{128, 500}));  // the last tile ends with the row
  EXPECT_EQ(strips[1].order, kHalves);
  EXPECT_EQ(ClassOfStrips(strips), ClassOfRow(plan, 69));
  EXPECT_EQ(StripsOfRow(plan, 31).size(), 1u);
}

TEST(CoversOnce, RejectsGapsOverlapsAndShortSums) {
  EXPECT_TRUE(CoversOnce(Pieces({{64, 100}, {0, 64}}), 100));  // combine order is free
  EXPECT_FALSE(CoversOnce(Pieces({{0, 64}}), 100));
  EXPECT_FALSE(CoversOnce(Pieces({{0, 64}, {65, 100}}), 100));
  EXPECT_FALSE(CoversOnce(Pieces({{0, 64}, {63, 100}}), 100));
  EXPECT_FALSE(CoversOnce(Pieces({{0, 101}}), 100));
  EXPECT_FALSE(CoversOnce(Pieces({{0, 64}, {64, 64}, {64, 100}}), 100));
  EXPECT_FALSE(CoversOnce(Pieces({}), 100));
}

TEST(IsComplete, RejectsHolesAndOverlaps) {
  EXPECT_FALSE(IsComplete(MixedPlan({})));
  EXPECT_FALSE(IsComplete(MixedPlan({{{0, 5}, {0, 3}, kWhole}})));
  EXPECT_FALSE(IsComplete(MixedPlan({{{0, 4}, {0, 4}, kWhole}})));
  EXPECT_FALSE(IsComplete(MixedPlan({{{0, 6}, {0, 4}, kWhole}})));
  EXPECT_FALSE(IsComplete(MixedPlan({{{0, 5}, {0, 4}, kWhole}, {{4, 5}, {3, 4}, kWhole}})));
  EXPECT_FALSE(IsComplete(MixedPlan({{{0, 2}, {0, 4}, kWhole}, {{3, 5}, {0, 4}, kWhole}})));
  EXPECT_FALSE(IsComplete(MixedPlan({{{0, 5}, {0, 4}, Pieces({{0, 99}})}})));
  EXPECT_TRUE(IsComplete(MixedPlan({{{0, 5}, {0, 4}, kWhole}})));
}

}  // namespace
}  // namespace batchvar
