// case-01: one row, many batch heights (NVIDIA/TransformerEngine#2986). The lines that concern
// plans.
#include <gtest/gtest.h>

#include <map>

#include "sim/config/load_experiment.h"
#include "sim/io/gemm_table.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/order_digest.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

constexpr int64_t kHeights[] = {1, 2, 17, 33, 128, 257, 1024};

DeviceSpec DeviceNamed(const char* name) {
  auto device = LoadDevice(name);
  EXPECT_TRUE(device.ok()) << device.status();
  return *device;
}

GemmPlan PlanAt(const GemmPolicySpec& spec, int64_t m, const DeviceSpec& device) {
  return MakeGemmPolicy(spec)->Plan({m, 2048, 2048, DType::kBf16}, device);
}

TEST(Case01, HeightsFallIntoClasses) {
  std::map<Digest, int> classes;
  for (const int64_t m : kHeights) ++classes[PlanAt({}, m, DeviceNamed("l20")).klass];
  EXPECT_GT(classes.size(), 1U);
  EXPECT_LT(classes.size(), std::size(kHeights));
}

TEST(Case01, ALargerHeightCanShareTheClassOfASmallerOne) {
  const std::string path = ReferencePath("heuristics/nvmmh/generic-tn.flags8.csv.gz");
  BATCHVAR_SKIP_WITHOUT(path);
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kTable);
  spec.table_path = path;
  spec.layout = TableLayout::kTn;
  ASSERT_TRUE(LoadGemmTables(&spec).ok());
  const DeviceSpec device = DeviceNamed("h100_sxm");
  const auto policy = MakeGemmPolicy(spec);
  const auto split = [&](int64_t m) {
    const GemmShape shape{m, 4096, 12288, DType::kBf16};  // qwen3-8b, down projection
    const std::string missing = policy->Missing(shape, device);
    EXPECT_EQ(missing, "");
    return missing.empty() ? policy->Decide(shape, device).split_k : 0;
  };
  if (!policy->Missing({72, 4096, 12288, DType::kBf16}, device).empty()) {
    GTEST_SKIP() << "the table of this folder has no such cell: "
                 << policy->Missing({72, 4096, 12288, DType::kBf16}, device);
  }
  EXPECT_EQ(split(72), split(104));
  EXPECT_NE(split(72), split(88));
  EXPECT_EQ(split(88), split(136));
}

TEST(Case01, ThePlaceInTheBatchDoesNotMatterUnlessUnderStreamK) {
  const DeviceSpec device = DeviceNamed("l20");
  for (const GemmPolicyKind kind : {GemmPolicyKind::kTextbook, GemmPolicyKind::kCutlassSplitK}) {
    for (const int64_t m : kHeights) {
      const GemmPlan plan = PlanAt(DefaultGemmPolicy(kind), m, device);
      for (const int64_t row : {int64_t{0}, m / 2, m - 1}) {
        EXPECT_EQ(ClassOfRow(plan, row), ClassOfRow(plan, 0)) << PolicyName(kind) << " M " << m;
      }
    }
  }
  GemmPolicySpec stream_k = DefaultGemmPolicy(GemmPolicyKind::kStreamK);
  stream_k.tile_m = 16;
  bool matters = false;
  for (const int64_t m : kHeights) {
    const GemmPlan plan = PlanAt(stream_k, m, device);
    matters |= ClassOfRow(plan, m - 1) != ClassOfRow(plan, 0);
  }
  EXPECT_TRUE(matters);
}

TEST(Case01, OnePinnedDecompositionIsOneClass) {
  const DeviceSpec device = DeviceNamed("l20");
  const GemmPolicySpec pinned = DefaultGemmPolicy(GemmPolicyKind::kBatchInvariant);
  for (const int64_t m : kHeights) {
    EXPECT_EQ(PlanAt(pinned, m, device).klass, PlanAt(pinned, 1, device).klass) << m;
  }
}

}  // namespace
}  // namespace batchvar
