// cutlass_splitk and gemv.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/plan/gemm_policy.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

GemmPolicySpec SplitSpec(int32_t split_k, SplitKMode mode) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kCutlassSplitK);
  spec.split_k = split_k;
  spec.split_k_mode = mode;
  return spec;
}

GemmPlan SplitPlan(int32_t split_k, SplitKMode mode, int64_t k = 4096, int64_t m = 1) {
  return MakeGemmPolicy(SplitSpec(split_k, mode))->PlanWithWords({m, 4096, k}, H100());
}

TEST(GemmCutlassSplitK, SerialTakesCeilTilesAndRoundsEveryTime) {
  // 65 K tiles in 4: ceil is 17, so 17 + 17 + 17 + 14, the last K tile being short.
  const GemmPlan plan = SplitPlan(4, SplitKMode::kSerial, 4100);
  EXPECT_THAT(plan.tiles[0].order.pieces,
              ElementsAre(Range{0, 1088}, Range{1088, 2176}, Range{2176, 3264}, Range{3264, 4100}));
  EXPECT_EQ(plan.decision.combine, Combine::kSerial16bit);
  EXPECT_EQ(plan.decision.decomposition, Decomposition::kSplitK);
  EXPECT_EQ(plan.decision.ctas, 128);
  EXPECT_THAT(plan.explain, Contains(HasSubstr("rounded again every time")));
}

TEST(GemmCutlassSplitK, ParallelTakesFloorTilesAndGivesTheRestToTheLast) {
  // floor(4100 / 64) = 64 whole K tiles, 21 a piece; the last one has 22 and the short one.
  const GemmPlan plan = SplitPlan(3, SplitKMode::kParallel, 4100);
  EXPECT_THAT(plan.tiles[0].order.pieces,
              ElementsAre(Range{0, 1344}, Range{1344, 2688}, Range{2688, 4100}));
  EXPECT_EQ(plan.decision.combine, Combine::kSerialFp32);
  EXPECT_EQ(plan.decision.split_k, 3);
  EXPECT_THAT(plan.explain, Contains(HasSubstr("fp32 partial sums")));
}

TEST(GemmCutlassSplitK, ModesAreClassesOfTheirOwn) {
  // K = 4096 in 4 is cut alike by both; only what becomes of the partial sums differs.
  const GemmPlan serial = SplitPlan(4, SplitKMode::kSerial);
  const GemmPlan parallel = SplitPlan(4, SplitKMode::kParallel);
  EXPECT_EQ(serial.tiles[0].order.pieces, parallel.tiles[0].order.pieces);
  EXPECT_NE(serial.klass, parallel.klass);
  EXPECT_EQ(SplitPlan(1, SplitKMode::kSerial).klass, SplitPlan(1, SplitKMode::kParallel).klass);
}

TEST(GemmCutlassSplitK, AGivenSplitDoesNotDependOnM) {
  const Digest one = SplitPlan(3, SplitKMode::kSerial).klass;
  for (const int64_t m : {2, 17, 33, 64, 1000, 8192}) {
    EXPECT_EQ(SplitPlan(3, SplitKMode::kSerial, 4096, m).klass, one) << m;
  }
}

TEST(GemmCutlassSplitK, ZeroIsTheTextbooksSplit) {
  EXPECT_EQ(SplitPlan(0, SplitKMode::kParallel, 4096, 16).decision.split_k, 4);
  EXPECT_EQ(SplitPlan(0, SplitKMode::kParallel, 4096, 17).decision.split_k, 2);
  EXPECT_EQ(SplitPlan(0, SplitKMode::kParallel, 4096, 33).decision.combine, Combine::kNone);
  const GemmPlan plan = SplitPlan(0, SplitKMode::kSerial);
  EXPECT_THAT(plan.explain, Contains("textbook's fill rule asks for split_k = 4"));
  EXPECT_EQ(plan.rejected[0].candidate, "split_k = 3");
  EXPECT_EQ(plan.rejected.back().candidate, "parallel");
}

TEST(GemmCutlassSplitK, FewKTilesMakeFewPieces) {
  const GemmPlan serial = SplitPlan(8, SplitKMode::kSerial, 5 * 64);
  EXPECT_EQ(serial.decision.split_k, 5);
  EXPECT_THAT(serial.explain, Contains("5 K tiles make only 5 pieces"));
  // 9 tiles in 4: ceil is 3, and 3 pieces cover K.
  EXPECT_EQ(SplitPlan(4, SplitKMode::kSerial, 9 * 64).decision.split_k, 3);
  // Parallel with fewer whole K tiles than pieces leaves all of K to the last one.
  const GemmPlan parallel = SplitPlan(8, SplitKMode::kParallel, 5 * 64);
  EXPECT_EQ(parallel.decision.split_k, 1);
  EXPECT_EQ(parallel.decision.combine, Combine::kNone);
}

GemmPolicySpec GemvSpec(int32_t m_max) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kGemv);
  spec.m_max = m_max;
  return spec;
}

TEST(GemmGemv, OneRowHasAKernelOfItsOwn) {
  const auto policy = MakeGemmPolicy(GemvSpec(1));
  const GemmPlan plan = policy->PlanWithWords({1, 4096, 4096}, H100());
  EXPECT_EQ(plan.policy, "gemv");
  ASSERT_EQ(plan.tiles.size(), 1u);
  const Order& order = plan.tiles[0].order;
  EXPECT_EQ(order.arithmetic, Arithmetic::kFmaChain);
  EXPECT_EQ(order.combine, Combine::kButterfly);
  EXPECT_EQ(order.slice_k, 32);
  EXPECT_EQ(order.block, 256);
  EXPECT_THAT(order.pieces, ElementsAre(Range{0, 4096}));
  EXPECT_EQ(plan.rejected[0].reason, "decides from M = 2 on");
}

TEST(GemmGemv, TheOtherPolicyAnswersAboveMMax) {
  const auto policy = MakeGemmPolicy(GemvSpec(4));
  const auto textbook = MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kTextbook));
  for (const int64_t m : {5, 16, 17, 64}) {
    const GemmPlan plan = policy->PlanWithWords({m, 4096, 4096}, H100());
    EXPECT_EQ(plan.policy, "textbook") << m;
    EXPECT_EQ(plan.klass, textbook->Plan({m, 4096, 4096}, H100()).klass);
    EXPECT_EQ(plan.explain, textbook->PlanWithWords({m, 4096, 4096}, H100()).explain);
    EXPECT_EQ(policy->Decide({m, 4096, 4096}, H100()).split_k, plan.decision.split_k);
  }
  const Digest gemv = policy->Plan({1, 4096, 4096}, H100()).klass;
  EXPECT_EQ(policy->Plan({4, 4096, 4096}, H100()).klass, gemv);
  EXPECT_NE(policy->Plan({5, 4096, 4096}, H100()).klass, gemv);
}

TEST(GemmGemv, LanesAndVectorsAreParts) {
  GemmPolicySpec spec = GemvSpec(1);
  const Digest base = MakeGemmPolicy(spec)->Plan({1, 64, 4096}, H100()).klass;
  spec.lanes = 64;
  spec.vector_width = 4;  // the same block, other lanes
  EXPECT_NE(MakeGemmPolicy(spec)->Plan({1, 64, 4096}, H100()).klass, base);
  // No tensor cores: the device's family does not matter.
  EXPECT_EQ(MakeGemmPolicy(GemvSpec(1))->Plan({1, 64, 4096}, Device(108, 80)).klass, base);
}

TEST(GemmGemv, HandsOnWhatTheOtherPolicyLacks) {
  GemmPolicySpec spec = GemvSpec(1);
  auto then = DefaultGemmPolicy(GemmPolicyKind::kDeepGemm);
  spec.then = std::make_shared<GemmPolicySpec>(then);
  const auto policy = MakeGemmPolicy(spec);
  EXPECT_EQ(policy->Missing({1, 64, 64}, Device(108, 80)), "");
  EXPECT_THAT(policy->Missing({2, 64, 64}, Device(108, 80)), HasSubstr("deepgemm"));
  EXPECT_EQ(policy->Plan({2, 64, 64}, H100()).policy, "deepgemm");
}

}  // namespace
}  // namespace batchvar
