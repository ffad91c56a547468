// Elementary functions of fp32 that give the same bits on every machine: made only of fp32
// operations that IEEE 754 rounds correctly (+ * / sqrt fma) and of integer operations. They need
// -ffp-contract=off and no fast-math on the host, -fmad=false on the device; then neither the
// compiler nor the C library nor a GPU's special-function unit can change a result. They are NOT
// the functions of PyTorch or of a serving engine: those use ex2.approx and rsqrt.approx.
#ifndef BATCHVAR_SIM_NUMERICS_ELEMENTARY_H_
#define BATCHVAR_SIM_NUMERICS_ELEMENTARY_H_

#include <cmath>
#include <cstdint>

#include "sim/numerics/float_bits.h"
#include "sim/numerics/host_device.h"

namespace batchvar {

// a * b + c, rounded once.
BV_HOST_DEVICE inline float FusedMultiplyAdd(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

BV_HOST_DEVICE inline float CorrectSqrt(float x) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(x);
#else
  return std::sqrt(x);
#endif
}

// The larger one; of two zeros +0. NaN if either is NaN: unlike fmaxf and maxps, which differ.
BV_HOST_DEVICE constexpr float OrderedMax(float a, float b) {
  if (IsNan(BitsOf(a)) || IsNan(BitsOf(b))) return FloatOf(kFp32Nan);
  if (a == b) return FloatOf(BitsOf(a) & BitsOf(b));  // of +0 and -0 the sign goes
  return a > b ? a : b;
}

namespace exp_constants {

constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLn2High = 0x1.62e400p-1f;    // 15 bits: n * kLn2High is exact for |n| < 2^9
constexpr float kLn2Low = 0x1.7f7d1cp-20f;    // ln 2 - kLn2High
constexpr float kRoundToInteger = 0x1.8p23f;  // adding it leaves no fraction bits
constexpr float kHighest = 89.0f;             // exp overflows above 88.72
constexpr float kLowest = -104.0f;            // and rounds to 0 below -103.97

}  // namespace exp_constants

// 2^n as bits, for n in [-126, 127].
BV_HOST_DEVICE constexpr float PowerOfTwo(int32_t n) {
  return FloatOf(static_cast<uint32_t>(n + 127) << 23);
}

// e^x: error below 1 ULP for every input, subnormal results included. +infinity above 88.72, +0
// below -103.97. No branches, so loops over it vectorise.
BV_HOST_DEVICE inline float Exp(float x) {
  using namespace exp_constants;
  // Clamping keeps n below in range; the scaling then overflows or underflows by itself.
  float t = x < kHighest ? x : kHighest;
  t = t > kLowest ? t : kLowest;
  // x = n ln 2 + r with |r| <= 0.35, n found by rounding to an integer.
  const float shifted = FusedMultiplyAdd(t, kLog2E, kRoundToInteger);
  const int32_t n = static_cast<int32_t>(BitsOf(shifted) - BitsOf(kRoundToInteger));
  const float whole = shifted - kRoundToInteger;
  float r = FusedMultiplyAdd(whole, -kLn2High, t);
  r = FusedMultiplyAdd(whole, -kLn2Low, r);
  // Taylor's series up to r^7 / 7!, inner terms first.
  float p = 0x1.a01a02p-13f;
  p = FusedMultiplyAdd(p, r, 0x1.6c16c2p-10f);
  p = FusedMultiplyAdd(p, r, 0x1.111112p-7f);
  p = FusedMultiplyAdd(p, r, 0x1.555556p-5f);
  p = FusedMultiplyAdd(p, r, 0x1.555556p-3f);
  p = FusedMultiplyAdd(p, r, 0.5f);
  p = FusedMultiplyAdd(p, r, 1.0f);
  p = FusedMultiplyAdd(p, r, 1.0f);
  // 2^n in two halves, each of which is a normal number; only the last product can round.
  const int32_t half = n >> 1;
  const float result = p * PowerOfTwo(half) * PowerOfTwo(n - half);
  return IsNan(BitsOf(x)) ? FloatOf(kFp32Nan) : result;
}

// 1 / sqrt(x) by two correctly rounded operations.
BV_HOST_DEVICE inline float InverseSqrt(float x) { return CanonicalNan(1.0f / CorrectSqrt(x)); }

// x / (1 + e^-x).
BV_HOST_DEVICE inline float Silu(float x) { return CanonicalNan(x / (1.0f + Exp(-x))); }

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_ELEMENTARY_H_
