#include "sim/divergence/summation_tree.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

namespace batchvar {
namespace {

SummationTree Pair(SummationTree a, SummationTree b) {
  std::vector<SummationTree> terms;
  terms.push_back(std::move(a));
  terms.push_back(std::move(b));
  return SumOf(std::move(terms));
}

TEST(SummationTree, EmptyTermsVanishAndLoneTermsStand) {
  EXPECT_TRUE(SumOf({}).IsEmpty());
  EXPECT_EQ(SumOf({LeafOf(3)}), LeafOf(3));
  EXPECT_EQ(Pair({}, LeafOf(3)), LeafOf(3));
  EXPECT_EQ(NestedList(SumOf({LeafOf(1), {}, LeafOf(2)})), "[1,2]");
  EXPECT_EQ(NestedList({}), "[]");
}

TEST(SummationTree, CanonicalFormSortsBySmallestLeafAndKeepsTheShape) {
  const SummationTree tree = Pair(Pair(LeafOf(5), Pair(LeafOf(4), LeafOf(1))), LeafOf(2));
  EXPECT_EQ(NestedList(tree), "[[5,[4,1]],2]");
  EXPECT_EQ(NestedList(Canonical(tree)), "[[[1,4],5],2]");
  EXPECT_EQ(CountLeaves(tree), 4);
  EXPECT_EQ(SmallestLeaf(tree), 1);
  EXPECT_EQ(SmallestLeaf({}), -1);
}

TEST(SummationTree, CanonicalFormDropsNodesOfOneChild) {
  SummationTree inner;
  inner.children.push_back(LeafOf(0));
  SummationTree outer;
  outer.children = {inner, {}, LeafOf(1)};
  EXPECT_EQ(Canonical(outer), Pair(LeafOf(0), LeafOf(1)));
  outer.children = {inner};
  EXPECT_EQ(Canonical(outer), LeafOf(0));
}

TEST(SummationTree, AdditionCommutesButDoesNotAssociate) {
  const auto [a, b, c] = std::tuple(LeafOf(0), LeafOf(1), LeafOf(2));
  EXPECT_EQ(Canonical(Pair(Pair(a, b), c)), Canonical(Pair(c, Pair(b, a))));
  EXPECT_NE(Canonical(Pair(Pair(a, b), c)), Canonical(Pair(a, Pair(b, c))));
  EXPECT_NE(Canonical(SumOf({a, b, c})), Canonical(Pair(Pair(a, b), c)));
}

TEST(SummationTree, AnExactSumOfTwoIsAnAddition) {
  SummationTree two = Pair(LeafOf(1), LeafOf(0));
  two.order_free = true;
  EXPECT_EQ(Canonical(two), Pair(LeafOf(0), LeafOf(1)));
  SummationTree three = SumOf({LeafOf(0), LeafOf(1), LeafOf(2)});
  const SummationTree fused = three;
  three.order_free = true;
  EXPECT_TRUE(Canonical(three).order_free);
  EXPECT_NE(Canonical(three), fused);
}

}  // namespace
}  // namespace batchvar
