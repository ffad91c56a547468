// Properties of the fused dot-product-add that need no reference data: what must and what must not
// change a bit, on random operands. The golden vectors are in tests/golden.
#include "sim/numerics/tensor_core.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/base/rng.h"
#include "sim/numerics/ordered_dot.h"

namespace batchvar {
namespace {

constexpr int64_t kCases = 20000;
constexpr int kWidest = 16;

struct Operands {
  uint16_t a[kWidest] = {};
  uint16_t b[kWidest] = {};
  uint32_t c = 0;
};

// Both signs, random significands, exponents evenly from 2^-6 to 2^6, so that alignment cuts.
float RandomFloat(RandomStream* random) {
  const float size = static_cast<float>(1.0 + random->NextUniform()) *
                     PowerOfTwo(static_cast<int32_t>(random->NextBelow(13)) - 6);
  return random->NextBelow(2) == 0 ? size : -size;
}

Operands RandomOperands(DType dtype, RandomStream* random) {
  Operands x;
  for (uint16_t& word : x.a) word = Narrow(RandomFloat(random), dtype);
  for (uint16_t& word : x.b) word = Narrow(RandomFloat(random), dtype);
  x.c = BitsOf(RandomFloat(random));
  return x;
}

// Any bits, infinities and NaNs among them.
Operands RandomBits(RandomStream* random) {
  Operands x;
  for (uint16_t& word : x.a) word = static_cast<uint16_t>(random->NextU64());
  for (uint16_t& word : x.b) word = static_cast<uint16_t>(random->NextU64());
  x.c = static_cast<uint32_t>(random->NextU64());
  return x;
}

uint32_t Sum(const MmaModel& model, DType dtype, const Operands& x) {
  return FusedDotAdd(model, dtype, x.a, 1, x.b, 1, x.c);
}

// All 16 products in as many instructions as the model needs.
uint32_t ChainOf16(const MmaModel& model, DType dtype, const Operands& x) {
  return BitsOf(ChainFused(model, {dtype, x.a, 1, x.b, 1}, 0, kWidest, FloatOf(x.c)));
}

struct Setting {
  const char* name;
  MmaModel model;
  DType dtype;
};

class TensorCore : public testing::TestWithParam<Setting> {
 protected:
  MmaModel model_ = GetParam().model;
  DType dtype_ = GetParam().dtype;
  RandomStream random_{3, "tensor_core_test"};
};

INSTANTIATE_TEST_SUITE_P(Models, TensorCore,
                         testing::Values(Setting{"sm70_fp16", kMmaModelSm70, DType::kFp16},
                                         Setting{"sm80_fp16", kMmaModelSm80, DType::kFp16},
                                         Setting{"sm80_bf16", kMmaModelSm80, DType::kBf16},
                                         Setting{"sm90_fp16", kMmaModelSm90, DType::kFp16},
                                         Setting{"sm90_bf16", kMmaModelSm90, DType::kBf16}),
                         [](const auto& setting) { return std::string(setting.param.name); });

TEST_P(TensorCore, OrderInsideOneSumDoesNotMatter) {
  for (int64_t i = 0; i < kCases; ++i) {
    const Operands x = i % 2 == 0 ? RandomOperands(dtype_, &random_) : RandomBits(&random_);
    Operands permuted = x;
    for (int32_t k = model_.fused - 1; k > 0; --k) {
      const uint64_t other = random_.NextBelow(k + 1);
      std::swap(permuted.a[k], permuted.a[other]);
      std::swap(permuted.b[k], permuted.b[other]);
    }
    ASSERT_EQ(Sum(model_, dtype_, permuted), Sum(model_, dtype_, x)) << i;
  }
}

TEST_P(TensorCore, OperandsMayBeSwapped) {
  for (int64_t i = 0; i < kCases; ++i) {
    const Operands x = i % 2 == 0 ? RandomOperands(dtype_, &random_) : RandomBits(&random_);
    Operands swapped = x;
    std::swap(swapped.a, swapped.b);
    ASSERT_EQ(Sum(model_, dtype_, swapped), Sum(model_, dtype_, x)) << i;
  }
}

TEST_P(TensorCore, NegationNegates) {
  for (int64_t i = 0; i < kCases; ++i) {
    const Operands x = i % 2 == 0 ? RandomOperands(dtype_, &random_) : RandomBits(&random_);
    Operands negated = x;
    for (uint16_t& word : negated.a) word ^= 0x8000;
    negated.c ^= kFp32Sign;
    const uint32_t sum = Sum(model_, dtype_, x);
    // A zero is always +0 and a NaN has no sign.
    const uint32_t expected = sum == 0 || IsNan(sum) ? sum : sum ^ kFp32Sign;
    ASSERT_EQ(Sum(model_, dtype_, negated), expected) << i;
  }
}

TEST_P(TensorCore, PowersOfTwoScaleExactly) {
  for (int64_t i = 0; i < kCases; ++i) {
    const Operands x = RandomOperands(dtype_, &random_);
    const float power = PowerOfTwo(static_cast<int32_t>(random_.NextBelow(13)) - 6);
    Operands scaled = x;
    for (uint16_t& word : scaled.a) word = Narrow(Widen(word, dtype_) * power, dtype_);
    scaled.c = BitsOf(FloatOf(x.c) * power);
    const float expected = FloatOf(Sum(model_, dtype_, x)) * power;
    ASSERT_EQ(Sum(model_, dtype_, scaled), BitsOf(expected)) << i;
  }
}

// Share of random cases in which two ways to sum 16 products differ.
template <typename One, typename Other>
double ShareThatDiffers(One one, Other other) {
  RandomStream random(4, "tensor_core_test");
  int64_t differing = 0;
  for (int64_t i = 0; i < kCases; ++i) {
    const Operands x = RandomOperands(DType::kBf16, &random);
    differing += one(x) != other(x);
  }
  return static_cast<double>(differing) / static_cast<double>(kCases);
}

Operands Reversed(Operands x) {
  std::reverse(x.a, x.a + kWidest);
  std::reverse(x.b, x.b + kWidest);
  return x;
}

uint32_t TwoStepsOf8(MmaModel model, const Operands& x) {
  model.fused = 8;
  const uint32_t half = FusedDotAdd(model, DType::kBf16, x.a, 1, x.b, 1, x.c);
  return FusedDotAdd(model, DType::kBf16, x.a + 8, 1, x.b + 8, 1, half);
}

TEST(TensorCoreWidth, OneK16IsTwoK8OnAmpereOnly) {
  const auto share = [](const MmaModel& model) {
    return ShareThatDiffers([&](const Operands& x) { return ChainOf16(model, DType::kBf16, x); },
                            [&](const Operands& x) { return TwoStepsOf8(model, x); });
  };
  EXPECT_EQ(share(kMmaModelSm80), 0.0);
  EXPECT_GT(share(kMmaModelSm90), 0.2);
}

TEST(TensorCoreWidth, ReversingAllSixteenMattersOnAmpereOnly) {
  const auto share = [](const MmaModel& model) {
    return ShareThatDiffers(
        [&](const Operands& x) { return ChainOf16(model, DType::kBf16, x); },
        [&](const Operands& x) { return ChainOf16(model, DType::kBf16, Reversed(x)); });
  };
  EXPECT_EQ(share(kMmaModelSm90), 0.0);
  EXPECT_GT(share(kMmaModelSm80), 0.3);
}

TEST(TensorCoreWidth, NarrowerInstructionsFuseLess) {
  EXPECT_EQ(MmaModelOf(Arithmetic::kMmaSm90, 8).fused, 8);
  EXPECT_EQ(MmaModelOf(Arithmetic::kMmaSm90, 8).fraction_bits, 25);
  EXPECT_EQ(MmaModelOf(Arithmetic::kMmaSm90, 0), kMmaModelSm90);
  EXPECT_EQ(MmaModelOf(Arithmetic::kMmaSm80, 16), kMmaModelSm80);
}

}  // namespace
}  // namespace batchvar
