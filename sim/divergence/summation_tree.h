// Which terms of a sum meet where: a tree whose leaves are terms and whose nodes are roundings. A
// node of two is one addition; a node of more is a fused sum, whose terms have no order. A plain
// value, made from an Order (order_tree.h) or from a program's answers (reveal.h), and compared.
//
// Canonical form: every node has at least two children, sorted by the smallest leaf below them.
// Addition commutes, so two canonical trees are equal exactly when every pair of terms meets at the
// same place.
#ifndef BATCHVAR_SIM_DIVERGENCE_SUMMATION_TREE_H_
#define BATCHVAR_SIM_DIVERGENCE_SUMMATION_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace batchvar {

struct SummationTree {
  int64_t leaf = -1;                    // >= 0 for a leaf, which has no children
  std::vector<SummationTree> children;  // neither leaf nor children: no term at all, adds nothing
  bool order_free = false;              // the children's exact sum, rounded once

  bool IsLeaf() const { return leaf >= 0; }
  bool IsEmpty() const { return leaf < 0 && children.empty(); }
  friend bool operator==(const SummationTree& a, const SummationTree& b) = default;
};

SummationTree LeafOf(int64_t leaf);
// One rounding over `terms`. Empty terms vanish; a lone term is returned as it is.
SummationTree SumOf(std::vector<SummationTree> terms);

// An exact sum of two terms is an addition, so it loses `order_free`.
SummationTree Canonical(SummationTree tree);

int64_t CountLeaves(const SummationTree& tree);
// -1 for an empty tree.
int64_t SmallestLeaf(const SummationTree& tree);

// "[[0,1],2]"; "[]" for an empty tree. The form of `tree` in JSON.
std::string NestedList(const SummationTree& tree);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_SUMMATION_TREE_H_
