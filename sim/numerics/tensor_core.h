// What one tensor-core instruction does to an accumulator, bit for bit: the fused dot-product-add
//
//   d = c + sum over k < fused of a[k] * b[k]
//
//   1. Products are exact. A subnormal operand keeps the lowest exponent, nothing is renormalised.
//   2. All terms, c among them, are aligned to the largest exponent, but not below
//      `floor_exponent`, and truncated toward zero to a multiple of 2^(largest - fraction_bits).
//   3. They are added exactly, so their order inside one call does not matter.
//   4. The sum is truncated toward zero to fp32 (subnormals kept), or to `output_fraction_bits`.
//      Overflow is infinity, zero is +0, any NaN is 0x7FFFFFFF.
//
// No input or output is flushed to zero. Sources: MMA-Sim (arXiv 2511.10909), Khattak and Mikaitis
// (arXiv 2512.07004) and the outputs that they measured on V100, A100, A2, L40S, Ada, H100, H200
// and B200. This scalar form is the reference for every faster one; integers only.
#ifndef BATCHVAR_SIM_NUMERICS_TENSOR_CORE_H_
#define BATCHVAR_SIM_NUMERICS_TENSOR_CORE_H_

#include <bit>
#include <cstdint>

#include "sim/numerics/dtype.h"
#include "sim/numerics/float_bits.h"
#include "sim/numerics/host_device.h"
#include "sim/numerics/order.h"

namespace batchvar {

struct MmaModel {
  int32_t fused = 16;          // products of one sum (L)
  int32_t fraction_bits = 25;  // below the largest exponent (F)
  int32_t floor_exponent = -133;
  int32_t output_fraction_bits = 23;  // 13 where the unit keeps fewer than fp32 has
  friend bool operator==(const MmaModel&, const MmaModel&) = default;
};

// 16-bit operands. sm_75 is m16n8k8; Ampere's m16n8k16 is two sums, k 0..7 and then 8..15.
inline constexpr MmaModel kMmaModelSm70{4, 23, -131, 23};
inline constexpr MmaModel kMmaModelSm75{8, 24, -132, 23};
inline constexpr MmaModel kMmaModelSm80{8, 24, -132, 23};   // sm_80, 86, 89
inline constexpr MmaModel kMmaModelSm90{16, 25, -133, 23};  // mma.sync and wgmma; sm_100, sm_120
// fp8 e4m3 operands.
inline constexpr MmaModel kFp8ModelSm89{16, 13, -132, 13};
inline constexpr MmaModel kFp8ModelSm90{32, 13, -133, 13};   // wgmma
inline constexpr MmaModel kFp8ModelSm100{32, 25, -133, 23};  // tcgen05; taken for sm_120 as well

// The model of a device's instruction for operands of `dtype` (bf16, fp16 or fp8 e4m3).
// `compute_capability` is 10 * major + minor, 70 or more (fp8: 89 or more).
BV_HOST_DEVICE constexpr MmaModel MmaModelFor(int32_t compute_capability, DType dtype) {
  if (dtype == DType::kFp8E4m3) {
    if (compute_capability >= 100) return kFp8ModelSm100;
    return compute_capability >= 90 ? kFp8ModelSm90 : kFp8ModelSm89;
  }
  if (compute_capability >= 90) return kMmaModelSm90;
  if (compute_capability >= 80) return kMmaModelSm80;
  return compute_capability >= 75 ? kMmaModelSm75 : kMmaModelSm70;
}

// The model of an order's arithmetic for 16-bit operands; only for the kMma kinds. A narrower
// instruction (instr_k) fuses fewer products with the same alignment.
BV_HOST_DEVICE constexpr MmaModel MmaModelOf(Arithmetic arithmetic, int32_t instr_k) {
  MmaModel model = arithmetic == Arithmetic::kMmaSm80 ? kMmaModelSm80 : kMmaModelSm90;
  if (instr_k > 0 && instr_k < model.fused) model.fused = instr_k;
  return model;
}

BV_HOST_DEVICE constexpr bool IsMma(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::kMmaSm80 || arithmetic == Arithmetic::kMmaSm90 ||
         arithmetic == Arithmetic::kMmaSm100;
}

// A number taken apart: magnitude = significand * 2^(exponent - fraction bits of its type).
struct Unpacked {
  enum Kind : uint8_t { kFinite, kInfinity, kNan };
  int32_t significand = 0;
  int32_t exponent = 0;
  bool negative = false;
  Kind kind = kFinite;
};

BV_HOST_DEVICE constexpr Unpacked UnpackBits(uint32_t bits, int32_t exponent_bits,
                                             int32_t fraction_bits) {
  const int32_t field_max = (1 << exponent_bits) - 1;
  const int32_t field = static_cast<int32_t>(bits >> fraction_bits) & field_max;
  const int32_t fraction = static_cast<int32_t>(bits & ((1u << fraction_bits) - 1));
  const int32_t bias = field_max >> 1;
  Unpacked u;
  u.negative = ((bits >> (exponent_bits + fraction_bits)) & 1) != 0;
  u.significand = field == 0 ? fraction : fraction | (1 << fraction_bits);
  u.exponent = (field == 0 ? 1 : field) - bias;
  if (field == field_max) u.kind = fraction != 0 ? Unpacked::kNan : Unpacked::kInfinity;
  return u;
}

constexpr int32_t kFp32FractionBits = 23;

BV_HOST_DEVICE constexpr int32_t OperandFractionBits(DType dtype) {
  if (dtype == DType::kBf16) return 7;
  return dtype == DType::kFp16 ? 10 : 3;
}

// An operand: bf16 and fp16 take 16 bits of `bits`, fp8 e4m3 the low 8.
BV_HOST_DEVICE constexpr Unpacked UnpackOperand(uint16_t bits, DType dtype) {
  if (dtype == DType::kBf16) return UnpackBits(bits, 8, 7);
  if (dtype == DType::kFp16) return UnpackBits(bits, 5, 10);
  Unpacked u = UnpackBits(bits, 4, 3);
  // e4m3 has no infinity: its highest exponent is a number, but for one NaN.
  u.kind = (bits & 0x7F) == 0x7F ? Unpacked::kNan : Unpacked::kFinite;
  return u;
}

// sum * 2^(exponent - fraction_bits), truncated toward zero as step 4 says.
BV_HOST_DEVICE constexpr uint32_t PackTruncated(int64_t sum, int32_t exponent,
                                                const MmaModel& model) {
  if (sum == 0) return 0;
  const uint32_t sign = sum < 0 ? kFp32Sign : 0;
  const uint64_t magnitude = static_cast<uint64_t>(sum < 0 ? -sum : sum);
  const int32_t top = 63 - std::countl_zero(magnitude);
  const int32_t value_exponent = top + exponent - model.fraction_bits;
  if (value_exponent > 127) return sign | kFp32Infinity;
  // The last place that is kept: 23 below the leading one, or 2^-149 among subnormals.
  const int32_t lowest = (value_exponent < -126 ? -126 : value_exponent) - kFp32FractionBits;
  const int32_t shift = lowest - (exponent - model.fraction_bits);
  const uint64_t kept = shift >= 0 ? (shift > 63 ? 0 : magnitude >> shift) : magnitude << -shift;
  const uint32_t field = value_exponent < -126 ? 0 : static_cast<uint32_t>(value_exponent + 126);
  // A normal number's leading one adds 1 to the exponent field.
  const uint32_t bits = (field << 23) + static_cast<uint32_t>(kept);
  return sign | (bits & ~((1u << (kFp32FractionBits - model.output_fraction_bits)) - 1));
}

// One fused dot-product-add. a and b hold `model.fused` operands at the given strides (in
// elements of `Word`, uint16_t or, for fp8, uint8_t); c and the result are fp32 bits.
template <typename Word>
BV_HOST_DEVICE constexpr uint32_t FusedDotAdd(const MmaModel& model, DType dtype, const Word* a,
                                              int64_t a_stride, const Word* b, int64_t b_stride,
                                              uint32_t c) {
  constexpr int32_t kMaxFused = 32;
  const Unpacked c_term = UnpackBits(c, 8, kFp32FractionBits);
  bool nan = c_term.kind == Unpacked::kNan;
  bool positive_infinity = c_term.kind == Unpacked::kInfinity && !c_term.negative;
  bool negative_infinity = c_term.kind == Unpacked::kInfinity && c_term.negative;
  int32_t largest = model.floor_exponent;
  if (c_term.significand != 0 && c_term.exponent > largest) largest = c_term.exponent;

  int32_t product[kMaxFused] = {};
  int32_t exponent[kMaxFused] = {};
  for (int32_t k = 0; k < model.fused; ++k) {
    const Unpacked x = UnpackOperand(a[k * a_stride], dtype);
    const Unpacked y = UnpackOperand(b[k * b_stride], dtype);
    const bool negative = x.negative != y.negative;
    if (x.kind != Unpacked::kFinite || y.kind != Unpacked::kFinite) {
      const bool zero = (x.kind == Unpacked::kFinite && x.significand == 0) ||
                        (y.kind == Unpacked::kFinite && y.significand == 0);
      nan = nan || zero || x.kind == Unpacked::kNan || y.kind == Unpacked::kNan;
      (negative ? negative_infinity : positive_infinity) = true;
      continue;
    }
    product[k] = negative ? -(x.significand * y.significand) : x.significand * y.significand;
    exponent[k] = x.exponent + y.exponent;
    if (product[k] != 0 && exponent[k] > largest) largest = exponent[k];
  }
  if (nan || (positive_infinity && negative_infinity)) return kFp32Nan;
  if (positive_infinity) return kFp32Infinity;
  if (negative_infinity) return kFp32Sign | kFp32Infinity;

  // A term's magnitude in units of 2^(largest - fraction_bits); what lies below is cut off.
  const auto aligned = [&](int64_t significand, int32_t fraction_bits, int32_t term_exponent) {
    const int32_t up = model.fraction_bits - fraction_bits - (largest - term_exponent);
    if (up >= 0) return significand << up;
    return up < -62 ? int64_t{0} : significand >> -up;
  };
  int64_t sum = aligned(c_term.significand, kFp32FractionBits, c_term.exponent);
  if (c_term.negative) sum = -sum;
  const int32_t product_fraction_bits = 2 * OperandFractionBits(dtype);
  for (int32_t k = 0; k < model.fused; ++k) {
    if (product[k] == 0) continue;
    const int64_t magnitude = product[k] < 0 ? -int64_t{product[k]} : product[k];
    const int64_t term = aligned(magnitude, product_fraction_bits, exponent[k]);
    sum += product[k] < 0 ? -term : term;
  }
  return PackTruncated(sum, largest, model);
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_TENSOR_CORE_H_
