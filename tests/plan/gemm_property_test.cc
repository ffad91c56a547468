// What holds for every GEMM policy, on random shapes, devices and parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "sim/base/time.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"
#include "tests/plan/random_policy.h"

namespace batchvar {
namespace {

void CheckOrders(const GemmPlan& plan) {
  size_t most = 0;
  for (const TileGroup& group : plan.tiles) {
    EXPECT_TRUE(CoversOnce(group.order, plan.shape.k));
    most = std::max(most, group.order.pieces.size());
    const bool combines = group.order.pieces.size() > 1;
    if (group.order.combine != Combine::kButterfly) {
      EXPECT_EQ(group.order.combine != Combine::kNone, combines);
    }
    for (size_t i = 1; i < group.order.pieces.size(); ++i) {
      EXPECT_EQ(group.order.pieces[i].begin, group.order.pieces[i - 1].end);  // ascending
    }
  }
  EXPECT_LE(static_cast<int64_t>(most), plan.decision.split_k);
  if (plan.decision.decomposition != Decomposition::kStreamK) {
    EXPECT_EQ(static_cast<int64_t>(most), plan.decision.split_k);
    EXPECT_EQ(plan.tiles.size(), 1u);
    EXPECT_EQ(plan.decision.sk_units, 0);
  }
}

void CheckDecision(const GemmPlan& plan, const GemmDecision& again) {
  const GemmDecision& decision = plan.decision;
  EXPECT_EQ(again.split_k, decision.split_k);
  EXPECT_EQ(again.ctas, decision.ctas);
  EXPECT_EQ(decision.m_blocks, CeilDiv(plan.shape.m, decision.tile.m));
  EXPECT_EQ(decision.n_blocks, CeilDiv(plan.shape.n, decision.tile.n));
  EXPECT_GE(decision.ctas, decision.decomposition == Decomposition::kStreamK
                               ? decision.sk_units
                               : decision.m_blocks * decision.n_blocks * decision.split_k);
  EXPECT_GE(decision.last_wave_ctas, 1);
  EXPECT_LE(decision.last_wave_ctas, plan.sm_count);
  EXPECT_GE(decision.waves, CeilDiv(decision.ctas, plan.sm_count));
}

TEST(GemmPolicies, EveryPolicyCoversEveryTileOnce) {
  RandomPolicy random(61);
  for (int i = 0; i < 4000; ++i) {
    const GemmPolicyKind kind = kGemmPolicyKinds[i % std::size(kGemmPolicyKinds)];
    const GemmShape shape = random.Shape();
    const auto policy = MakeGemmPolicy(random.Spec(kind, shape));
    const DeviceSpec device = Device(random.Small(196) + 4, random.Small(2) == 1 ? 90 : 100);
    ASSERT_EQ(policy->Missing(shape, device), "") << policy->name();
    const GemmPlan plan = policy->PlanWithWords(shape, device);
    CheckOrders(plan);
    CheckDecision(plan, policy->Decide(shape, device));
    EXPECT_FALSE(plan.explain.empty());
    for (const std::string& words : plan.explain) EXPECT_FALSE(words.empty());
    for (const RejectedCandidate& rejected : plan.rejected) EXPECT_FALSE(rejected.reason.empty());
    if (plan.tiles.size() == 1) {
      EXPECT_EQ(ClassOfRow(plan, shape.m - 1), plan.klass);
    }
    EXPECT_EQ(policy->Plan(shape, device).klass, plan.klass);
  }
}

// Neighbours in a tile row see the same pieces, so a row's class changes at tile edges only.
TEST(GemmPolicies, RowsOfATileShareAClass) {
  RandomPolicy random(62);
  for (int i = 0; i < 60; ++i) {
    const GemmShape shape = random.Shape();
    GemmPolicySpec spec = random.Spec(GemmPolicyKind::kStreamK, shape);
    spec.tile_m = 64;
    const GemmPlan plan = MakeGemmPolicy(spec)->Plan(shape, Device(random.Small(140) + 4));
    for (int64_t row = 1; row < shape.m; row += 7) {
      if (row % 64 == 0) continue;
      EXPECT_EQ(ClassOfRow(plan, row), ClassOfRow(plan, row - 1));
    }
  }
}

TEST(GemmPolicies, NamesAreThoseOfTheFiles) {
  EXPECT_STREQ(PolicyName(GemmPolicyKind::kCutlassSplitK), "cutlass_splitk");
  EXPECT_STREQ(PolicyName(GemmPolicyKind::kStreamK), "stream_k");
  EXPECT_STREQ(PolicyName(GemmPolicyKind::kDeepGemm), "deepgemm");
  EXPECT_STREQ(PolicyName(GemmPolicyKind::kGemv), "gemv");
  EXPECT_STREQ(PolicyName(GemmPolicyKind::kTable), "table");
  EXPECT_STREQ(PolicyName(GemmPolicyKind::kNvHeuristics), "nv_heuristics");
  EXPECT_STREQ(ModeName(SplitKMode::kParallel), "parallel");
  EXPECT_STREQ(ModeName(StreamKMode::kDataParallel), "data_parallel");
  EXPECT_STREQ(ArchName(DeepGemmArch::kSm100), "sm100");
  EXPECT_STREQ(VariantName(InvariantVariant::kFreeTile), "free_tile");
  EXPECT_STREQ(LayoutName(TableLayout::kTn), "tn");
  EXPECT_STREQ(BackendName(NvBackend::kCutlass3), "cutlass3");
  for (const GemmPolicyKind kind : kGemmPolicyKinds) {
    EXPECT_STREQ(MakeGemmPolicy(DefaultGemmPolicy(kind))->name(), PolicyName(kind));
  }
}

}  // namespace
}  // namespace batchvar
