// case-04: split count of decode attention drawn from a shared budget (ROCm/aiter#4378). The lines
// that concern plans: a number of splits varies with the batch, a size of splits does not.
#include <gtest/gtest.h>

#include <set>

#include "sim/config/load_experiment.h"
#include "sim/plan/attention_policy.h"

namespace batchvar {
namespace {

// Classes that one request of 8192 positions meets in batches of 1 to 64.
size_t ClassesOverBatches(const AttentionPolicySpec& spec, int64_t kv_len = 8192) {
  const auto device = LoadDevice("h100_sxm");
  EXPECT_TRUE(device.ok()) << device.status();
  const auto policy = MakeAttentionPolicy(spec);
  std::set<Digest> classes;
  for (size_t batch = 1; batch <= 64; ++batch) {
    const std::vector<AttentionRequest> step(batch, {1, kv_len});
    classes.insert(policy->Plan(step, {16, 1, 128, DType::kBf16}, *device)[0].klass);
  }
  return classes.size();
}

TEST(Case04, ANumberOfSplitsFromASharedBudgetVariesWithTheBatch) {
  for (const AttentionPolicyKind kind :
       {AttentionPolicyKind::kTextbook, AttentionPolicyKind::kFa2, AttentionPolicyKind::kFa3,
        AttentionPolicyKind::kFlashInfer}) {
    AttentionPolicySpec spec;
    spec.kind = kind;
    EXPECT_GT(ClassesOverBatches(spec), 1U) << PolicyName(kind);
  }
}

TEST(Case04, AFixedSplitSizeDoesNot) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kBatchInvariant;
  EXPECT_EQ(ClassesOverBatches(spec), 1U);
}

TEST(Case04, TheEffectVanishesWhereNothingIsLongEnoughToSplit) {
  EXPECT_EQ(ClassesOverBatches({}, /*kv_len=*/128), 1U);
}

}  // namespace
}  // namespace batchvar
