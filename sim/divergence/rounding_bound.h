// How far two summation orders of the same products can lie apart. A difference beyond it has
// another cause (a wrong kernel, other inputs), and a report must say so instead of blaming the
// batch.
#ifndef BATCHVAR_SIM_DIVERGENCE_ROUNDING_BOUND_H_
#define BATCHVAR_SIM_DIVERGENCE_ROUNDING_BOUND_H_

#include <cstdint>

#include "sim/numerics/dtype.h"

namespace batchvar {

// The largest possible |a - b| of two results of one dot product of `k` terms, under any two orders
// of any arithmetic of order.h with fp32 partial sums, before or after rounding to `output`.
// `sum_of_magnitudes` is the sum of |x_k w_k|, `result_magnitude` the larger of |a| and |b|.
//
// Derivation, per order: a fused sum of L products cuts off at most (L + 1) 2^-F of twice its
// largest term and then 2^-23 of its value, an fp32 addition rounds by 2^-24; no term and no
// running sum exceeds the sum of magnitudes by more than these errors. With L = 8, F = 24 (the
// coarsest) that is below 2.5 2^-24 a term; 3 leaves room for the growth of running sums.
// The final rounding adds half a unit in the last place of each result.
double ReorderingBound(int64_t k, double sum_of_magnitudes, double result_magnitude, DType output);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_ROUNDING_BOUND_H_
