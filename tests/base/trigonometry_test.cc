#include "sim/base/trigonometry.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"
#include "sim/base/digest.h"
#include "sim/base/rng.h"

namespace batchvar {
namespace {

TEST(PortableSinCos, FollowsTheCLibrary) {
  RandomStream stream(5, "angles");
  for (int i = 0; i < 200000; ++i) {
    const double x = (stream.NextUniform() - 0.5) * std::ldexp(1.0, i % 22);
    const SinCos both = PortableSinCos(x);
    ASSERT_NEAR(both.sin, std::sin(x), 0x1p-52) << x;
    ASSERT_NEAR(both.cos, std::cos(x), 0x1p-52) << x;
  }
}

TEST(PortableSinCos, WholePositionsRoundToTheLibrarysFp32) {
  // What the tables hold: a position times a frequency, rounded to fp32. The C library's double
  // rounds to the same number unless both lie at a rounding edge.
  int64_t differ = 0;
  for (int64_t position = 0; position < 131072; ++position) {
    const SinCos both = PortableSinCos(static_cast<double>(position));
    differ += static_cast<float>(both.sin) != static_cast<float>(std::sin(position));
    differ += static_cast<float>(both.cos) != static_cast<float>(std::cos(position));
  }
  EXPECT_LE(differ, 2);
}

TEST(PortableSinCos, QuadrantsAndZero) {
  EXPECT_EQ(PortableSinCos(0.0).sin, 0.0);
  EXPECT_EQ(PortableSinCos(0.0).cos, 1.0);
  EXPECT_EQ(PortableSinCos(-1.0).sin, -PortableSinCos(1.0).sin);
  EXPECT_EQ(PortableSinCos(-4.0).cos, PortableSinCos(4.0).cos);
}

TEST(PortableSinCos, BitsArePinned) {
  Sha256 hash;
  for (int i = 0; i < 5000; ++i) {
    const SinCos both = PortableSinCos(i * 25.7 - 1000.3);
    hash.UpdateI64(std::bit_cast<int64_t>(both.sin)).UpdateI64(std::bit_cast<int64_t>(both.cos));
  }
  EXPECT_EQ(hash.FinishDigest().Hex(), "f7f224d0b4f622e0bbcece117d48ce8b");
}

}  // namespace
}  // namespace batchvar
