#include "sim/divergence/bits_difference.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {

BitsDifference CompareBits(std::span<const float> a, std::span<const float> b, DType output) {
  BV_CHECK(a.size() == b.size());
  BitsDifference difference;
  difference.outputs = std::ssize(a);
  for (int64_t i = 0; i < difference.outputs; ++i) {
    const uint32_t x = BitsOf(CanonicalNan(a[i])), y = BitsOf(CanonicalNan(b[i]));
    if (x == y) continue;
    ++difference.differ_fp32;
    if (difference.first < 0) difference.first = i;
    difference.max_ulp = std::max(difference.max_ulp, UlpDistance(x, y));
    const double distance = std::fabs(double{a[i]} - double{b[i]});
    if (distance > difference.max_abs) difference.max_abs = distance;
    if (output == DType::kFp32) continue;
    const uint16_t narrow_x = Narrow(a[i], output), narrow_y = Narrow(b[i], output);
    if (narrow_x == narrow_y) continue;
    ++difference.differ_16bit;
    if (difference.first_16bit < 0) difference.first_16bit = i;
    difference.max_ulp_16bit =
        std::max(difference.max_ulp_16bit, UlpDistance16(narrow_x, narrow_y));
  }
  if (output == DType::kFp32) {
    difference.differ_16bit = difference.differ_fp32;
    difference.first_16bit = difference.first;
    difference.max_ulp_16bit = difference.max_ulp;
  }
  return difference;
}

}  // namespace batchvar
