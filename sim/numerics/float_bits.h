// Bit patterns of floating-point numbers: exact widening, round-to-nearest-even narrowing, and the
// distance of two fp32 numbers in ULPs. Integer operations only, so host, device and WebAssembly
// agree and no flush-to-zero mode can touch a subnormal.
//
// NaN has one form of each type here: fp32 0x7FFFFFFF (what tensor cores and CUDA arithmetic give),
// bf16 and fp16 0x7FFF. x86 makes another one, so whatever computes with floats passes its result
// through CanonicalNan() before it is stored.
#ifndef BATCHVAR_SIM_NUMERICS_FLOAT_BITS_H_
#define BATCHVAR_SIM_NUMERICS_FLOAT_BITS_H_

#include <bit>
#include <cstdint>

#include "sim/numerics/dtype.h"
#include "sim/numerics/host_device.h"

namespace batchvar {

inline constexpr uint32_t kFp32Nan = 0x7FFFFFFF;
inline constexpr uint16_t k16BitNan = 0x7FFF;  // bf16 and fp16
inline constexpr uint32_t kFp32Sign = 0x80000000;
inline constexpr uint32_t kFp32Infinity = 0x7F800000;

BV_HOST_DEVICE constexpr uint32_t BitsOf(float x) { return std::bit_cast<uint32_t>(x); }
BV_HOST_DEVICE constexpr float FloatOf(uint32_t bits) { return std::bit_cast<float>(bits); }

BV_HOST_DEVICE constexpr bool IsNan(uint32_t bits) { return (bits & ~kFp32Sign) > kFp32Infinity; }
BV_HOST_DEVICE constexpr float CanonicalNan(float x) {
  return IsNan(BitsOf(x)) ? FloatOf(kFp32Nan) : x;
}

BV_HOST_DEVICE constexpr float FloatOfBf16(uint16_t bits) {
  return FloatOf(static_cast<uint32_t>(bits) << 16);
}

BV_HOST_DEVICE constexpr uint16_t Bf16Of(float x) {
  const uint32_t bits = BitsOf(x);
  if (IsNan(bits)) return k16BitNan;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

BV_HOST_DEVICE constexpr float FloatOfFp16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  uint32_t fraction = bits & 0x3FF;
  if (exponent == 0x1F) {
    return FloatOf(fraction != 0 ? kFp32Nan : sign | kFp32Infinity);
  }
  if (exponent != 0) return FloatOf(sign | ((exponent + 112) << 23) | (fraction << 13));
  if (fraction == 0) return FloatOf(sign);
  uint32_t fp32_exponent = 113;  // 2^-14, then one less for each place that is missing
  while ((fraction & 0x400) == 0) {
    fraction <<= 1;
    --fp32_exponent;
  }
  return FloatOf(sign | (fp32_exponent << 23) | ((fraction & 0x3FF) << 13));
}

BV_HOST_DEVICE constexpr uint16_t Fp16Of(float x) {
  const uint32_t bits = BitsOf(x);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & ~kFp32Sign;
  if (magnitude > kFp32Infinity) return k16BitNan;
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);  // 2^16 and more
  if (magnitude >= 0x38800000) {  // normal in fp16; a carry out of 65504 gives infinity by itself
    const uint32_t rebased = magnitude - (112u << 23);
    return static_cast<uint16_t>(sign | ((rebased + 0xFFF + ((rebased >> 13) & 1)) >> 13));
  }
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return sign;  // below half of the smallest subnormal, 2^-25
  const uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
  const uint32_t shift = 126 - exponent;  // 14 (2^-15) to 24 (2^-25)
  const uint32_t kept = significand >> shift;
  const uint32_t rest = significand & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  const bool up = rest > half || (rest == half && (kept & 1) != 0);
  return static_cast<uint16_t>(sign | (kept + (up ? 1 : 0)));
}

// e4m3 as in OCP FP8 1.0: bias 7, no infinity, 0x7F and 0xFF are NaN.
BV_HOST_DEVICE constexpr float FloatOfFp8E4m3(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  const uint32_t exponent = (bits >> 3) & 0xF;
  const uint32_t fraction = bits & 0x7;
  if ((bits & 0x7F) == 0x7F) return FloatOf(kFp32Nan);
  if (exponent != 0) return FloatOf(sign | ((exponent + 120) << 23) | (fraction << 20));
  const float magnitude = static_cast<float>(fraction) * 0.001953125f;  // 2^-9, exact
  return FloatOf(sign | BitsOf(magnitude));
}

// A 16-bit word read as `dtype` (kBf16 or kFp16), exactly.
BV_HOST_DEVICE constexpr float Widen(uint16_t bits, DType dtype) {
  return dtype == DType::kFp16 ? FloatOfFp16(bits) : FloatOfBf16(bits);
}
// The nearest `dtype` (kBf16 or kFp16), ties to even, as a word.
BV_HOST_DEVICE constexpr uint16_t Narrow(float x, DType dtype) {
  return dtype == DType::kFp16 ? Fp16Of(x) : Bf16Of(x);
}
// x rounded to `dtype` and widened again; fp32 only has its NaN made canonical.
BV_HOST_DEVICE constexpr float RoundTo(float x, DType dtype) {
  return dtype == DType::kFp32 ? CanonicalNan(x) : Widen(Narrow(x, dtype), dtype);
}

// How many fp32 numbers lie between a and b, counting one end: 0 for equal bits and for +0 and -0.
// NaN is as far from everything else as can be (2^32 - 1).
BV_HOST_DEVICE constexpr uint32_t UlpDistance(uint32_t a, uint32_t b) {
  if (a == b) return 0;
  if (IsNan(a) || IsNan(b)) return IsNan(a) && IsNan(b) ? 0 : 0xFFFFFFFF;
  // Onto one line on which neighbours differ by 1 and both zeros meet at 0.
  const int64_t place_a = (a & kFp32Sign) != 0 ? -static_cast<int64_t>(a & ~kFp32Sign) : a;
  const int64_t place_b = (b & kFp32Sign) != 0 ? -static_cast<int64_t>(b & ~kFp32Sign) : b;
  return static_cast<uint32_t>(place_a > place_b ? place_a - place_b : place_b - place_a);
}

// The same for two 16-bit words of one type (bf16 or fp16: both order their bits by magnitude).
BV_HOST_DEVICE constexpr uint32_t UlpDistance16(uint16_t a, uint16_t b) {
  const int32_t place_a = (a & 0x8000) != 0 ? -static_cast<int32_t>(a & 0x7FFF) : a;
  const int32_t place_b = (b & 0x8000) != 0 ? -static_cast<int32_t>(b & 0x7FFF) : b;
  return static_cast<uint32_t>(place_a > place_b ? place_a - place_b : place_b - place_a);
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_FLOAT_BITS_H_
