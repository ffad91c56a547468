// One output element of a GEMM under every kind of order, on numbers small enough to add by hand
// and against sums that are exact.
#include "sim/numerics/ordered_dot.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/numerics/random_operands.h"

namespace batchvar {
namespace {

Order OrderOf(Arithmetic arithmetic, Combine combine, std::vector<Range> pieces) {
  Order order;
  order.arithmetic = arithmetic;
  order.combine = combine;
  order.pieces = std::move(pieces);
  return order;
}

// sum over k of values[k] * 1.
float SumOf(const Order& order, const std::vector<float>& values) {
  std::vector<uint16_t> a, ones(values.size(), Bf16Of(1.0f));
  for (const float value : values) a.push_back(Bf16Of(value));
  return OrderedDot(order, {DType::kBf16, a.data(), 1, ones.data(), 1});
}

TEST(OrderedDot, FusedProductsAreAlignedTogether) {
  // 2^26 + 1 - 2^26 inside one sum: the unit lies below 2^(26-25) on Hopper, so it is cut off.
  const std::vector<float> values = {0x1p26f, 1, -0x1p26f};
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 3}}), values), 0.0f);
  // Two units fill the place that one does not, but each is cut off on its own.
  EXPECT_EQ(
      SumOf(OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 4}}), {0x1p26f, 1, 1, -0x1p26f}),
      0.0f);
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 3}}), {0x1p25f, 1, -0x1p25f}),
            1.0f);
  // One bit fewer on Ampere.
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm80, Combine::kNone, {{0, 3}}), {0x1p25f, 1, -0x1p25f}),
            0.0f);
}

TEST(OrderedDot, AmpereSumsEightAndThenEight) {
  std::vector<float> values(16, 0.0f);
  values[0] = 0x1p25f;
  values[7] = 1;
  values[8] = -0x1p25f;
  // Hopper adds all sixteen at once and keeps the unit; Ampere truncates after the first eight.
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 16}}), values), 1.0f);
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm80, Combine::kNone, {{0, 16}}), values), 0.0f);
}

TEST(OrderedDot, PiecesStartFromZeroAndMeetInListOrder) {
  std::vector<float> values(64, 0.0f);
  values[0] = 0x1p24f;
  values[16] = 1;
  values[32] = 1;
  values[48] = -0x1p24f;
  const std::vector<Range> four = {{0, 16}, {16, 32}, {32, 48}, {48, 64}};
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm90, Combine::kSerialFp32, four), values), 0.0f);
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm90, Combine::kPairwise, four), values), 1.0f);
  const std::vector<Range> turned = {{16, 32}, {32, 48}, {0, 16}, {48, 64}};
  EXPECT_EQ(SumOf(OrderOf(Arithmetic::kMmaSm90, Combine::kSerialFp32, turned), values), 2.0f);
}

TEST(OrderedDot, SlicesTakeTheirStretchOfEveryBlock) {
  // Blocks of 32 in two slices of 16: slice 0 sums k 0..15 and 32..47, slice 1 the others.
  std::vector<float> values(64, 0.0f);
  values[0] = 0x1p24f;
  values[16] = 1;
  values[32] = -0x1p24f;
  values[48] = 1;
  Order order = OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 64}});
  EXPECT_EQ(SumOf(order, values), 1.0f);  // 2^24 + 1 truncates to 2^24 before it is taken away
  order.block = 32;
  order.slice_k = 2;
  EXPECT_EQ(SumOf(order, values), 2.0f);
}

TEST(OrderedDot, GemvLanesMeetInAButterfly) {
  Order order = OrderOf(Arithmetic::kFmaChain, Combine::kButterfly, {{0, 8}});
  order.block = 4;
  order.slice_k = 4;  // lane i: k = i and i + 4
  // Lanes: 2^24 + 1 -> 2^24, 1, -2^24, 1; butterfly (l0 + l2) + (l1 + l3).
  EXPECT_EQ(SumOf(order, {0x1p24f, 1, -0x1p24f, 0, 1, 0, 0, 1}), 2.0f);
  // One lane after another would lose a unit.
  order.slice_k = 1;
  order.block = 0;
  order.combine = Combine::kNone;
  EXPECT_EQ(SumOf(order, {0x1p24f, 1, -0x1p24f, 0, 1, 0, 0, 1}), 2.0f);
  EXPECT_EQ(SumOf(order, {0x1p24f, 1, 1, 1, -0x1p24f, 0, 0, 0}), 0.0f);
}

TEST(OrderedDot, NarrowInstructionFusesFewerProducts) {
  std::vector<float> values(16, 0.0f);
  values[0] = 0x1p25f;
  values[7] = 1;
  values[8] = -0x1p25f;
  Order order = OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 16}});
  order.instr_k = 8;
  EXPECT_EQ(SumOf(order, values), 0.0f);
  order.instr_k = 32;  // two of sixteen: as without
  EXPECT_EQ(SumOf(order, values), 1.0f);
}

TEST(OrderedDot, SixteenBitPartialsAreRoundedBeforeTheyMeet) {
  Order order = OrderOf(Arithmetic::kMmaSm90, Combine::kSerialFp32, {{0, 16}, {16, 32}});
  std::vector<float> values(32, 0.0f);
  values[0] = 256;
  values[1] = 1;
  values[16] = 1;
  EXPECT_EQ(SumOf(order, values), 258.0f);
  order.partial = DType::kBf16;
  EXPECT_EQ(SumOf(order, values), 257.0f);
  order.combine = Combine::kSerial16bit;
  EXPECT_EQ(SumOf(order, values), 256.0f);
}

// Small integers add exactly in every order, so every order must give their sum.
TEST(OrderedDot, EveryOrderIsExactOnSmallIntegers) {
  RandomStream stream(3, "integers");
  std::vector<uint16_t> a(203), b(203);
  int64_t sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const auto x = static_cast<int64_t>(stream.NextBelow(17)) - 8;
    const auto y = static_cast<int64_t>(stream.NextBelow(17)) - 8;
    a[k] = Fp16Of(static_cast<float>(x));
    b[k] = Fp16Of(static_cast<float>(y));
    sum += x * y;
  }
  const DotOperands operands{DType::kFp16, a.data(), 1, b.data(), 1};
  for (const Arithmetic arithmetic :
       {Arithmetic::kMmaSm80, Arithmetic::kMmaSm90, Arithmetic::kFmaChain}) {
    for (const Combine combine : {Combine::kSerialFp32, Combine::kPairwise, Combine::kTurnstile}) {
      Order order = OrderOf(arithmetic, combine, {{0, 7}, {7, 100}, {100, 203}});
      EXPECT_EQ(OrderedDot(order, operands), static_cast<float>(sum));
      order.slice_k = 4;
      order.block = 64;
      EXPECT_EQ(OrderedDot(order, operands), static_cast<float>(sum));
    }
  }
}

TEST(OrderedDot, StridesReachTheSameNumbers) {
  const auto a = NormalWords("a", 3 * 40, DType::kBf16), b = NormalWords("b", 40, DType::kBf16);
  std::vector<uint16_t> packed;
  for (int k = 0; k < 40; ++k) packed.push_back(a[3 * k]);
  const Order order = OrderOf(Arithmetic::kMmaSm90, Combine::kSerialFp32, {{0, 17}, {17, 40}});
  EXPECT_EQ(OrderedDot(order, {DType::kBf16, a.data(), 3, b.data(), 1}),
            OrderedDot(order, {DType::kBf16, packed.data(), 1, b.data(), 1}));
}

}  // namespace
}  // namespace batchvar
