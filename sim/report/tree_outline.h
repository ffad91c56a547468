// A summation tree in a few lines that a person can read:
//
//   0..3                    one after another: ((0 + 1) + 2) + 3
//   (0..15)                 fused: one rounding for all of them
//   (0..15) to (48..63)     fused sums of 16 and the sum so far, one after another
//   a -> b                  b is added to the sum of all before it
//
// Other nodes are a heading with their children below it. Children that are the first one moved
// along are not repeated.
#ifndef BATCHVAR_SIM_REPORT_TREE_OUTLINE_H_
#define BATCHVAR_SIM_REPORT_TREE_OUTLINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/divergence/summation_tree.h"

namespace batchvar {

// `tree` is canonical and not empty; leaf i is shown as places[i]. Lines without line ends.
std::vector<std::string> TreeOutline(const SummationTree& tree, const std::vector<int64_t>& places);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_TREE_OUTLINE_H_
