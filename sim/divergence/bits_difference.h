// How two executions of one op differ: in fp32 before the op's final rounding, and in the 16-bit
// words that the next op reads. Used by `execute`, by the comparison of whole passes and by tests.
#ifndef BATCHVAR_SIM_DIVERGENCE_BITS_DIFFERENCE_H_
#define BATCHVAR_SIM_DIVERGENCE_BITS_DIFFERENCE_H_

#include <cstdint>
#include <span>

#include "sim/numerics/dtype.h"

namespace batchvar {

struct BitsDifference {
  int64_t outputs = 0;
  int64_t differ_fp32 = 0;   // before the final rounding
  int64_t differ_16bit = 0;  // after it; what later ops can see. Equal to differ_fp32 for fp32
  uint32_t max_ulp = 0;      // fp32 numbers between the two results
  uint32_t max_ulp_16bit = 0;
  int64_t first = -1;        // index of the first output whose fp32 bits differ
  int64_t first_16bit = -1;  // and of the first that differs after rounding
  double max_abs = 0.0;      // largest distance; 0 where either is NaN
  friend bool operator==(const BitsDifference&, const BitsDifference&) = default;
};

// a and b have equal sizes and hold results before their rounding to `output`. NaN equals NaN,
// and the two zeros differ in bits but by 0 ULP.
BitsDifference CompareBits(std::span<const float> a, std::span<const float> b, DType output);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_BITS_DIFFERENCE_H_
