#include "sim/base/elementary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/base/digest.h"
#include "sim/base/rng.h"

namespace batchvar {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kPoints = 200000;

// |got - want| in units of the last place of `want`, which has more bits where long double has.
double UlpError(double got, long double want) {
  const double near = std::abs(static_cast<double>(want));
  const double ulp = std::nextafter(near, kInfinity) - near;
  return static_cast<double>(std::abs(got - want) / ulp);
}

// A double whose bits are uniform over the positive finite ones.
double AnyPositive(RandomStream* stream) {
  return std::bit_cast<double>(1 + stream->NextBelow(std::bit_cast<uint64_t>(kInfinity) - 1));
}

TEST(PortableExp, IsWithinOneUlpOverTheNormalRange) {
  RandomStream stream(1, "exp_test");
  double worst = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = -708.0 + (709.7 + 708.0) * stream.NextUniform();
    worst = std::max(worst, UlpError(PortableExp(x), std::exp(static_cast<long double>(x))));
    const double small = 2.0 * stream.NextUniform() - 1.0;
    worst =
        std::max(worst, UlpError(PortableExp(small), std::exp(static_cast<long double>(small))));
  }
  EXPECT_LT(worst, 1.0);
}

TEST(PortableExp, SpecialValuesAndEdges) {
  EXPECT_EQ(PortableExp(0.0), 1.0);
  EXPECT_EQ(PortableExp(-0.0), 1.0);
  EXPECT_EQ(PortableExp(kInfinity), kInfinity);
  EXPECT_EQ(PortableExp(-kInfinity), 0.0);
  EXPECT_TRUE(std::isnan(PortableExp(kNaN)));
  EXPECT_TRUE(std::isfinite(PortableExp(709.78)));
  EXPECT_EQ(PortableExp(709.785), kInfinity);
  EXPECT_EQ(PortableExp(-746.0), 0.0);
  EXPECT_EQ(PortableExp(-745.0), std::numeric_limits<double>::denorm_min());
  for (double x = -745.0; x < -708.0; x += 0.37) {
    EXPECT_LT(UlpError(PortableExp(x), std::exp(static_cast<long double>(x))), 2.0) << x;
  }
}

TEST(PortableLog, IsWithinOneUlpEverywhere) {
  RandomStream stream(2, "log_test");
  double worst = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double any = AnyPositive(&stream);
    worst = std::max(worst, UlpError(PortableLog(any), std::log(static_cast<long double>(any))));
    // Near 1 the result itself is small, and that is where a careless reduction fails.
    const double near_one = 1.0 + (stream.NextUniform() - 0.5) * std::exp2(-i % 40);
    if (near_one == 1.0) continue;
    worst = std::max(worst,
                     UlpError(PortableLog(near_one), std::log(static_cast<long double>(near_one))));
  }
  EXPECT_LT(worst, 1.0);
}

TEST(PortableLog, SpecialValues) {
  EXPECT_EQ(PortableLog(1.0), 0.0);
  EXPECT_EQ(PortableLog(0.0), -kInfinity);
  EXPECT_EQ(PortableLog(-0.0), -kInfinity);
  EXPECT_EQ(PortableLog(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(PortableLog(-1.0)));
  EXPECT_TRUE(std::isnan(PortableLog(kNaN)));
  EXPECT_EQ(PortableLog(std::numeric_limits<double>::denorm_min()), std::log(0x1p-1074));
}

TEST(PortablePow, IsGoodToTheStatedError) {
  RandomStream stream(3, "pow_test");
  for (int i = 0; i < kPoints; ++i) {
    const double x = PortableExp(20.0 * stream.NextUniform() - 10.0);
    const double y = 40.0 * stream.NextUniform() - 20.0;
    const long double want = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    const double units = 2.0 + 2.0 * std::abs(y * std::log(x));
    ASSERT_LT(std::abs(static_cast<double>((PortablePow(x, y) - want) / want)), units * 0x1p-53)
        << x << " ^ " << y;
  }
}

TEST(PortablePow, SpecialValues) {
  EXPECT_EQ(PortablePow(0.0, 2.5), 0.0);
  EXPECT_EQ(PortablePow(0.0, -1.0), kInfinity);
  EXPECT_EQ(PortablePow(0.0, 0.0), 1.0);
  EXPECT_EQ(PortablePow(kInfinity, 0.0), 1.0);
  EXPECT_EQ(PortablePow(1.0, kInfinity), 1.0);
  EXPECT_EQ(PortablePow(1.0, 1e300), 1.0);
  EXPECT_EQ(PortablePow(0.5, kInfinity), 0.0);
  EXPECT_TRUE(std::isnan(PortablePow(-2.0, 2.0)));
}

TEST(PortableLogGamma, FollowsTheCLibrary) {
  RandomStream stream(4, "log_gamma_test");
  for (int i = 0; i < kPoints; ++i) {
    const double x = PortableExp(60.0 * stream.NextUniform() - 30.0);
    const auto want = static_cast<double>(std::lgamma(static_cast<long double>(x)));
    ASSERT_LT(std::abs(PortableLogGamma(x) - want), 1e-14 * std::max(1.0, std::abs(want))) << x;
  }
}

TEST(PortableLogGamma, FactorialsAndSpecialValues) {
  double factorial = 1.0;  // exact up to 22!
  for (int n = 1; n <= 22; ++n) {
    EXPECT_NEAR(PortableLogGamma(n), std::log(factorial),
                1e-14 * std::max(1.0, std::log(factorial)));
    factorial *= n;
  }
  EXPECT_NEAR(PortableLogGamma(0.5), 0.57236494292470008707, 1e-14);
  EXPECT_EQ(PortableLogGamma(0.0), kInfinity);
  EXPECT_EQ(PortableLogGamma(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(PortableLogGamma(-0.5)));
  EXPECT_TRUE(std::isnan(PortableLogGamma(kNaN)));
}

TEST(PortableFloor, RoundsDown) {
  EXPECT_EQ(PortableFloor(2.0), 2.0);
  EXPECT_EQ(PortableFloor(2.999), 2.0);
  EXPECT_EQ(PortableFloor(-2.0), -2.0);
  EXPECT_EQ(PortableFloor(-2.001), -3.0);
  EXPECT_EQ(PortableFloor(0x1p60), 0x1p60);
}

// The bits themselves. If this fails on a platform, its compiler contracts or reassociates, and
// every seed of that build means another run.
TEST(Elementary, BitsArePinned) {
  RandomStream stream(5, "pin_test");
  Sha256 hash;
  const auto add = [&](double value) { hash.UpdateI64(std::bit_cast<int64_t>(value)); };
  for (int i = 0; i < 10000; ++i) {
    add(PortableExp(1500.0 * stream.NextUniform() - 750.0));
    add(PortableLog(AnyPositive(&stream)));
    const double base = stream.NextUniformOpen();  // the order of arguments is the compiler's
    add(PortablePow(base, 100.0 * stream.NextUniform()));
    add(PortableLogGamma(100.0 * stream.NextUniform()));
  }
  EXPECT_EQ(hash.FinishDigest().Hex(), "1fc135db7d36c07678510d972324c003");
}

}  // namespace
}  // namespace batchvar
