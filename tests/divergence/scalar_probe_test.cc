// The scalar executors add in the order of their plan: the tree that they reveal is the tree that
// the plan's order means, for every policy. And a wrong order is noticed.
#include "sim/divergence/scalar_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/divergence/order_tree.h"
#include "sim/plan/allreduce_policy.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/row_policy.h"
#include "tests/plan/devices.h"
#include "tests/plan/random_policy.h"

namespace batchvar {
namespace {

constexpr int64_t kLeaves = 48;

bool DotMatches(const Order& executed, const Order& planned, int64_t k, DType dtype) {
  const std::vector<int64_t> places = ProbePlaces(k, kLeaves);
  const RevealedSum revealed = RevealTerms(k, places, DotOfTerms(executed, dtype));
  return revealed.outcome == RevealOutcome::kTree && revealed.tree == TreeOfDot(planned, places);
}

TEST(ScalarProbe, EveryGemmPolicyIsExecutedAsPlanned) {
  RandomPolicy random(17);
  std::set<Combine> combines;
  for (int i = 0; i < 140; ++i) {
    const GemmPolicyKind kind = kGemmPolicyKinds[i % std::size(kGemmPolicyKinds)];
    GemmShape shape = random.Shape(80, 700);
    if (i % 2 == 0) shape.dtype = DType::kFp16;
    const auto policy = MakeGemmPolicy(random.Spec(kind, shape));
    const DeviceSpec device = Device(random.Small(196) + 4, i % 3 == 0 ? 80 : 90);
    if (!policy->Missing(shape, device).empty()) continue;
    const GemmPlan plan = policy->Plan(shape, device);
    // Few groups are enough: stream-K has one for almost every tile.
    for (size_t g = 0; g < std::min<size_t>(plan.tiles.size(), 3); ++g) {
      const Order& order = plan.tiles[g].order;
      combines.insert(order.combine);
      EXPECT_TRUE(DotMatches(order, order, shape.k, shape.dtype))
          << plan.policy << " K " << shape.k << " group " << g;
    }
  }
  EXPECT_GE(combines.size(), 4u);
}

// One thing changed at a time; each has to show.
TEST(ScalarProbe, AWrongOrderIsNoticed) {
  Order planned;
  planned.combine = Combine::kSerialFp32;
  planned.pieces = {{0, 160}, {160, 320}, {320, 480}, {480, 512}};
  std::vector<Order> wrong(6, planned);
  wrong[0].combine = Combine::kPairwise;
  wrong[1].arithmetic = Arithmetic::kMmaSm80;
  wrong[2].instr_k = 8;
  wrong[3].arithmetic = Arithmetic::kFmaChain;
  std::swap(wrong[4].pieces[2], wrong[4].pieces[0]);
  wrong[5].pieces = {{0, 512}};
  ASSERT_TRUE(DotMatches(planned, planned, 512, DType::kBf16));
  for (const Order& order : wrong) {
    EXPECT_FALSE(DotMatches(order, planned, 512, DType::kBf16)) << &order - wrong.data();
  }
  Order sliced = planned;
  sliced.pieces = {{0, 512}};
  sliced.combine = Combine::kNone;
  sliced.block = 64;
  sliced.slice_k = 2;
  EXPECT_TRUE(DotMatches(sliced, sliced, 512, DType::kBf16));
  EXPECT_FALSE(DotMatches(wrong[5], sliced, 512, DType::kBf16));
}

TEST(ScalarProbe, RowsAreExecutedAsPlanned) {
  for (const int64_t width : {8, 100, 576, 4096, 8200}) {
    for (const int64_t rows : {1, 300}) {
      const Order order = NormOrder({NormPolicyKind::kNormVllm}, rows, width, DType::kBf16);
      const std::vector<int64_t> places = ProbePlaces(width, 200);
      const RevealedSum revealed =
          RevealTerms(width, places, RowOfTerms(order, width, DType::kBf16));
      EXPECT_EQ(revealed.outcome, RevealOutcome::kTree);
      EXPECT_EQ(revealed.tree, TreeOfRow(order, width, DType::kBf16, places)) << width;
    }
  }
  const std::vector<int64_t> places = ProbePlaces(4096, 200);
  const Order few = NormOrder({NormPolicyKind::kNormVllm}, 1, 4096, DType::kBf16);
  const Order many = NormOrder({NormPolicyKind::kNormVllm}, 256, 4096, DType::kBf16);
  EXPECT_NE(TreeOfRow(few, 4096, DType::kBf16, places),
            TreeOfRow(many, 4096, DType::kBf16, places));
}

TEST(ScalarProbe, EveryAllReduceIsExecutedAsPlanned) {
  for (const AllReducePolicyKind kind : AllAllReducePolicies()) {
    for (const int32_t ranks : {2, 3, 8, 64}) {
      for (const DType dtype : {DType::kBf16, DType::kFp16}) {
        AllReducePolicySpec spec;
        spec.kind = kind;
        const AllReducePlan plan = PlanAllReduce(spec, {16, 4096, dtype, ranks}, Device(132));
        for (const OrderStrip& slice : plan.slices) {
          const RevealedSum revealed =
              RevealTerms(ranks, ProbePlaces(ranks, ranks), RanksOfTerms(slice.order));
          EXPECT_EQ(revealed.tree, TreeOfRanks(slice.order)) << PolicyName(kind) << " " << ranks;
          EXPECT_EQ(revealed.outcome == RevealOutcome::kOrderFree,
                    slice.order.combine == Combine::kExactSum && ranks > 2);
        }
      }
    }
  }
}

TEST(ScalarProbe, EveryAttentionPolicyIsExecutedAsPlanned) {
  const AttentionHeads heads{32, 8, 128, DType::kBf16};
  int revealed_orders = 0;
  std::set<Combine> combines;
  for (const AttentionPolicyKind kind : AllAttentionPolicies()) {
    AttentionPolicySpec spec;
    spec.kind = kind;
    const auto policy = MakeAttentionPolicy(spec);
    for (const int64_t kv_len : {40, 300, 512, 1000, 2048, 4096}) {
      const int64_t shared = kind == AttentionPolicyKind::kCascade ? 32 : 0;
      const std::vector<AttentionRequest> step = {{1, kv_len, shared}, {1, 700, shared}};
      const Order order = policy->Plan(step, heads, Device(132))[0].order;
      const std::vector<int64_t> places = ProbePlaces(kv_len, kLeaves);
      if (!WhyAttentionHasNoProbe(order, std::ssize(places)).empty()) continue;
      const RevealedSum revealed =
          RevealTerms(kv_len, places, AttentionOfTerms(order, DType::kBf16));
      EXPECT_EQ(revealed.outcome, RevealOutcome::kTree) << policy->name() << " " << kv_len;
      EXPECT_EQ(revealed.tree, TreeOfAttention(order, places)) << policy->name() << " " << kv_len;
      ++revealed_orders;
      combines.insert(order.combine);
    }
  }
  EXPECT_GE(revealed_orders, 30);
  EXPECT_GE(combines.size(), 2u);
}

TEST(ScalarProbe, AttentionThatDividesInexactlyIsRefusedWithWhatToDo) {
  Order order;
  order.block = 128;
  order.combine = Combine::kLse;
  order.pieces = {{0, 512}, {512, 1000}};
  EXPECT_NE(WhyAttentionHasNoProbe(order, 64).find("such as 512"), std::string::npos);
  order.pieces = {{0, 384}, {384, 768}, {768, 1024}};  // by three, and then it is exact
  EXPECT_EQ(WhyAttentionHasNoProbe(order, 64), "");
  const std::vector<int64_t> places = ProbePlaces(1024, 64);
  EXPECT_EQ(RevealTerms(1024, places, AttentionOfTerms(order, DType::kFp16)).tree,
            TreeOfAttention(order, places));
  order.partial = DType::kBf16;
  EXPECT_NE(WhyAttentionHasNoProbe(order, 128).find("at most 85 leaves"), std::string::npos);
  EXPECT_EQ(WhyAttentionHasNoProbe(order, 85), "");
  order.partial = DType::kFp16;
  EXPECT_NE(WhyAttentionHasNoProbe(order, 8).find("bf16"), std::string::npos);
  order.pieces = {{0, 37}, {37, 64}};
  EXPECT_NE(WhyAttentionHasNoProbe(order, 8).find("lengths"), std::string::npos);
  order.pieces = {{0, 999}};
  EXPECT_EQ(WhyAttentionHasNoProbe(order, 64), "");
}

}  // namespace
}  // namespace batchvar
