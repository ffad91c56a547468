// Finds the summation tree of a program that can only be run. Put +M at one term, -M at another and
// one unit everywhere else, M so large that it swallows units: those that are added to the running
// sum before the two M cancel are lost, so the result counts the terms outside the lowest node that
// holds both. Enough pairs give the tree, fused nodes included.
//
// The idea is FPRev's (USENIX ATC 2025, MIT licence), written anew; the search below asks one term
// of every subtree about all others, so a chain of n terms takes n - 1 answers, and no shape more
// than n (n - 1) / 2.
#ifndef BATCHVAR_SIM_DIVERGENCE_REVEAL_H_
#define BATCHVAR_SIM_DIVERGENCE_REVEAL_H_

#include <cstdint>
#include <functional>

#include "sim/divergence/summation_tree.h"

namespace batchvar {

// The sum with +M at term i, -M at term j and one unit at each other term, in units. 0 <= i, j < n.
using SumProbe = std::function<double(int64_t i, int64_t j)>;

enum class RevealOutcome : uint8_t {
  kTree,
  kOrderFree,     // no unit is ever lost: the sum is exact
  kInconsistent,  // the answers are not those of one tree
};

struct RevealedSum {
  RevealOutcome outcome = RevealOutcome::kTree;
  // Canonical. kOrderFree: one order_free node; kInconsistent: empty.
  SummationTree tree;
  int64_t probes = 0;
  // kInconsistent: the pair whose answer, in units, fits no tree with those before it.
  int64_t first = -1;
  int64_t second = -1;
  double answer = 0;
};

// n >= 1. Two terms are always a node, exact or not.
RevealedSum RevealTree(int64_t n, const SumProbe& probe);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_REVEAL_H_
