// What holds for every GEMM policy, on random shapes, devices and parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "sim/base/rng.h"
#include "sim/base/time.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/gemm_table.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

class RandomPolicy {
 public:
  explicit RandomPolicy(uint64_t seed) : random_(seed, "test.policies") {}

  int64_t Pick(int64_t most) {
    return static_cast<int64_t>(random_.NextBelow(static_cast<uint64_t>(most))) + 1;
  }
  int32_t Small(int64_t most) { return static_cast<int32_t>(Pick(most)); }

  GemmShape Shape() { return {Pick(600), Pick(9000), Pick(9000), DType::kBf16}; }

  GemmPolicySpec Spec(GemmPolicyKind kind, const GemmShape& shape) {
    GemmPolicySpec spec = DefaultGemmPolicy(kind);
    spec.tile_m = Small(256);
    spec.tile_n = Small(256);
    spec.tile_k = Small(128);
    spec.k_min = Small(512);
    spec.max_split = Small(64);
    spec.split_k = Small(12) - 1;
    spec.split_k_mode = Small(2) == 1 ? SplitKMode::kSerial : SplitKMode::kParallel;
    spec.generation = Small(2) + 1;
    spec.occupancy = Small(3);
    spec.cluster_m = Small(2);
    spec.cluster_n = Small(2);
    spec.max_swizzle = 1 << (Small(4) - 1);
    spec.splits = Small(3) == 1 ? Small(9) : 1;
    spec.stream_k_mode = spec.generation == 3 && spec.splits == 1 && Small(2) == 1
                             ? StreamKMode::kStreamK
                             : StreamKMode::kHeuristic;
    spec.m_max = Small(300);
    spec.lanes = 1 << Small(6);
    spec.vector_width = Small(8);
    spec.variant = static_cast<InvariantVariant>(Small(4) - 1);
    if (kind == GemmPolicyKind::kTable || kind == GemmPolicyKind::kNvHeuristics) {
      GemmTableRow row;
      row.tile = {spec.tile_m, spec.tile_n, spec.tile_k};
      row.split_k = static_cast<int32_t>(std::min(Pick(9), CeilDiv(shape.k, row.tile.k)));
      row.slice_k = Small(2);
      auto table = std::make_shared<GemmTable>(PolicySource{});
      table->Add("test", shape, row);
      spec.table = table;
    }
    return spec;
  }

 private:
  RandomStream random_;
};

constexpr GemmPolicyKind kKinds[] = {
    GemmPolicyKind::kTextbook, GemmPolicyKind::kBatchInvariant, GemmPolicyKind::kCutlassSplitK,
    GemmPolicyKind::kStreamK,  GemmPolicyKind::kDeepGemm,       GemmPolicyKind::kGemv,
    GemmPolicyKind::kTable,    GemmPolicyKind::kNvHeuristics};

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
    const GemmPolicyKind kind = kKinds[i % std::size(kKinds)];
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
  for (const GemmPolicyKind kind : kKinds) {
    EXPECT_STREQ(MakeGemmPolicy(DefaultGemmPolicy(kind))->name(), PolicyName(kind));
  }
}

}  // namespace
}  // namespace batchvar
