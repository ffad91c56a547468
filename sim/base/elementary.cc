#include "sim/base/elementary.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace batchvar {
namespace {

// log(2) in two parts. The high part has 33 bits, so its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fefp-1;
constexpr double kLn2Low = 0x1.473de6af278edp-34;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kHalfLog2Pi = 0.91893853320467274178;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kTwo54 = 0x1p54;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr int kMantissaBits = 52;
constexpr int kExponentBias = 1023;

// 2^exponent, for the exponents of normal numbers.
double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kExponentBias) << kMantissaBits);
}

// (e^r - 1 - r) / r^2 for |r| <= log(2) / 2: Taylor; the first term left out is below 2^-57.
double ExpTail(double r) {
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  return sum * r + 0.5;
}

// (log((1 + s) / (1 - s)) - 2s) / s for z = s^2 <= 0.0295: the series of 2 atanh(s); the first term
// left out is below 2^-60.
double LogTail(double z) {
  double sum = 2.0 / 23.0;
  sum = sum * z + 2.0 / 21.0;
  sum = sum * z + 2.0 / 19.0;
  sum = sum * z + 2.0 / 17.0;
  sum = sum * z + 2.0 / 15.0;
  sum = sum * z + 2.0 / 13.0;
  sum = sum * z + 2.0 / 11.0;
  sum = sum * z + 2.0 / 9.0;
  sum = sum * z + 2.0 / 7.0;
  sum = sum * z + 2.0 / 5.0;
  sum = sum * z + 2.0 / 3.0;
  return sum * z;
}

// Stirling's series, B_2k / (2k (2k - 1) z^(2k-1)) for k = 1 to 9; below 2^-56 left out at z >= 8.
double StirlingTail(double z) {
  const double w = 1.0 / (z * z);
  double sum = 43867.0 / 244188.0;
  sum = sum * w - 3617.0 / 122400.0;
  sum = sum * w + 1.0 / 156.0;
  sum = sum * w - 691.0 / 360360.0;
  sum = sum * w + 1.0 / 1188.0;
  sum = sum * w - 1.0 / 1680.0;
  sum = sum * w + 1.0 / 1260.0;
  sum = sum * w - 1.0 / 360.0;
  sum = sum * w + 1.0 / 12.0;
  return sum / z;
}

}  // namespace

double PortableExp(double x) {
  if (x != x) return kNaN;
  if (x > 709.79) return kInfinity;
  if (x < -745.14) return 0.0;
  // x = k log(2) + r with r = high - low; `lost` is what rounding r dropped.
  const int k = static_cast<int>(x * kLog2E + (x < 0 ? -0.5 : 0.5));
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double lost = (high - r) - low;
  const double value = 1.0 + (r + (lost + r * r * ExpTail(r)));
  // In two factors, because 2^k alone is not normal at either end.
  const int half = k / 2;
  return value * PowerOfTwo(half) * PowerOfTwo(k - half);
}

double PortableLog(double x) {
  if (x != x || x < 0) return kNaN;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return kInfinity;
  int k = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= kTwo54;
    k = -54;
  }
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)), so that log(m) never cancels against k log(2).
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  k += static_cast<int>(bits >> kMantissaBits) - (kExponentBias - 1);
  constexpr uint64_t kMantissaMask = (uint64_t{1} << kMantissaBits) - 1;
  double m = std::bit_cast<double>((bits & kMantissaMask) | static_cast<uint64_t>(kExponentBias - 1)
                                                                << kMantissaBits);
  if (m < kSqrtHalf) {
    m += m;
    --k;
  }
  // log(m) = f - (f^2/2 - s (f^2/2 + tail)) with s = f / (2 + f): the exact f carries the leading
  // bits and the rounded rest only corrects it.
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double half_square = 0.5 * f * f;
  const double correction = half_square - s * (half_square + LogTail(s * s));
  return k * kLn2High - ((correction - k * kLn2Low) - f);
}

double PortablePow(double x, double y) {
  if (y == 0) return 1.0;
  if (x != x || y != y || x < 0) return kNaN;
  if (x == 1) return 1.0;
  return PortableExp(y * PortableLog(x));
}

double PortableLogGamma(double x) {
  if (x != x || x < 0) return kNaN;
  if (x == 0 || x == kInfinity) return kInfinity;
  // Gamma(x) = Gamma(x + n) / (x (x + 1) ... (x + n - 1)). The product of up to 8 factors below 9
  // neither overflows nor, since x > 0, becomes 0.
  double product = 1.0;
  double z = x;
  while (z < 8.0) {
    product *= z;
    z += 1.0;
  }
  const double stirling = (z - 0.5) * PortableLog(z) - z + kHalfLog2Pi + StirlingTail(z);
  return product == 1.0 ? stirling : stirling - PortableLog(product);
}

double PortableFloor(double x) {
  const auto truncated = static_cast<double>(static_cast<int64_t>(x));
  return truncated > x ? truncated - 1.0 : truncated;
}

}  // namespace batchvar
