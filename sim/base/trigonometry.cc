#include "sim/base/trigonometry.h"

#include <cstdint>

#include "sim/base/check.h"

namespace batchvar {
namespace {

// pi / 2 in three parts. The first two have 32 significant bits or fewer, so their products with a
// quotient below 2^21 are exact.
constexpr double kHalfPiHigh = 0x1.921fb544p+0;
constexpr double kHalfPiMiddle = 0x1.0b4611a6p-34;
constexpr double kHalfPiLow = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kLargest = 0x1p20;

// Taylor's series on |r| <= pi / 4; the first terms left out are below 2^-58.
double SinSeries(double r) {
  const double z = r * r;
  double sum = 1.0 / 355687428096000.0;  // 17!
  sum = sum * z - 1.0 / 1307674368000.0;
  sum = sum * z + 1.0 / 6227020800.0;
  sum = sum * z - 1.0 / 39916800.0;
  sum = sum * z + 1.0 / 362880.0;
  sum = sum * z - 1.0 / 5040.0;
  sum = sum * z + 1.0 / 120.0;
  sum = sum * z - 1.0 / 6.0;
  return r + r * z * sum;
}

double CosSeries(double r) {
  const double z = r * r;
  double sum = 1.0 / 20922789888000.0;  // 16!
  sum = sum * z - 1.0 / 87178291200.0;
  sum = sum * z + 1.0 / 479001600.0;
  sum = sum * z - 1.0 / 3628800.0;
  sum = sum * z + 1.0 / 40320.0;
  sum = sum * z - 1.0 / 720.0;
  sum = sum * z + 1.0 / 24.0;
  sum = sum * z - 0.5;
  return 1.0 + z * sum;
}

}  // namespace

SinCos PortableSinCos(double x) {
  BV_CHECK(x >= -kLargest && x <= kLargest);
  const auto quotient = static_cast<int64_t>(x * kTwoOverPi + (x < 0 ? -0.5 : 0.5));
  const auto n = static_cast<double>(quotient);
  const double r = ((x - n * kHalfPiHigh) - n * kHalfPiMiddle) - n * kHalfPiLow;
  const double s = SinSeries(r), c = CosSeries(r);
  switch (quotient & 3) {  // of a negative number too: two's complement
    case 0: return {s, c};
    case 1: return {c, -s};
    case 2: return {-s, -c};
    default: return {-c, s};
  }
}

}  // namespace batchvar
