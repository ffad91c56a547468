// The scalar definitions of sim/numerics as sums of a list of terms, so that their trees can be
// revealed and compared with those that their orders mean.
#ifndef BATCHVAR_SIM_DIVERGENCE_SCALAR_PROBE_H_
#define BATCHVAR_SIM_DIVERGENCE_SCALAR_PROBE_H_

#include <cstdint>
#include <string>

#include "sim/divergence/probe_terms.h"
#include "sim/numerics/order.h"

namespace batchvar {

// OrderedDot of the terms with ones, operands in `dtype` (bf16 or fp16).
TermSum DotOfTerms(const Order& order, DType dtype);

// SumRow over a row stored as `dtype`: what a sum of squares does with its squares. They have no
// sign, so it is the sum's own code that is asked, not the squaring.
TermSum RowOfTerms(const Order& order, int64_t width, DType dtype);

// SumOfRanks: term r is what rank r has.
TermSum RanksOfTerms(const Order& order);

// OrderedAttention for q = 0: every position has the score 0 and the weight 1, so that the terms
// are the values v, divided by the number of positions in the end. Where pieces are merged, they
// are divided before they meet: "" when that is exact for `count` terms, else a sentence that says
// which lengths would do.
std::string WhyAttentionHasNoProbe(const Order& order, int64_t count);
// Only where WhyAttentionHasNoProbe() has nothing to say.
TermSum AttentionOfTerms(const Order& order, DType dtype);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_SCALAR_PROBE_H_
