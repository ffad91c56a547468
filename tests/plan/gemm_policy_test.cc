#include "sim/plan/gemm_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/base/rng.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<GemmPolicy> Textbook() {
  return MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kTextbook));
}
std::unique_ptr<GemmPolicy> BatchInvariant() {
  return MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kBatchInvariant));
}

int32_t SplitOf(int64_t m, int64_t n, int64_t k) {
  return Textbook()->Decide({m, n, k}, H100()).split_k;
}

TEST(GemmTextbook, WorkedHeadFillsNineWaves) {
  const GemmPlan plan = Textbook()->PlanWithWords({1, 152064, 4096}, H100());
  EXPECT_EQ(plan.decision.ctas, 1188);
  EXPECT_EQ(plan.decision.waves, 9);
  EXPECT_EQ(plan.decision.last_wave_ctas, 132);
  EXPECT_EQ(plan.decision.split_k, 1);
  EXPECT_EQ(plan.decision.combine, Combine::kNone);
  EXPECT_THAT(plan.explain, Contains(HasSubstr("152064 / 128 = 1188 blocks")));
  EXPECT_THAT(plan.explain, Contains("1188 / 132 = 9 waves"));
  EXPECT_THAT(plan.explain, Contains("the device is full, no split"));
  ASSERT_EQ(plan.rejected.size(), 1u);
  EXPECT_EQ(plan.rejected[0].candidate, "split_k = 2");
}

TEST(GemmTextbook, WorkedSquareSplitsByFour) {
  const GemmPlan plan = Textbook()->PlanWithWords({1, 4096, 4096}, H100());
  EXPECT_EQ(plan.decision.split_k, 4);
  EXPECT_EQ(plan.decision.ctas, 128);
  EXPECT_EQ(plan.decision.combine, Combine::kSerialFp32);
  EXPECT_THAT(plan.tiles[0].order.pieces,
              ElementsAre(Range{0, 1024}, Range{1024, 2048}, Range{2048, 3072}, Range{3072, 4096}));
  EXPECT_THAT(plan.explain, Contains("32 blocks leave 100 of 132 SMs idle"));
  EXPECT_THAT(plan.explain, Contains("split K = 4096 into 4 x 1024"));
  EXPECT_THAT(plan.explain, Contains(HasSubstr("128 blocks")));
  ASSERT_EQ(plan.rejected.size(), 2u);
  EXPECT_EQ(plan.rejected[0].candidate, "split_k = 3");
  EXPECT_EQ(plan.rejected[0].reason, "96 blocks leave 36 SMs idle");
  EXPECT_EQ(plan.rejected[1].candidate, "split_k = 5");
  EXPECT_EQ(plan.rejected[1].reason,
            "5 x 32 = 160 blocks do not fit on 132 SMs at once: a second wave");
}

TEST(GemmTextbook, WorkedBatchOf64IsOnePass) {
  const GemmPlan plan = Textbook()->PlanWithWords({64, 4096, 4096}, H100());
  EXPECT_EQ(plan.decision.split_k, 1);
  EXPECT_THAT(plan.explain, Contains(HasSubstr("4 x 32 = 128 blocks")));
  EXPECT_THAT(plan.explain, Contains(HasSubstr("one pass")));
}

TEST(GemmTextbook, OtherWorkedSplitsOfTheReference) {
  EXPECT_EQ(SplitOf(16, 4096, 4096), 4);
  EXPECT_EQ(SplitOf(17, 4096, 4096), 2);
  EXPECT_EQ(SplitOf(32, 4096, 4096), 2);
  EXPECT_EQ(SplitOf(33, 4096, 4096), 1);
  EXPECT_EQ(SplitOf(1, 6144, 4096), 2);
  EXPECT_EQ(SplitOf(1, 4096, 14336), 4);
  EXPECT_EQ(SplitOf(1, 576, 576), 2);
  EXPECT_EQ(SplitOf(1, 576, 1536), 6);
  EXPECT_EQ(SplitOf(1, 1280, 8192), 13);
  EXPECT_EQ(SplitOf(1, 1024, 2048), 8);
}

TEST(GemmTextbook, NamesTheLimitThatStoppedIt) {
  const auto by_k_min = Textbook()->PlanWithWords({1, 1024, 2048}, H100());
  EXPECT_THAT(by_k_min.rejected.back().reason, HasSubstr("k_min = 256"));
  const auto by_max_split = Textbook()->PlanWithWords({1, 128, 65536}, H100());
  EXPECT_EQ(by_max_split.decision.split_k, 32);
  EXPECT_EQ(by_max_split.rejected.back().reason, "max_split = 32");
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kTextbook);
  spec.k_min = 1;
  const auto by_k_tiles = MakeGemmPolicy(spec)->PlanWithWords({1, 128, 200}, H100());
  EXPECT_EQ(by_k_tiles.decision.split_k, 4);
  EXPECT_THAT(by_k_tiles.rejected.back().reason, HasSubstr("only 4 tiles of 64"));
  // 9 pieces fit, but 8 K tiles a piece cover 64 K tiles with 8.
  const auto by_sharing = Textbook()->PlanWithWords({1, 1792, 4096}, H100());
  EXPECT_EQ(by_sharing.decision.split_k, 8);
  EXPECT_THAT(by_sharing.rejected.back().reason, HasSubstr("8 pieces"));
}

TEST(GemmTextbook, SaysWhenWavesAreShortAndPiecesUneven) {
  const auto waves = Textbook()->PlanWithWords({1, 151936, 4096}, H100());
  EXPECT_EQ(waves.decision.last_wave_ctas, 131);
  EXPECT_THAT(waves.explain, Contains(HasSubstr("the last one uses 131 of 132 SMs")));
  const auto uneven = Textbook()->PlanWithWords({1, 4096, 4672}, H100());
  EXPECT_THAT(uneven.explain, Contains("split K = 4672 into 3 x 1216 + 1 x 1024"));
}

TEST(GemmTextbook, ClassesFollowTheSplitNotTheTiles) {
  const auto policy = Textbook();
  const Digest one = policy->Plan({1, 4096, 4096}, H100()).klass;
  for (int64_t m = 2; m <= 16; ++m) {
    EXPECT_EQ(policy->Plan({m, 4096, 4096}, H100()).klass, one) << m;
  }
  const Digest two_pieces = policy->Plan({17, 4096, 4096}, H100()).klass;
  EXPECT_NE(two_pieces, one);
  const Digest one_pass = policy->Plan({33, 4096, 4096}, H100()).klass;
  EXPECT_NE(one_pass, two_pieces);
  for (const int64_t m : {34, 64, 100, 8192}) {
    EXPECT_EQ(policy->Plan({m, 4096, 4096}, H100()).klass, one_pass) << m;
  }
  // Other tiles, same pieces: same class.
  GemmPolicySpec wide = DefaultGemmPolicy(GemmPolicyKind::kTextbook);
  wide.tile_m = 8;
  wide.tile_k = 32;
  EXPECT_EQ(MakeGemmPolicy(wide)->Plan({1, 4096, 4096}, H100()).klass, one);
}

TEST(GemmTextbook, SmCountIsTheDevices) {
  const auto policy = Textbook();
  EXPECT_EQ(policy->Decide({1, 4096, 4096}, Device(108, 80)).split_k, 3);
  EXPECT_EQ(policy->Decide({1, 4096, 4096}, Device(148, 100)).split_k, 4);
  EXPECT_EQ(policy->Decide({1, 4096, 4096}, Device(32)).split_k, 1);
  EXPECT_EQ(policy->Decide({1, 4096, 4096}, Device(1)).waves, 32);
  // The instruction family is part of the order.
  EXPECT_NE(policy->Plan({64, 4096, 4096}, Device(132, 80)).klass,
            policy->Plan({64, 4096, 4096}, Device(132, 90)).klass);
}

TEST(GemmTextbook, NeverSplitsMoreAsMGrows) {
  const auto policy = Textbook();
  for (const int64_t n : {576, 1280, 4096, 6144}) {
    int32_t previous = policy->Decide({1, n, 4096}, H100()).split_k;
    for (int64_t m = 2; m < 300; ++m) {
      const int32_t split = policy->Decide({m, n, 4096}, H100()).split_k;
      EXPECT_LE(split, previous);
      previous = split;
    }
  }
}

TEST(GemmBatchInvariant, OneClassForEveryM) {
  const auto policy = BatchInvariant();
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    std::set<Digest> classes;
    for (int64_t m = 1; m <= 8192; ++m) {
      classes.insert(policy->Plan({m, 4096, 4096, dtype}, H100()).klass);
    }
    EXPECT_EQ(classes.size(), 1u);
  }
}

TEST(GemmBatchInvariant, OwnTilesUnlessAskedOtherwise) {
  EXPECT_EQ(BatchInvariant()->Decide({1, 4096, 4096}, H100()).tile, (Tile{128, 128, 64}));
  EXPECT_EQ(BatchInvariant()->Decide({1, 4096, 4096, DType::kFp16}, H100()).tile,
            (Tile{128, 256, 64}));
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kBatchInvariant);
  spec.tile_n = 64;
  EXPECT_EQ(MakeGemmPolicy(spec)->Decide({1, 4096, 4096}, H100()).tile, (Tile{128, 64, 64}));
}

TEST(GemmBatchInvariant, SaysWhySplittingIsRejected) {
  const GemmPlan plan = BatchInvariant()->PlanWithWords({1, 4096, 4096}, H100());
  ASSERT_EQ(plan.rejected.size(), 1u);
  EXPECT_EQ(plan.rejected[0].candidate, "split_k = 4");
  EXPECT_THAT(plan.rejected[0].reason, HasSubstr("would depend on M"));
  EXPECT_THAT(plan.explain, Contains(HasSubstr("every M shares one class")));
  EXPECT_EQ(plan.source.version, "f22b1fbe");
}

// Plan() checks completeness itself; here every number of the decision is held against it.
TEST(GemmPolicies, RandomShapesAreCoveredExactlyOnce) {
  RandomStream random(7, "test.gemm");
  const auto pick = [&random](int64_t below) {
    return static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(below))) + 1;
  };
  for (int i = 0; i < 4000; ++i) {
    GemmPolicySpec spec =
        DefaultGemmPolicy(i % 2 == 0 ? GemmPolicyKind::kTextbook : GemmPolicyKind::kBatchInvariant);
    spec.tile_m = static_cast<int32_t>(pick(256));
    spec.tile_n = static_cast<int32_t>(pick(256));
    spec.tile_k = static_cast<int32_t>(pick(128));
    spec.k_min = static_cast<int32_t>(pick(512));
    spec.max_split = static_cast<int32_t>(pick(64));
    const GemmShape shape = {pick(600), pick(20000), pick(20000)};
    const DeviceSpec device = Device(static_cast<int32_t>(pick(200)));
    const GemmPlan plan = MakeGemmPolicy(spec)->PlanWithWords(shape, device);
    const GemmDecision& decision = plan.decision;
    const Order& order = plan.tiles[0].order;
    EXPECT_TRUE(CoversOnce(order, shape.k));
    EXPECT_EQ(static_cast<int64_t>(order.pieces.size()), decision.split_k);
    EXPECT_EQ(decision.ctas, decision.m_blocks * decision.n_blocks * decision.split_k);
    EXPECT_LE((decision.waves - 1) * device.sm_count, decision.ctas - 1);
    EXPECT_GE(decision.last_wave_ctas, 1);
    EXPECT_LE(decision.last_wave_ctas, device.sm_count);
    EXPECT_EQ(decision.split_k > 1, order.combine != Combine::kNone);
    EXPECT_FALSE(plan.explain.empty());
    for (const RejectedCandidate& candidate : plan.rejected) EXPECT_FALSE(candidate.reason.empty());
    EXPECT_EQ(ClassOfRow(plan, shape.m - 1), plan.klass);
  }
}

}  // namespace
}  // namespace batchvar
