// case-02: three copies of one prompt (vllm-project/vllm#1464): a batch of three is enough.
#include <gtest/gtest.h>

#include "sim/config/load_experiment.h"
#include "sim/plan/attention_policy.h"
#include "sim/replay/plan_book.h"

namespace batchvar {
namespace {

ExperimentSpec SpecOn(const char* device, const char* policies) {
  auto spec = LoadExperimentText(
      std::string("model: llama3_8b\ndevice: ") + device + "\npolicies: " + policies +
          "\nscheduler: {num_gpu_blocks: 100000}\nworkload: {arrivals: {process: all_at_once}, "
          "prompt_len: {fixed: 1}, output_len: {fixed: 1}, num_requests: 1}\n",
      "case-02.yaml", ".", {});
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *spec;
}

TEST(Case02, OneAndThreeDifferInAnOpThatSumsOverKAndTheFirstOneHasAName) {
  PlanBook book(SpecOn("a10g", "{gemm: {name: gemv, m_max: 1}}"));
  std::string first;
  for (size_t op = 0; op < book.ops().size() && first.empty(); ++op) {
    if (KindOf(book.ops()[op].op) != OpKind::kGemm) continue;
    const OpPlan one = book.Lookup(op, 1);
    const OpPlan three = book.Lookup(op, 3);
    if (one.klass == three.klass) continue;
    first = OpName(book.ops()[op].op);
    EXPECT_NE(one.order, three.order);  // both plans stand side by side
    EXPECT_NE(one.policy, three.policy);
  }
  EXPECT_EQ(first, "qkv_proj");
}

TEST(Case02, TwoDoesNotBehaveLikeThree) {
  const ExperimentSpec spec = SpecOn("h100_sxm", "{attention: fa2}");
  const auto policy = MakeAttentionPolicy(spec.policies.attention);
  const AttentionHeads heads{32, 8, 128, DType::kBf16};
  const auto splits = [&](size_t batch) {
    return policy->Plan(std::vector<AttentionRequest>(batch, {1, 4096}), heads, spec.device)[0]
        .num_splits;
  };
  EXPECT_EQ(splits(2), 16);
  EXPECT_EQ(splits(3), 11);
}

}  // namespace
}  // namespace batchvar
