#include "sim/divergence/rounding_bound.h"

namespace batchvar {
namespace {

constexpr double kErrorPerTerm = 3.0 * 0x1p-24;  // of the sum of magnitudes, per order

// Half a unit in the last place, relative to the number; and of the smallest fp16 numbers.
double HalfUlp(DType output) {
  switch (output) {
    case DType::kFp32: return 0.0;
    case DType::kBf16: return 0x1p-8;
    case DType::kFp16: return 0x1p-11;
    case DType::kFp8E4m3: break;
  }
  return 0x1p-4;
}

constexpr double kSmallestFp16 = 0x1p-24;

}  // namespace

double ReorderingBound(int64_t k, double sum_of_magnitudes, double result_magnitude, DType output) {
  const double sums = 2.0 * kErrorPerTerm * static_cast<double>(k) * sum_of_magnitudes;
  const double subnormal = output == DType::kFp16 ? kSmallestFp16 : 0.0;
  return sums + 2.0 * HalfUlp(output) * result_magnitude + subnormal;
}

}  // namespace batchvar
