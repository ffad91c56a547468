// The ways in which partial sums meet, on numbers chosen so that every grouping shows.
#include "sim/numerics/ordered_sum.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "sim/base/rng.h"
#include "sim/numerics/elementary.h"

namespace batchvar {
namespace {

constexpr float kBig = 0x1p24f;  // 1 added to it is half an ULP: it rounds away to even

float Combined(Combine combine, std::vector<float> partials, DType output = DType::kBf16) {
  return CombinePartials(combine, output, partials.data(), 1, std::ssize(partials));
}

TEST(OrderedSum, SerialGoesFromTheLeft) {
  EXPECT_EQ(Combined(Combine::kSerialFp32, {kBig, 1, 1, -kBig}), 0.0f);
  EXPECT_EQ(Combined(Combine::kSerialFp32, {1, 1, kBig, -kBig}), 2.0f);
  EXPECT_EQ(Combined(Combine::kTurnstile, {kBig, 1, 1, -kBig}), 0.0f);
  EXPECT_EQ(Combined(Combine::kNone, {3}), 3.0f);
}

TEST(OrderedSum, PairwiseMeetsNeighboursFirst) {
  EXPECT_EQ(Combined(Combine::kPairwise, {kBig, 1, 1, 1}), kBig + 2);
  EXPECT_EQ(Combined(Combine::kPairwise, {1, 1, kBig, -kBig}), 2.0f);
  // Five: ((p0 + p1) + (p2 + p3)) + p4.
  EXPECT_EQ(Combined(Combine::kPairwise, {kBig, 1, -kBig, 1, 1}), 2.0f);
}

TEST(OrderedSum, SixteenBitRunningSumIsRoundedAtEveryStep) {
  // bf16 has 8 significant bits: 256 + 1 rounds back to 256 each time.
  EXPECT_EQ(Combined(Combine::kSerial16bit, {256, 1, 1, 1}), 256.0f);
  EXPECT_EQ(Combined(Combine::kSerialFp32, {256, 1, 1, 1}), 259.0f);
  // A piece's own sum comes in fp32: rounded to bf16 first, the second one would be 1 and lost.
  EXPECT_EQ(Combined(Combine::kSerial16bit, {256, 1.00390625f}), 258.0f);
}

TEST(OrderedSum, ButterflyMeetsTheFarthestPartnerFirst) {
  std::vector<float> lanes = {kBig, 1, -kBig, 1};
  EXPECT_EQ(SumButterfly(lanes.data(), 4), 2.0f);
  lanes = {kBig, -kBig, 1, 1};  // (kBig + 1) + (1 - kBig): one unit is lost on the left
  EXPECT_EQ(SumButterfly(lanes.data(), 4), 1.0f);
}

TEST(OrderedSum, NanIsCanonical) {
  EXPECT_EQ(BitsOf(Combined(Combine::kSerialFp32, {INFINITY, -INFINITY})), kFp32Nan);
  EXPECT_EQ(BitsOf(Combined(Combine::kPairwise, {-NAN, 1})), kFp32Nan);
  EXPECT_EQ(BitsOf(Combined(Combine::kExactSum, {INFINITY, -INFINITY})), kFp32Nan);
  EXPECT_EQ(Combined(Combine::kExactSum, {INFINITY, 1}), INFINITY);
}

TEST(ExactSum, LosesNothing) {
  EXPECT_EQ(Combined(Combine::kExactSum, {1e30f, 1, -1e30f}, DType::kFp32), 1.0f);
  EXPECT_EQ(Combined(Combine::kExactSum, {0x1p127f, 0x1p-149f, -0x1p127f}, DType::kFp32),
            0x1p-149f);
  EXPECT_EQ(BitsOf(Combined(Combine::kExactSum, {1, -1}, DType::kFp32)), 0u);
  EXPECT_EQ(Combined(Combine::kExactSum, {0x1.fffffep127f, 0x1.fffffep127f}, DType::kFp32),
            INFINITY);
  EXPECT_EQ(
      Combined(Combine::kExactSum, {0x1p-149f, 0x1p-149f, -0x1p-148f, -0x1p-149f}, DType::kFp32),
      -0x1p-149f);
}

TEST(ExactSum, RoundsOnceToTheOutputType) {
  // 1 + 2^-8 is half way between two bf16 numbers; 2^-60 decides. Rounded to fp32 first, it would
  // be lost and the tie would go to even.
  EXPECT_EQ(Combined(Combine::kExactSum, {1, 0x1p-8f, 0x1p-60f}), 1.0f + 0x1p-7f);
  EXPECT_EQ(Combined(Combine::kExactSum, {1, 0x1p-8f}), 1.0f);
  EXPECT_EQ(Combined(Combine::kExactSum, {1, 0x1p-24f, 0x1p-60f}, DType::kFp32), 1.0f + 0x1p-23f);
  EXPECT_EQ(Combined(Combine::kExactSum, {1, 0x1p-24f}, DType::kFp32), 1.0f);
}

// Where doubles hold the sum exactly, the C++ conversion says what the result must be.
TEST(ExactSum, EqualsDoublesWhereTheyAreExact) {
  RandomStream stream(7, "exact_sum");
  for (int i = 0; i < 20000; ++i) {
    std::vector<float> terms;
    double sum = 0;
    for (int j = 0; j < 8; ++j) {
      const uint64_t word = stream.NextU64();
      const auto value = static_cast<float>(static_cast<int32_t>(word >> 40) - (1 << 23)) *
                         PowerOfTwo(static_cast<int32_t>(word % 20));
      terms.push_back(value);
      sum += double{value};
    }
    ASSERT_EQ(Combined(Combine::kExactSum, terms, DType::kFp32), static_cast<float>(sum));
  }
}

}  // namespace
}  // namespace batchvar
