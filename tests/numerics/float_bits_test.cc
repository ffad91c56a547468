// Conversions against the definition: the nearest number, ties to even, found by search.
#include "sim/numerics/float_bits.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace batchvar {
namespace {

TEST(FloatBits, EverySixteenBitWordWidensAndComesBack) {
  for (uint32_t word = 0; word <= 0xFFFF; ++word) {
    const auto bits = static_cast<uint16_t>(word);
    for (const DType dtype : {DType::kBf16, DType::kFp16}) {
      const float wide = Widen(bits, dtype);
      const uint16_t back = Narrow(wide, dtype);
      EXPECT_EQ(back, std::isnan(wide) ? k16BitNan : bits) << DTypeName(dtype) << " " << word;
    }
  }
}

TEST(FloatBits, KnownValues) {
  EXPECT_EQ(FloatOfFp16(0x3C00), 1.0f);
  EXPECT_EQ(FloatOfFp16(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(FloatOfFp16(0x03FF), std::ldexp(1023.0f, -24));
  EXPECT_EQ(FloatOfFp16(0x7BFF), 65504.0f);
  EXPECT_EQ(FloatOfFp16(0xFC00), -INFINITY);
  EXPECT_EQ(FloatOfBf16(0x3F80), 1.0f);
  EXPECT_EQ(FloatOfFp8E4m3(0x7E), 448.0f);
  EXPECT_EQ(FloatOfFp8E4m3(0x01), std::ldexp(1.0f, -9));
  EXPECT_EQ(FloatOfFp8E4m3(0x88), -std::ldexp(1.0f, -6));
  EXPECT_TRUE(std::isnan(FloatOfFp8E4m3(0xFF)));
}

// Each 16-bit number, the one above it, and the points between: just below the middle, the middle
// (to even), and just above.
void ExpectNearest(DType dtype, uint32_t highest_finite) {
  for (uint32_t word = 0; word < highest_finite; ++word) {
    const auto low = static_cast<uint16_t>(word), high = static_cast<uint16_t>(word + 1);
    const double middle = (double{Widen(low, dtype)} + double{Widen(high, dtype)}) / 2;
    const auto half = static_cast<float>(middle);
    ASSERT_EQ(double{half}, middle);
    const uint16_t even = (word & 1) == 0 ? low : high;
    ASSERT_EQ(Narrow(half, dtype), even) << word;
    ASSERT_EQ(Narrow(std::nextafterf(half, -INFINITY), dtype), low) << word;
    ASSERT_EQ(Narrow(std::nextafterf(half, INFINITY), dtype), high) << word;
    ASSERT_EQ(Narrow(-half, dtype), even | 0x8000) << word;
  }
}

TEST(FloatBits, NarrowingRoundsToNearestEven) {
  ExpectNearest(DType::kBf16, 0x7F7F);
  ExpectNearest(DType::kFp16, 0x7BFF);
}

TEST(FloatBits, NarrowingOverflowsToInfinityFromHalfAnUlpOn) {
  EXPECT_EQ(Fp16Of(65519.996f), 0x7BFF);
  EXPECT_EQ(Fp16Of(65520.0f), 0x7C00);
  EXPECT_EQ(Fp16Of(-1e30f), 0xFC00);
  EXPECT_EQ(Bf16Of(FloatOf(0x7F7F7FFF)), 0x7F7F);
  EXPECT_EQ(Bf16Of(FloatOf(0x7F7F8000)), 0x7F80);
  EXPECT_EQ(Bf16Of(NAN), 0x7FFF);
  EXPECT_EQ(Fp16Of(-NAN), 0x7FFF);
}

TEST(FloatBits, UlpDistanceCountsNumbersBetween) {
  EXPECT_EQ(UlpDistance(BitsOf(1.0f), BitsOf(std::nextafterf(1.0f, 2.0f))), 1u);
  EXPECT_EQ(UlpDistance(BitsOf(0.0f), BitsOf(-0.0f)), 0u);
  EXPECT_EQ(UlpDistance(1, 0x80000001), 2u);
  EXPECT_EQ(UlpDistance(0x7F800000, 0xFF800000), 2u * 0x7F800000u);
  EXPECT_EQ(UlpDistance(kFp32Nan, BitsOf(1.0f)), 0xFFFFFFFFu);
  EXPECT_EQ(UlpDistance(kFp32Nan, 0xFFC00000), 0u);
  EXPECT_EQ(UlpDistance16(0x3C00, 0x3C02), 2u);
  EXPECT_EQ(UlpDistance16(0x8001, 0x0001), 2u);
}

TEST(FloatBits, RoundToKeepsFp32ButForNan) {
  EXPECT_EQ(BitsOf(RoundTo(FloatOf(0xFFC00000), DType::kFp32)), kFp32Nan);
  EXPECT_EQ(RoundTo(1.0f + 1e-7f, DType::kFp32), 1.0f + 1e-7f);
  EXPECT_EQ(RoundTo(1.00390625f, DType::kBf16), 1.0f);  // half way between 1 and 1 + 2^-7: even
}

}  // namespace
}  // namespace batchvar
