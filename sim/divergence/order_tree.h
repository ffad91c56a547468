// The summation tree that an Order means: what revealing an executor must give. Written from the
// words of order.h, apart from the code that adds, so that the two check each other.
//
// `terms` are the places that have a number, ascending: positions of K, of KV or of a row; all
// others hold zero, which adds nothing. Leaf i of the tree is terms[i]. Trees are canonical.
#ifndef BATCHVAR_SIM_DIVERGENCE_ORDER_TREE_H_
#define BATCHVAR_SIM_DIVERGENCE_ORDER_TREE_H_

#include <cstdint>
#include <vector>

#include "sim/divergence/summation_tree.h"
#include "sim/numerics/order.h"

namespace batchvar {

// One output element of a GEMM (OrderedDot).
SummationTree TreeOfDot(const Order& order, const std::vector<int64_t>& terms);

// One output element of one query row: the sum over positions of p * v, each position's weight and
// rescaling taken as part of its term (OrderedAttention).
SummationTree TreeOfAttention(const Order& order, const std::vector<int64_t>& terms);

// The sum over a row of `width` elements that are stored as `dtype` (SumRow).
SummationTree TreeOfRow(const Order& order, int64_t width, DType dtype,
                        const std::vector<int64_t>& terms);

// One element of an all-reduce: leaf r is rank r (SumOfRanks).
SummationTree TreeOfRanks(const Order& order);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_ORDER_TREE_H_
