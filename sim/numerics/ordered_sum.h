// How the partial sums of an Order's pieces become one number: the list of additions that
// Combine names, in fp32, nothing else. Both executors call these, so there is one definition.
#ifndef BATCHVAR_SIM_NUMERICS_ORDERED_SUM_H_
#define BATCHVAR_SIM_NUMERICS_ORDERED_SUM_H_

#include <cstdint>

#include "sim/numerics/exact_sum.h"
#include "sim/numerics/float_bits.h"
#include "sim/numerics/host_device.h"
#include "sim/numerics/order.h"

namespace batchvar {

// ((p0 + p1) + p2) + ... ; stride in floats. count >= 1.
BV_HOST_DEVICE constexpr float SumSerial(const float* partials, int64_t stride, int64_t count) {
  float sum = partials[0];
  for (int64_t i = 1; i < count; ++i) sum += partials[i * stride];
  return CanonicalNan(sum);
}

// The running sum is stored as `dtype` after every piece, so it is rounded each time; a piece's
// own sum comes in fp32.
BV_HOST_DEVICE constexpr float SumSerialRounded(const float* partials, int64_t stride,
                                                int64_t count, DType dtype) {
  float sum = RoundTo(partials[0], dtype);
  for (int64_t i = 1; i < count; ++i) sum = RoundTo(sum + partials[i * stride], dtype);
  return sum;
}

// Neighbours first: (p0 + p1) + (p2 + p3), ...; an odd one out waits for the next level.
BV_HOST_DEVICE constexpr float SumPairwise(const float* partials, int64_t stride, int64_t count) {
  if (count == 1) return CanonicalNan(partials[0]);
  int64_t left = 1;  // the largest power of two below count
  while (left * 2 < count) left *= 2;
  return CanonicalNan(SumPairwise(partials, stride, left) +
                      SumPairwise(partials + left * stride, stride, count - left));
}

// Lanes meet in an XOR butterfly, the farthest partner first; every lane ends with the same bits.
// `lanes` is a power of two; overwrites values[0, lanes).
BV_HOST_DEVICE constexpr float SumButterfly(float* values, int32_t lanes) {
  for (int32_t distance = lanes / 2; distance > 0; distance /= 2) {
    for (int32_t i = 0; i < distance; ++i) values[i] += values[i + distance];
  }
  return CanonicalNan(values[0]);
}

// The sums of an order's pieces, in the order of its list, as one number before the final rounding
// to order.output. For GEMMs and all-reduces; attention merges states (ordered_attention.h).
BV_HOST_DEVICE constexpr float CombinePartials(Combine combine, DType output, const float* partials,
                                               int64_t stride, int64_t count) {
  switch (combine) {
    case Combine::kSerial16bit: return SumSerialRounded(partials, stride, count, output);
    case Combine::kPairwise: return SumPairwise(partials, stride, count);
    case Combine::kExactSum: return SumExactly(partials, stride, count, output);
    case Combine::kNone:
    case Combine::kSerialFp32:
    case Combine::kTurnstile:  // the last piece adds the workspace: addition commutes
    case Combine::kButterfly:  // one piece, its lanes have met already
    case Combine::kLse:
    case Combine::kChained: break;
  }
  return SumSerial(partials, stride, count);
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_ORDERED_SUM_H_
