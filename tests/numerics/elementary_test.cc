// Exp, InverseSqrt and Silu: accuracy, special values, and digests of their bits, which must be the
// same for every compiler, optimisation level and instruction set.
#include "sim/numerics/elementary.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "sim/base/digest.h"

namespace batchvar {
namespace {

// Distance of y from the exact value in units of y's own last place.
double UlpError(float y, double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(double{y} - exact) / ulp;
}

TEST(Elementary, ExpSampleIsWithinOneUlpAndKeepsItsDigest) {
  Sha256 sha;
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 40961) {
    const float x = FloatOf(static_cast<uint32_t>(bits));
    const float y = Exp(x);
    sha.UpdateI64(BitsOf(y));
    if (std::isnan(x)) {
      EXPECT_EQ(BitsOf(y), kFp32Nan);
    } else if (!std::isinf(y)) {
      worst = std::max(worst, UlpError(y, std::exp(double{x})));
    } else {
      EXPECT_GT(x, 88.722f);
    }
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_GT(worst, 0.5);  // a perfect result would mean that the measure is broken
  EXPECT_EQ(sha.FinishDigest().Hex(), "6bc74651ea526e0490c56476a3b2c97c");
}

TEST(Elementary, ExpSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-0.0f), 1.0f);
  EXPECT_EQ(Exp(inf), inf);
  EXPECT_EQ(BitsOf(Exp(-inf)), 0u);
  EXPECT_EQ(BitsOf(Exp(-NAN)), kFp32Nan);
  EXPECT_EQ(Exp(88.73f), inf);
  EXPECT_LT(Exp(88.72f), inf);
  EXPECT_EQ(BitsOf(Exp(-103.98f)), 0u);
  EXPECT_EQ(BitsOf(Exp(-103.9f)), 1u);
}

TEST(Elementary, InverseSqrtIsTwoRoundings) {
  EXPECT_EQ(InverseSqrt(4.0f), 0.5f);
  EXPECT_EQ(BitsOf(InverseSqrt(-1.0f)), kFp32Nan);
  for (uint32_t bits = 0x00800000; bits < 0x7F000000; bits += 7654321) {
    const float x = FloatOf(bits);
    EXPECT_LT(UlpError(InverseSqrt(x), 1.0 / std::sqrt(double{x})), 1.5);
  }
}

TEST(Elementary, SiluApproachesItsLimits) {
  EXPECT_EQ(Silu(0.0f), 0.0f);
  EXPECT_EQ(Silu(100.0f), 100.0f);
  EXPECT_EQ(BitsOf(Silu(-std::numeric_limits<float>::infinity())), kFp32Nan);  // -inf / inf
  EXPECT_NEAR(Silu(1.0f), 0.7310585786, 1e-7);
  EXPECT_NEAR(Silu(-2.0f), -0.2384058440, 1e-7);
}

// Contracted into a fused multiply-add, a * b - a * b rounded is not zero: the build must not.
TEST(Elementary, ProductsAreNotContracted) {
  volatile float a = 1.0f + 0x1p-23f, b = 1.0f + 0x1p-22f;
  const float product = a * b;
  EXPECT_EQ(a * b - product, 0.0f);
  EXPECT_NE(FusedMultiplyAdd(a, b, -product), 0.0f);
}

TEST(Elementary, OrderedMaxKnowsNanAndZeros) {
  EXPECT_EQ(BitsOf(OrderedMax(NAN, 1.0f)), kFp32Nan);
  EXPECT_EQ(BitsOf(OrderedMax(1.0f, NAN)), kFp32Nan);
  EXPECT_EQ(BitsOf(OrderedMax(-0.0f, 0.0f)), 0u);
  EXPECT_EQ(BitsOf(OrderedMax(0.0f, -0.0f)), 0u);
  EXPECT_EQ(BitsOf(OrderedMax(-0.0f, -0.0f)), kFp32Sign);
  EXPECT_EQ(OrderedMax(-3.0f, 2.0f), 2.0f);
}

}  // namespace
}  // namespace batchvar
