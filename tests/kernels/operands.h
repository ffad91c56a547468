// Random 16-bit operands in families that press on different parts of tensor-core arithmetic. Used
// by the tests of the executors and of the scalar reference.
#ifndef BATCHVAR_TESTS_KERNELS_OPERANDS_H_
#define BATCHVAR_TESTS_KERNELS_OPERANDS_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/rng.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {

enum class Family {
  kGaussian,    // activations N(0, 1), weights 0.03 N(0, 1)
  kOutliers,    // one channel in 32 is 100 times as large
  kCancelling,  // neighbours of opposite sign and nearly the same size
  kSpread,      // exponents all over the format
  kSubnormal,   // around and below the smallest normal number
  kZeros,       // mostly zeros of both signs, whole rows of them
  kLarge,       // one sign, near one size: sums that overflow 32 bits
  kSpecials,    // Gaussian with a few infinities and NaNs
  kBits,        // any bit pattern
};

inline constexpr Family kAllFamilies[] = {
    Family::kGaussian, Family::kOutliers, Family::kCancelling, Family::kSpread, Family::kSubnormal,
    Family::kZeros,    Family::kLarge,    Family::kSpecials,   Family::kBits};

constexpr const char* FamilyName(Family family) {
  switch (family) {
    case Family::kGaussian: return "gaussian";
    case Family::kOutliers: return "outliers";
    case Family::kCancelling: return "cancelling";
    case Family::kSpread: return "spread";
    case Family::kSubnormal: return "subnormal";
    case Family::kZeros: return "zeros";
    case Family::kLarge: return "large";
    case Family::kSpecials: return "specials";
    case Family::kBits: return "bits";
  }
  return "?";
}

// One operand at position k of row `row`.
inline uint16_t RandomWord(Family family, DType dtype, double scale, int64_t row, int64_t k,
                           RandomStream* random) {
  const auto word = [&](double x) { return Narrow(static_cast<float>(x), dtype); };
  const uint16_t any = static_cast<uint16_t>(random->NextBelow(0x10000));
  const double normal = random->NextNormal();
  const uint16_t infinity = dtype == DType::kBf16 ? 0x7F80 : 0x7C00;
  switch (family) {
    case Family::kGaussian: return word(scale * normal);
    case Family::kOutliers: return word(scale * normal * (k % 32 == 5 ? 100 : 1));
    case Family::kCancelling: return word((k % 2 == 0 ? 1 : -1) * scale * (1 + 0.01 * normal));
    case Family::kSpread: return (any & 0x7FFF) >= infinity ? any & 0xBFFF : any;
    case Family::kSubnormal: return dtype == DType::kBf16 ? any & 0x81FF : any & 0x87FF;
    case Family::kZeros:
      if (row % 3 == 1 || (k / 16) % 3 == 1 || any % 4 != 0) return any & 0x8000;
      return word(scale * normal);
    case Family::kLarge: return word(1.99 - 0.01 * random->NextUniform());
    case Family::kSpecials:
      if (any % 97 == 0) return static_cast<uint16_t>(infinity | (any & 0x8000));
      if (any % 101 == 0) return static_cast<uint16_t>(infinity | 1);
      return word(scale * normal);
    case Family::kBits: return any;
  }
  return 0;
}

// [rows][k].
inline std::vector<uint16_t> RandomOperands(Family family, DType dtype, double scale, int64_t rows,
                                            int64_t k, RandomStream* random) {
  std::vector<uint16_t> words(rows * k);
  for (int64_t i = 0; i < rows * k; ++i) {
    words[i] = RandomWord(family, dtype, scale, i / k, i % k, random);
  }
  return words;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_KERNELS_OPERANDS_H_
