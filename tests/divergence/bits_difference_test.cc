#include "sim/divergence/bits_difference.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace batchvar {
namespace {

TEST(BitsDifference, EqualBitsDoNotDiffer) {
  const std::vector<float> a = {1.0f, -0.0f, NAN, INFINITY};
  const std::vector<float> b = {1.0f, -0.0f, -NAN, INFINITY};
  BitsDifference none;
  none.outputs = 4;
  EXPECT_EQ(CompareBits(a, b, DType::kBf16), none);
}

TEST(BitsDifference, RoundingHidesWhatLiesBelowItsPlaces) {
  const float next = std::nextafterf(1.0f, 2.0f);
  const std::vector<float> a = {0.0f, 1.0f, 1.0f};
  const std::vector<float> b = {0.0f, next, 1.0f + 0x1p-7f};
  const BitsDifference difference = CompareBits(a, b, DType::kBf16);
  EXPECT_EQ(difference.differ_fp32, 2);
  EXPECT_EQ(difference.differ_16bit, 1);
  EXPECT_EQ(difference.first, 1);
  EXPECT_EQ(difference.first_16bit, 2);
  EXPECT_EQ(difference.max_ulp, 1u << 16);
  EXPECT_EQ(difference.max_ulp_16bit, 1u);
  EXPECT_EQ(difference.max_abs, 0x1p-7);
}

TEST(BitsDifference, OneUlpAcrossARoundingEdgeIsOneSixteenBitUlp) {
  const float edge = 1.0f + 0x1p-8f;  // half way between two bf16 numbers: to even, down
  const std::vector<float> a = {edge}, b = {std::nextafterf(edge, 2.0f)};
  const BitsDifference difference = CompareBits(a, b, DType::kBf16);
  EXPECT_EQ(difference.max_ulp, 1u);
  EXPECT_EQ(difference.differ_16bit, 1);
}

TEST(BitsDifference, NanAgainstANumberIsAsFarAsCanBe) {
  const std::vector<float> a = {NAN}, b = {1.0f};
  const BitsDifference difference = CompareBits(a, b, DType::kFp32);
  EXPECT_EQ(difference.differ_fp32, 1);
  EXPECT_EQ(difference.differ_16bit, 1);
  EXPECT_EQ(difference.max_ulp, 0xFFFFFFFFu);
  EXPECT_EQ(difference.max_abs, 0.0);
}

}  // namespace
}  // namespace batchvar
