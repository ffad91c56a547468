// Trees of programs that are written out here, added with the arithmetic that they would use.
#include "sim/divergence/reveal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/rng.h"
#include "sim/divergence/probe_terms.h"
#include "sim/numerics/exact_sum.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {
namespace {

std::vector<int64_t> Places(int64_t n) {
  std::vector<int64_t> places(n);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

RevealedSum Reveal(int64_t n, const TermSum& sum) { return RevealTerms(n, Places(n), sum); }

std::string TreeOf(int64_t n, const TermSum& sum) {
  const RevealedSum revealed = Reveal(n, sum);
  EXPECT_EQ(revealed.outcome, RevealOutcome::kTree);
  return NestedList(revealed.tree);
}

TEST(Reveal, HandMadeSums) {
  using Terms = std::vector<float>;
  EXPECT_EQ(TreeOf(1, [](const Terms& x) { return x[0]; }), "0");
  EXPECT_EQ(TreeOf(2, [](const Terms& x) { return x[0] + x[1]; }), "[0,1]");
  EXPECT_EQ(TreeOf(4, [](const Terms& x) { return ((x[0] + x[1]) + x[2]) + x[3]; }),
            "[[[0,1],2],3]");
  EXPECT_EQ(TreeOf(4, [](const Terms& x) { return x[0] + (x[1] + (x[2] + x[3])); }),
            "[0,[1,[2,3]]]");
  EXPECT_EQ(TreeOf(4, [](const Terms& x) { return (x[3] + x[0]) + (x[2] + x[1]); }),
            "[[0,3],[1,2]]");
  EXPECT_EQ(TreeOf(5, [](const Terms& x) { return (x[0] + x[2]) + (x[4] + (x[1] + x[3])); }),
            "[[0,2],[[1,3],4]]");
}

// A chain is found from its first term, one answer for each other term.
TEST(Reveal, AChainTakesOneAnswerATerm) {
  const RevealedSum chain = Reveal(
      64, [](const std::vector<float>& x) { return std::accumulate(x.begin(), x.end(), 0.0f); });
  EXPECT_EQ(chain.probes, 63);
  const RevealedSum backwards = Reveal(
      64, [](const std::vector<float>& x) { return std::accumulate(x.rbegin(), x.rend(), 0.0f); });
  EXPECT_EQ(backwards.probes, 64 * 63 / 2);
}

TEST(Reveal, AFusedSumIsOneNode) {
  const auto fused = [](const std::vector<float>& x) {
    std::vector<uint16_t> a(16, Bf16Of(1)), b;
    for (const float term : x) b.push_back(Bf16Of(term));
    b.resize(16);
    return FloatOf(FusedDotAdd(kMmaModelSm90, DType::kBf16, a.data(), 1, b.data(), 1, 0));
  };
  EXPECT_EQ(TreeOf(5, fused), "[0,1,2,3,4]");
}

TEST(Reveal, AnExactSumHasNoOrder) {
  const auto exact = [](const std::vector<float>& x) {
    return SumExactly(x.data(), 1, std::ssize(x), DType::kBf16);
  };
  const RevealedSum revealed = Reveal(6, exact);
  EXPECT_EQ(revealed.outcome, RevealOutcome::kOrderFree);
  EXPECT_TRUE(revealed.tree.order_free);
  EXPECT_EQ(NestedList(revealed.tree), "[0,1,2,3,4,5]");
  EXPECT_EQ(Reveal(2, exact).outcome, RevealOutcome::kTree);
}

void ExpectInconsistent(const RevealedSum& revealed) {
  EXPECT_EQ(revealed.outcome, RevealOutcome::kInconsistent);
  EXPECT_TRUE(revealed.tree.IsEmpty());
  EXPECT_GE(revealed.first, 0);
  EXPECT_GE(revealed.second, 0);
}

TEST(Reveal, AnswersThatAreNoTreeAreSaid) {
  ExpectInconsistent(RevealTree(4, [](int64_t, int64_t) { return 0.5; }));
  ExpectInconsistent(RevealTree(4, [](int64_t, int64_t) { return 3.0; }));
  ExpectInconsistent(RevealTree(4, [](int64_t, int64_t) { return -1.0; }));
  ExpectInconsistent(
      RevealTree(4, [](int64_t, int64_t) { return std::numeric_limits<double>::quiet_NaN(); }));
  // Every term meets every other one in a node of three: there are four.
  ExpectInconsistent(RevealTree(4, [](int64_t, int64_t) { return 1.0; }));
  // Exact for the first term only.
  ExpectInconsistent(RevealTree(4, [](int64_t i, int64_t) { return i == 0 ? 2.0 : 0.0; }));
  // Terms that are added twice.
  ExpectInconsistent(Reveal(
      4, [](const std::vector<float>& x) { return ((x[0] + x[1]) + x[2]) + (x[3] + x[3]); }));
  // Two exact sums that meet in an ordinary addition.
  ExpectInconsistent(Reveal(8, [](const std::vector<float>& x) {
    return SumExactly(x.data(), 1, 4, DType::kFp32) + SumExactly(x.data() + 4, 1, 4, DType::kFp32);
  }));
}

SummationTree RandomTree(std::vector<int64_t> leaves, RandomStream* random) {
  if (leaves.size() == 1) return LeafOf(leaves[0]);
  const uint64_t most = std::min<uint64_t>(leaves.size(), random->NextBelow(3) == 0 ? 17 : 2);
  const uint64_t arity = 2 + random->NextBelow(most - 1);
  std::vector<std::vector<int64_t>> parts(arity);
  for (size_t i = 0; i < leaves.size(); ++i) {
    parts[i < arity ? i : random->NextBelow(arity)].push_back(leaves[i]);
  }
  SummationTree tree;
  for (std::vector<int64_t>& part : parts) {
    tree.children.push_back(RandomTree(std::move(part), random));
  }
  return tree;
}

// A node of two is an fp32 addition, a node of more one tensor-core instruction with the last child
// as its accumulator. Sums of units and kProbeLarge are exact in bf16.
float Execute(const SummationTree& tree, const std::vector<float>& terms) {
  if (tree.IsLeaf()) return terms[tree.leaf];
  std::vector<float> values;
  for (const SummationTree& child : tree.children) values.push_back(Execute(child, terms));
  if (values.size() == 2) return values[0] + values[1];
  const float accumulator = values.back();
  values.pop_back();
  std::vector<uint16_t> a(16, Bf16Of(1)), b;
  for (const float value : values) b.push_back(Bf16Of(value));
  b.resize(16);
  const MmaModel& model = kMmaModelSm90;
  return FloatOf(FusedDotAdd(model, DType::kBf16, a.data(), 1, b.data(), 1, BitsOf(accumulator)));
}

TEST(Reveal, RandomTreesAreRecoveredExactly) {
  RandomStream random(7, "test.trees");
  int64_t fused = 0;
  for (int i = 0; i < 400; ++i) {
    const auto n = static_cast<int64_t>(1 + random.NextBelow(i % 20 == 0 ? kMaxProbeTerms : 60));
    std::vector<int64_t> leaves = Places(n);
    for (size_t k = leaves.size(); k > 1; --k) {
      std::swap(leaves[k - 1], leaves[random.NextBelow(k)]);
    }
    const SummationTree tree = RandomTree(leaves, &random);
    fused += tree.children.size() > 2;
    const RevealedSum revealed =
        Reveal(n, [&tree](const std::vector<float>& terms) { return Execute(tree, terms); });
    ASSERT_EQ(revealed.outcome, RevealOutcome::kTree);
    ASSERT_EQ(NestedList(revealed.tree), NestedList(Canonical(tree)));
    EXPECT_LE(revealed.probes, n * (n - 1) / 2);
  }
  EXPECT_GT(fused, 30);  // of the roots
}

}  // namespace
}  // namespace batchvar
