// The exact sum of fp32 numbers, rounded once: what an all-reduce that adds inside a switch is
// taken to give. Independent of the order of its terms by construction.
#ifndef BATCHVAR_SIM_NUMERICS_EXACT_SUM_H_
#define BATCHVAR_SIM_NUMERICS_EXACT_SUM_H_

#include <bit>
#include <cstdint>

#include "sim/numerics/float_bits.h"
#include "sim/numerics/host_device.h"

namespace batchvar {

// A fixed-point number wide enough for every fp32 number and 2^30 additions: limb i counts
// 2^(32 i - 149). Limbs are signed and hold 32 bits each once Carry() has run.
struct WideAccumulator {
  static constexpr int32_t kLimbs = 10;
  int64_t limbs[kLimbs] = {};

  // x is finite.
  BV_HOST_DEVICE constexpr void Add(float x) {
    const uint32_t bits = BitsOf(x);
    const int32_t field = static_cast<int32_t>((bits >> 23) & 0xFF);
    const uint64_t significand = (bits & 0x7FFFFF) | (field == 0 ? 0 : 0x800000);
    const int32_t place = field == 0 ? 0 : field - 1;
    const uint64_t low = significand << (place % 32);
    const int64_t sign = (bits & kFp32Sign) != 0 ? -1 : 1;
    limbs[place / 32] += sign * static_cast<int64_t>(low & 0xFFFFFFFF);
    limbs[place / 32 + 1] += sign * static_cast<int64_t>(low >> 32);
  }

  // Every limb but the highest into [0, 2^32).
  BV_HOST_DEVICE constexpr void Carry() {
    for (int32_t i = 0; i + 1 < kLimbs; ++i) {
      limbs[i + 1] += limbs[i] >> 32;
      limbs[i] &= 0xFFFFFFFF;
    }
  }

  // The value in fp32, rounded to odd: the last bit is set when anything was cut off. Rounding
  // that to a type of at most 22 significant bits rounds the exact value correctly; `inexact`
  // and `next` allow the same for fp32 itself.
  BV_HOST_DEVICE constexpr float Rounded(DType output) {
    Carry();
    const bool negative = limbs[kLimbs - 1] < 0;
    if (negative) {
      for (int64_t& limb : limbs) limb = -limb;
      Carry();
    }
    int32_t top = kLimbs - 1;
    while (top > 0 && limbs[top] == 0) --top;
    if (limbs[top] == 0) return 0.0f;
    const int32_t highest_bit = 32 * top + 63 - std::countl_zero(static_cast<uint64_t>(limbs[top]));
    // Keep one bit more than fp32 has, and everything below it as a sticky bit.
    const int32_t lowest = highest_bit > 24 ? highest_bit - 24 : 0;
    uint64_t kept = 0;
    for (int32_t bit = highest_bit; bit >= lowest; --bit) kept = kept << 1 | Bit(bit);
    bool sticky = false;
    for (int32_t bit = 0; bit < lowest; ++bit) sticky = sticky || Bit(bit) != 0;
    return Pack(negative, kept, lowest, sticky, output);
  }

 private:
  BV_HOST_DEVICE constexpr uint64_t Bit(int32_t bit) const {
    return static_cast<uint64_t>(limbs[bit / 32]) >> (bit % 32) & 1;
  }

  BV_HOST_DEVICE static constexpr float Pack(bool negative, uint64_t kept, int32_t lowest,
                                             bool sticky, DType output) {
    const uint32_t sign = negative ? kFp32Sign : 0;
    // kept * 2^(lowest - 149): 25 bits if lowest > 0, else up to 25 and nothing was cut off.
    bool half = false;
    int32_t place = lowest;
    if (kept >> 24 != 0) {
      half = (kept & 1) != 0;
      kept >>= 1;
      ++place;
    }
    uint64_t bits = kept;  // subnormal or place 0: the field follows from the leading one
    if (kept >> 23 != 0) bits = (static_cast<uint64_t>(place) << 23) + kept;
    if (output == DType::kFp32) {
      if (half && (sticky || (bits & 1) != 0)) ++bits;
    } else if (half || sticky) {
      bits |= 1;
    }
    if (bits >= kFp32Infinity) bits = kFp32Infinity;
    return RoundTo(FloatOf(sign | static_cast<uint32_t>(bits)), output);
  }
};

// The exact sum of `count` fp32 numbers at a stride, rounded once to `output` (nearest, ties to
// even). NaN and infinities as in any order of additions that does not overflow on the way.
BV_HOST_DEVICE constexpr float SumExactly(const float* terms, int64_t stride, int64_t count,
                                          DType output) {
  WideAccumulator sum;
  float special = 0.0f;
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    const float x = terms[i * stride];
    if ((BitsOf(x) & kFp32Infinity) == kFp32Infinity) {
      special += x;
      finite = false;
    } else {
      sum.Add(x);
    }
  }
  return finite ? sum.Rounded(output) : CanonicalNan(special);
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_EXACT_SUM_H_
