#include "sim/divergence/summation_tree.h"

#include <algorithm>
#include <utility>

namespace batchvar {

SummationTree LeafOf(int64_t leaf) {
  SummationTree tree;
  tree.leaf = leaf;
  return tree;
}

SummationTree SumOf(std::vector<SummationTree> terms) {
  std::erase_if(terms, [](const SummationTree& term) { return term.IsEmpty(); });
  if (terms.size() == 1) return std::move(terms.front());
  SummationTree sum;
  sum.children = std::move(terms);
  return sum;
}

SummationTree Canonical(SummationTree tree) {
  if (tree.IsLeaf()) return tree;
  for (SummationTree& child : tree.children) child = Canonical(std::move(child));
  SummationTree sum = SumOf(std::move(tree.children));
  if (sum.IsLeaf() || sum.IsEmpty()) return sum;
  // A lone child was a node of its own and is in order already.
  sum.order_free = (sum.order_free || tree.order_free) && sum.children.size() > 2;
  std::vector<std::pair<int64_t, size_t>> places;
  for (size_t i = 0; i < sum.children.size(); ++i) {
    places.emplace_back(SmallestLeaf(sum.children[i]), i);
  }
  std::sort(places.begin(), places.end());
  std::vector<SummationTree> sorted;
  sorted.reserve(places.size());
  for (const auto& [leaf, i] : places) sorted.push_back(std::move(sum.children[i]));
  sum.children = std::move(sorted);
  return sum;
}

int64_t CountLeaves(const SummationTree& tree) {
  int64_t count = tree.IsLeaf() ? 1 : 0;
  for (const SummationTree& child : tree.children) count += CountLeaves(child);
  return count;
}

int64_t SmallestLeaf(const SummationTree& tree) {
  int64_t smallest = tree.leaf;
  for (const SummationTree& child : tree.children) {
    const int64_t leaf = SmallestLeaf(child);
    if (smallest < 0 || (leaf >= 0 && leaf < smallest)) smallest = leaf;
  }
  return smallest;
}

std::string NestedList(const SummationTree& tree) {
  if (tree.IsLeaf()) return std::to_string(tree.leaf);
  std::string text = "[";
  for (const SummationTree& child : tree.children) {
    if (text.size() > 1) text += ',';
    text += NestedList(child);
  }
  return text + "]";
}

}  // namespace batchvar
