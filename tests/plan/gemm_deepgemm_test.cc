// deepgemm, and the variants of batch_invariant: tiles may follow M, classes never do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/base/rng.h"
#include "sim/plan/deepgemm_layout.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/gemm_table.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::HasSubstr;

GemmPolicySpec DeepGemm() { return DefaultGemmPolicy(GemmPolicyKind::kDeepGemm); }

Tile TileAt(int64_t m) { return MakeGemmPolicy(DeepGemm())->Decide({m, 4096, 4096}, H100()).tile; }

TEST(GemmDeepGemm, WorkedTilesOfTheReference) {
  for (const int64_t m : {1, 16}) EXPECT_EQ(TileAt(m), (Tile{16, 32, 64})) << m;
  for (const int64_t m : {17, 32}) EXPECT_EQ(TileAt(m), (Tile{32, 32, 64})) << m;
  for (const int64_t m : {33, 64}) EXPECT_EQ(TileAt(m), (Tile{64, 32, 64})) << m;
  for (const int64_t m : {65, 128}) EXPECT_EQ(TileAt(m), (Tile{64, 64, 64})) << m;
  EXPECT_EQ(TileAt(129), (Tile{64, 96, 64}));
  EXPECT_EQ(TileAt(256), (Tile{64, 128, 64}));
  EXPECT_EQ(TileAt(512), (Tile{128, 128, 64}));
}

TEST(GemmDeepGemm, OneClassForEveryM) {
  const auto policy = MakeGemmPolicy(DeepGemm());
  for (const DeviceSpec& device : {H100(), Device(148, 100)}) {
    std::set<Digest> classes;
    std::set<int32_t> tiles;
    for (int64_t m = 1; m <= 8192; ++m) {
      const GemmPlan plan = policy->Plan({m, 4096, 4096}, device);
      classes.insert(plan.klass);
      tiles.insert(plan.decision.tile.m * 1000 + plan.decision.tile.n);
      EXPECT_EQ(plan.decision.split_k, 1);
    }
    EXPECT_EQ(classes.size(), 1u);
    EXPECT_GT(tiles.size(), 5u);  // the tile does follow M
  }
}

TEST(GemmDeepGemm, ArchFollowsTheDeviceUnlessGiven) {
  GemmPolicySpec spec = DeepGemm();
  EXPECT_EQ(MakeGemmPolicy(spec)->Decide({1, 6144, 4096}, Device(148, 100)).tile.n, 128);
  spec.arch = DeepGemmArch::kSm90;
  EXPECT_EQ(MakeGemmPolicy(spec)->Decide({1, 6144, 4096}, Device(148, 100)).tile.n, 48);
}

TEST(GemmDeepGemm, SaysWhereItHasNoKernel) {
  const auto policy = MakeGemmPolicy(DeepGemm());
  EXPECT_EQ(policy->Missing({1, 64, 64}, H100()), "");
  EXPECT_EQ(policy->Missing({1, 64, 64}, Device(108, 80)),
            "deepgemm: has kernels for sm_90 and sm_100, and test is sm_80");
  EXPECT_EQ(policy->Missing({1, 64, 64, DType::kFp16}, H100()),
            "deepgemm: has no fp16 GEMM, only bf16");
}

TEST(GemmDeepGemm, NamesTheRunnersUp) {
  const GemmPlan sm90 = MakeGemmPolicy(DeepGemm())->PlanWithWords({1, 4096, 4096}, H100());
  EXPECT_THAT(sm90.explain, Contains(HasSubstr("216 layouts for sm90")));
  EXPECT_THAT(sm90.explain, Contains(HasSubstr("chosen: 16 x 32, cluster 1 x 1")));
  ASSERT_EQ(sm90.rejected.size(), 4u);
  EXPECT_EQ(sm90.rejected[0].candidate, "16 x 48, cluster 1 x 1");
  EXPECT_THAT(sm90.rejected[0].reason, HasSubstr("modelled cycles, not"));
  const GemmPlan sm100 =
      MakeGemmPolicy(DeepGemm())->PlanWithWords({64, 4096, 4096}, Device(148, 100));
  EXPECT_THAT(sm100.explain, Contains(HasSubstr("A and B swapped")));
  EXPECT_EQ(sm100.rejected[0].reason, "blocks in the last wave: 64, not 128");
}

TEST(DeepGemmLayout, ChoiceIsTheFirstThatNoOtherBeats) {
  RandomStream random(51, "test.deepgemm");
  for (int i = 0; i < 200; ++i) {
    const DeepGemmProblem problem = {static_cast<int64_t>(random.NextBelow(4096)) + 1,
                                     static_cast<int64_t>(random.NextBelow(20000)) + 1,
                                     static_cast<int64_t>(random.NextBelow(16000)) + 1,
                                     static_cast<int32_t>(random.NextBelow(160)) + 1};
    for (const DeepGemmArch arch : {DeepGemmArch::kSm90, DeepGemmArch::kSm100}) {
      const DeepGemmLayout chosen = ChooseDeepGemmLayout(arch, problem);
      bool reached = false;
      for (const DeepGemmLayout& layout : DeepGemmLayouts(arch, problem)) {
        EXPECT_FALSE(DeepGemmBeats(arch, layout, chosen));
        reached =
            reached || (layout.block_m == chosen.block_m && layout.block_n == chosen.block_n &&
                        layout.cluster_m == chosen.cluster_m &&
                        layout.cluster_n == chosen.cluster_n && layout.swap_ab == chosen.swap_ab);
        // Those enumerated before it are strictly worse.
        EXPECT_TRUE(reached || DeepGemmBeats(arch, chosen, layout));
        EXPECT_EQ(problem.sm_count % layout.cluster_size(), 0);
      }
      EXPECT_TRUE(reached);
    }
  }
}

GemmPolicySpec Invariant(InvariantVariant variant) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kBatchInvariant);
  spec.variant = variant;
  return spec;
}

TEST(GemmBatchInvariantVariants, OneClassForEveryM) {
  auto block_ks = std::make_shared<BlockKTable>();
  block_ks->Add("hopper", 4096, 4096, 128);
  std::set<Digest> classes;
  for (const InvariantVariant variant : {InvariantVariant::kOneTile, InvariantVariant::kFreeTile,
                                         InvariantVariant::kSglang, InvariantVariant::kVllm}) {
    GemmPolicySpec spec = Invariant(variant);
    spec.block_k_table = block_ks;
    const auto policy = MakeGemmPolicy(spec);
    for (int64_t m = 1; m <= 8192; ++m) {
      classes.insert(policy->Plan({m, 4096, 4096}, H100()).klass);
    }
    EXPECT_EQ(classes.size(), 1u) << VariantName(variant);  // and the same one for all variants
  }
}

TEST(GemmBatchInvariantVariants, FreeTileFollowsM) {
  const auto policy = MakeGemmPolicy(Invariant(InvariantVariant::kFreeTile));
  const auto rows = [&policy](int64_t m) { return policy->Decide({m, 4096, 4096}, H100()).tile.m; };
  EXPECT_EQ(rows(1), 16);
  EXPECT_EQ(rows(17), 32);
  EXPECT_EQ(rows(64), 64);
  EXPECT_EQ(rows(65), 128);
  EXPECT_EQ(rows(5000), 128);
  EXPECT_THAT(policy->PlanWithWords({17, 4096, 4096}, H100()).explain,
              Contains(HasSubstr("32 x 128 x 64, follows M")));
}

TEST(GemmBatchInvariantVariants, SglangUsesDeepGemmWhereItCan) {
  const auto policy = MakeGemmPolicy(Invariant(InvariantVariant::kSglang));
  EXPECT_EQ(policy->Plan({1, 4096, 4096}, H100()).policy, "deepgemm");
  EXPECT_EQ(policy->Plan({1, 16, 4096}, H100()).policy, "deepgemm");
  EXPECT_EQ(policy->Plan({1, 15, 4096}, H100()).policy, "batch_invariant");
  EXPECT_EQ(policy->Plan({1, 4096, 4100}, H100()).policy, "batch_invariant");  // 8200 bytes a row
  EXPECT_EQ(policy->Plan({1, 4096, 4104}, H100()).policy, "deepgemm");
  EXPECT_EQ(policy->Plan({1, 4096, 4096}, Device(108, 80)).policy, "batch_invariant");
  EXPECT_EQ(policy->Plan({1, 4096, 4096, DType::kFp16}, H100()).policy, "batch_invariant");
  EXPECT_EQ(policy->Decide({1, 15, 4096}, H100()).tile, (Tile{128, 128, 64}));
  EXPECT_THAT(policy->PlanWithWords({1, 15, 4096}, H100()).explain,
              Contains(HasSubstr("the Triton kernel")));
}

TEST(GemmBatchInvariantVariants, VllmTakesBlockKFromItsTable) {
  auto table = std::make_shared<BlockKTable>();
  EXPECT_TRUE(table->Add("hopper", 4096, 2048, 128));
  EXPECT_FALSE(table->Add("hopper", 4096, 2048, 32));
  GemmPolicySpec spec = Invariant(InvariantVariant::kVllm);
  spec.block_k_table = table;
  const auto policy = MakeGemmPolicy(spec);
  EXPECT_EQ(policy->Decide({1, 4096, 2048}, H100()).tile.k, 128);
  EXPECT_EQ(policy->Decide({1, 4096, 2048}, Device(108, 80)).tile.k, 64);
  EXPECT_EQ(policy->Decide({1, 4096, 4096}, H100()).tile.k, 64);
  EXPECT_THAT(policy->PlanWithWords({1, 4096, 2048}, H100()).explain,
              Contains("BLOCK_K = 128 from the table for this N and K"));
  EXPECT_THAT(policy->PlanWithWords({1, 4096, 4096}, H100()).explain,
              Contains("BLOCK_K = 64, the default"));
}

TEST(ArchitectureName, FollowsTheComputeCapability) {
  EXPECT_STREQ(ArchitectureName(80), "ampere");
  EXPECT_STREQ(ArchitectureName(89), "ada");
  EXPECT_STREQ(ArchitectureName(90), "hopper");
  EXPECT_STREQ(ArchitectureName(103), "blackwell");
  EXPECT_STREQ(ArchitectureName(120), "sm120");
  EXPECT_STREQ(ArchitectureName(70), "");
}

}  // namespace
}  // namespace batchvar
