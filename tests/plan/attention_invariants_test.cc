// What must hold of every attention policy, over random steps: the order of requests changes
// nobody's plan, equal rules cut alike, every row is covered once; and of batch_invariant, that
// nothing but a request's own position and length decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/base/rng.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

constexpr AttentionHeads kHeads = {32, 8, 128};

int64_t Below(RandomStream* random, int64_t n) {
  return static_cast<int64_t>(random->NextBelow(static_cast<uint64_t>(n)));
}

std::vector<AttentionRequest> RandomStep(RandomStream* random) {
  std::vector<AttentionRequest> step(1 + random->NextBelow(24));
  const bool prefills = Below(random, 2) == 0;
  for (AttentionRequest& request : step) {
    request.q_len = prefills && Below(random, 4) == 0 ? 1 + Below(random, 300) : 1;
    request.kv_len = request.q_len + 300 + Below(random, Below(random, 4) == 0 ? 20000 : 1500);
    request.shared_prefix = 300;
  }
  return step;
}

// Every policy with its defaults, then some with keys that change the path.
std::vector<AttentionPolicySpec> Specs() {
  std::vector<AttentionPolicySpec> specs;
  for (const AttentionPolicyKind kind : AllAttentionPolicies()) specs.emplace_back().kind = kind;
  const auto add = [&specs](AttentionPolicyKind kind) -> AttentionPolicySpec& {
    specs.emplace_back().kind = kind;
    return specs.back();
  };
  add(AttentionPolicyKind::kFa3).varlen = false;
  add(AttentionPolicyKind::kFa3).num_splits = 32;
  add(AttentionPolicyKind::kFlashInfer).tensor_cores = false;
  add(AttentionPolicyKind::kFlashInfer).cuda_graph = true;
  add(AttentionPolicyKind::kFlashInfer).fixed_split_size = 2048;
  add(AttentionPolicyKind::kSglangTriton).split_tile_size = 256;
  add(AttentionPolicyKind::kBatchInvariant).prefix_apart = true;
  return specs;
}

TEST(AttentionInvariants, PermutingTheStepChangesNoRequest) {
  RandomStream random(21, "test.attention.permute");
  for (const AttentionPolicySpec& spec : Specs()) {
    const auto policy = MakeAttentionPolicy(spec);
    for (int round = 0; round < 60; ++round) {
      const std::vector<AttentionRequest> step = RandomStep(&random);
      std::vector<size_t> places(step.size());
      std::iota(places.begin(), places.end(), size_t{0});
      for (size_t i = places.size(); i > 1; --i) {
        std::swap(places[i - 1], places[random.NextBelow(i)]);
      }
      std::vector<AttentionRequest> shuffled;
      for (const size_t place : places) shuffled.push_back(step[place]);
      const auto plans = policy->Plan(step, kHeads, H100());
      const auto shuffled_plans = policy->Plan(shuffled, kHeads, H100());
      ASSERT_EQ(policy->Rule(step, kHeads, H100()), policy->Rule(shuffled, kHeads, H100()));
      for (size_t i = 0; i < places.size(); ++i) {
        ASSERT_EQ(shuffled_plans[i].order, plans[places[i]].order) << policy->name();
      }
    }
  }
}

TEST(AttentionInvariants, EveryRowIsCoveredOnceAndTheLastRowIsTheRequests) {
  RandomStream random(22, "test.attention.rows");
  for (const AttentionPolicySpec& spec : Specs()) {
    const auto policy = MakeAttentionPolicy(spec);
    for (int round = 0; round < 40; ++round) {
      const std::vector<AttentionRequest> step = RandomStep(&random);
      const AttentionRule rule = policy->Rule(step, kHeads, H100());
      for (const AttentionRequest& request : step) {
        const Order order = policy->OrderFor(rule, request, kHeads, H100());
        ASSERT_EQ(policy->OrderOfRow(rule, request, request.kv_len - 1, kHeads, H100()), order)
            << policy->name();
        const int64_t position = request.NumComputed() + Below(&random, request.q_len);
        const Order row = policy->OrderOfRow(rule, request, position, kHeads, H100());
        ASSERT_TRUE(CoversOnce(row, position + 1)) << policy->name();
        ASSERT_EQ(row.pieces.size() == 1, row.combine == Combine::kNone) << policy->name();
        ASSERT_GT(row.block, 0) << policy->name();
      }
      EXPECT_FALSE(policy->Explain(step, kHeads, H100()).empty());
    }
  }
}

// Policies whose rule does not use KV lengths give a step of longer requests the same rule.
TEST(AttentionInvariants, RuleUsesKvLengthsIsHonest) {
  RandomStream random(23, "test.attention.honest");
  for (const AttentionPolicySpec& spec : Specs()) {
    const auto policy = MakeAttentionPolicy(spec);
    bool moved = false;
    for (int round = 0; round < 60; ++round) {
      std::vector<AttentionRequest> step = RandomStep(&random);
      const AttentionRule rule = policy->Rule(step, kHeads, H100());
      for (AttentionRequest& request : step) request.kv_len += 1 + Below(&random, 4000);
      moved = moved || policy->Rule(step, kHeads, H100()) != rule;
    }
    if (spec.fixed_split_size > 0) continue;  // only its prefills are searched for
    EXPECT_EQ(moved, policy->RuleUsesKvLengths()) << policy->name();
  }
}

TEST(AttentionInvariants, EmptyStepsHaveARule) {
  for (const AttentionPolicySpec& spec : Specs()) {
    const auto policy = MakeAttentionPolicy(spec);
    EXPECT_GT(policy->Rule({}, kHeads, H100()).tile_kv, 0) << policy->name();
    EXPECT_TRUE(policy->Plan({}, kHeads, H100()).empty());
    policy->Explain({}, kHeads, H100());
    EXPECT_FALSE(policy->source().version.empty());
    EXPECT_FALSE(AttentionPolicyKeys(spec.kind).empty());
  }
}

// The class of the token at a position, over random neighbours, chunk cuts and cached prefixes.
TEST(AttentionBatchInvariant, OnlyPositionAndLengthDecide) {
  RandomStream random(24, "test.attention.invariant");
  const auto policy = MakeAttentionPolicy({AttentionPolicyKind::kBatchInvariant});
  std::map<int64_t, std::set<Digest>> classes;
  for (int round = 0; round < 2000; ++round) {
    const int64_t position = 1 + 1500 * Below(&random, 5);
    std::vector<AttentionRequest> step = RandomStep(&random);
    AttentionRequest own;
    own.kv_len = position + 1 + Below(&random, 700);  // the chunk's other rows
    own.q_len = own.kv_len - Below(&random, position + 1);
    step.push_back(own);
    const AttentionRule rule = policy->Rule(step, kHeads, H100());
    classes[position].insert(ClassOfOrder(policy->OrderOfRow(rule, own, position, kHeads, H100())));
  }
  for (const auto& [position, seen] : classes) EXPECT_EQ(seen.size(), 1u) << position;
}

// The variant that cuts prefix and chunk apart is invariant only for cuts on the split size.
TEST(AttentionBatchInvariant, PrefixApartNeedsAlignedCuts) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kBatchInvariant;
  spec.split_size = 256;
  spec.prefix_apart = true;
  const auto policy = MakeAttentionPolicy(spec);
  const auto class_at = [&policy](int64_t position, int64_t chunk_begin, int64_t chunk_end) {
    const AttentionRequest request = {chunk_end - chunk_begin, chunk_end};
    const AttentionRule rule = policy->Rule({request}, kHeads, H100());
    return ClassOfOrder(policy->OrderOfRow(rule, request, position, kHeads, H100()));
  };
  const Digest whole = class_at(1000, 0, 1200);
  for (const int64_t begin : {256, 512, 768}) EXPECT_EQ(class_at(1000, begin, 1100), whole);
  std::set<Digest> unaligned;
  for (const int64_t begin : {1, 100, 257, 900, 1000}) {
    unaligned.insert(class_at(1000, begin, 1100));
    EXPECT_NE(class_at(1000, begin, 1100), whole) << begin;
  }
  EXPECT_EQ(unaligned.size(), 5u);
}

}  // namespace
}  // namespace batchvar
