#include "sim/plan/attention_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "sim/base/rng.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr AttentionHeads kHeads = {32, 8, 128};

std::unique_ptr<AttentionPolicy> Make(AttentionPolicyKind kind) {
  AttentionPolicySpec spec;
  spec.kind = kind;
  return MakeAttentionPolicy(spec);
}

TEST(AttentionTextbook, OneDecodeFillsTheDevice) {
  const auto policy = Make(AttentionPolicyKind::kTextbook);
  // 8 blocks on 132 SMs: 16 pieces wanted, 32 KV tiles make 2 a piece.
  const auto plans = policy->Plan({{1, 4096}}, kHeads, H100());
  EXPECT_EQ(plans[0].num_splits, 16);
  EXPECT_EQ(plans[0].order.pieces.front(), (Range{0, 256}));
  EXPECT_EQ(plans[0].order.pieces.back(), (Range{3840, 4096}));
  EXPECT_EQ(plans[0].order.combine, Combine::kLse);
  EXPECT_EQ(plans[0].order.block, 128);
  EXPECT_THAT(policy->Explain({{1, 4096}}, kHeads, H100()),
              Contains(HasSubstr("8 blocks leave 124 of 132 SMs idle")));
}

TEST(AttentionTextbook, NeighboursTakeTheSplitsAway) {
  const auto policy = Make(AttentionPolicyKind::kTextbook);
  const auto splits_with = [&policy](size_t requests) {
    const std::vector<AttentionRequest> step(requests, AttentionRequest{1, 4096});
    return policy->Plan(step, kHeads, H100())[0].num_splits;
  };
  EXPECT_EQ(splits_with(1), 16);
  EXPECT_EQ(splits_with(2), 8);
  EXPECT_EQ(splits_with(4), 4);
  EXPECT_EQ(splits_with(9), 1);
  EXPECT_EQ(splits_with(17), 1);
  // One prefill chunk next door is enough as well: 512 tokens x 4 heads are 32 query tiles.
  const auto mixed = policy->Plan({{1, 4096}, {512, 512}}, kHeads, H100());
  EXPECT_EQ(mixed[0].num_splits, 1);
  EXPECT_EQ(mixed[0].order.combine, Combine::kNone);
}

TEST(AttentionTextbook, ShortAndUnevenLengths) {
  const auto policy = Make(AttentionPolicyKind::kTextbook);
  const auto plans = policy->Plan({{1, 1}, {1, 128}, {1, 129}, {1, 1000}}, kHeads, H100());
  EXPECT_EQ(policy->Rule({{1, 1}, {1, 128}, {1, 129}, {1, 1000}}, kHeads, H100()).split_factor, 4);
  EXPECT_EQ(plans[0].num_splits, 1);
  EXPECT_EQ(plans[1].num_splits, 1);
  EXPECT_THAT(plans[2].order.pieces, ElementsAre(Range{0, 128}, Range{128, 129}));
  EXPECT_THAT(plans[3].order.pieces,
              ElementsAre(Range{0, 256}, Range{256, 512}, Range{512, 768}, Range{768, 1000}));
}

TEST(AttentionTextbook, EmptyStepAndMaxSplit) {
  const auto policy = Make(AttentionPolicyKind::kTextbook);
  EXPECT_EQ(policy->Rule({}, kHeads, H100()).split_factor, 1);
  EXPECT_TRUE(policy->Plan({}, kHeads, H100()).empty());
  // 1 KV head: 132 pieces would fit, max_split stops at 32.
  EXPECT_EQ(policy->Rule({{1, 100000}}, {4, 1, 128}, H100()).split_factor, 32);
}

TEST(AttentionBatchInvariant, PiecesCountFromTokenZero) {
  const auto policy = Make(AttentionPolicyKind::kBatchInvariant);
  const auto alone = policy->Plan({{1, 5000}}, kHeads, H100());
  EXPECT_THAT(alone[0].order.pieces,
              ElementsAre(Range{0, 2048}, Range{2048, 4096}, Range{4096, 5000}));
  for (const int32_t sm_count : {1, 108, 148}) {
    std::vector<AttentionRequest> crowd(64, AttentionRequest{1, 777});
    crowd.push_back({1, 5000});
    EXPECT_EQ(policy->Plan(crowd, kHeads, Device(sm_count)).back().klass, alone[0].klass);
  }
  // A longer request's early pieces are those of the shorter one: cached KV keeps its sums.
  const auto longer = policy->Plan({{1, 9000}}, kHeads, H100());
  EXPECT_EQ(RowOrder(longer[0].order, 4999), alone[0].order);
}

TEST(AttentionPolicies, PermutingTheStepChangesNoRequest) {
  RandomStream random(11, "test.attention");
  const auto below = [&random](uint64_t n) { return static_cast<int64_t>(random.NextBelow(n)); };
  for (const auto kind : {AttentionPolicyKind::kTextbook, AttentionPolicyKind::kBatchInvariant}) {
    const auto policy = Make(kind);
    for (int round = 0; round < 200; ++round) {
      std::vector<AttentionRequest> step(1 + random.NextBelow(12));
      for (AttentionRequest& request : step) {
        request.q_len = below(4) == 0 ? 1 + below(300) : 1;
        request.kv_len = request.q_len + below(5000);
      }
      std::vector<size_t> places(step.size());
      std::iota(places.begin(), places.end(), size_t{0});
      for (size_t i = places.size(); i > 1; --i) {
        std::swap(places[i - 1], places[random.NextBelow(i)]);
      }
      std::vector<AttentionRequest> shuffled;
      for (const size_t place : places) shuffled.push_back(step[place]);
      const auto plans = policy->Plan(step, kHeads, H100());
      const auto shuffled_plans = policy->Plan(shuffled, kHeads, H100());
      EXPECT_EQ(policy->Rule(step, kHeads, H100()), policy->Rule(shuffled, kHeads, H100()));
      for (size_t i = 0; i < places.size(); ++i) {
        EXPECT_EQ(shuffled_plans[i].order, plans[places[i]].order);
        EXPECT_TRUE(CoversOnce(shuffled_plans[i].order, shuffled[i].kv_len));
      }
    }
  }
}

TEST(RowOrder, ClipsToWhatARowSees) {
  const auto policy = Make(AttentionPolicyKind::kTextbook);
  const Order order = policy->Plan({{4, 1000}, {1, 9}}, kHeads, H100())[0].order;
  EXPECT_EQ(RowOrder(order, 999), order);
  for (int64_t position = 0; position < 1000; ++position) {
    const Order row = RowOrder(order, position);
    EXPECT_TRUE(CoversOnce(row, position + 1));
    EXPECT_EQ(row.combine, row.pieces.size() > 1 ? Combine::kLse : Combine::kNone);
  }
}

TEST(ClassOfRule, EqualRulesCutAlike) {
  EXPECT_EQ(ClassOfRule({128, 4, 0}), ClassOfRule({128, 4, 0}));
  EXPECT_NE(ClassOfRule({128, 4, 0}), ClassOfRule({128, 3, 0}));
  EXPECT_NE(ClassOfRule({128, 1, 0}), ClassOfRule({128, 1, 2048}));
  EXPECT_NE(ClassOfRule({64, 4, 0}), ClassOfRule({128, 4, 0}));
  // Every later field counts, and none is mistaken for another.
  EXPECT_NE(ClassOfRule({128, 4, 0, 512}), ClassOfRule({128, 4, 0}));
  EXPECT_NE(ClassOfRule({128, 4, 0, 64}), ClassOfRule({128, 4, 0, 0, 64}));
  EXPECT_NE(ClassOfRule({128, 4, 0, 0, 0, 64}), ClassOfRule({128, 4, 0, 0, 0, 0, 64}));
}

}  // namespace
}  // namespace batchvar
