// Row-wise ops: near the exact result, and dependent on exactly what their order names.
#include "kernels/cpu/row_ops.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "sim/numerics/elementary.h"
#include "sim/numerics/float_bits.h"
#include "sim/plan/allreduce_policy.h"
#include "sim/plan/row_policy.h"
#include "tests/numerics/random_operands.h"

namespace batchvar {
namespace {

constexpr int64_t kWidth = 4096;

Order NormOf(NormPolicyKind kind, int64_t rows, DType dtype = DType::kBf16) {
  NormPolicySpec spec;
  spec.kind = kind;
  return NormOrder(spec, rows, kWidth, dtype);
}

std::vector<float> Normed(NormPolicyKind kind, int64_t rows, uint64_t seed) {
  const auto x = NormalWords("x", kWidth, DType::kBf16, 1.0f, seed);
  const auto weight = NormalWords("w", kWidth, DType::kBf16);
  std::vector<float> out(kWidth);
  RmsNormRow(NormOf(kind, rows), x, weight, 1e-5f, DType::kBf16, out.data());
  return out;
}

TEST(RmsNorm, IsNearTheExactNorm) {
  const auto x = NormalWords("x", kWidth, DType::kBf16);
  const auto weight = NormalWords("w", kWidth, DType::kBf16);
  double squares = 0;
  for (const uint16_t word : x) squares += double{FloatOfBf16(word)} * FloatOfBf16(word);
  const double inverse = 1 / std::sqrt(squares / kWidth + 1e-5);
  const auto out = Normed(NormPolicyKind::kNormVllm, 1, 1);
  for (int64_t i = 0; i < kWidth; ++i) {
    const double exact = FloatOfBf16(x[i]) * inverse * FloatOfBf16(weight[i]);
    EXPECT_NEAR(out[i], exact, 1e-6 * std::fabs(exact));
  }
}

// Another order need not change the bits of one row; among twenty it does.
TEST(RmsNorm, MovesAt256RowsUnderVllmOnly) {
  int moved = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto few = Normed(NormPolicyKind::kNormVllm, 255, seed);
    EXPECT_EQ(Normed(NormPolicyKind::kNormVllm, 1, seed), few);
    moved += Normed(NormPolicyKind::kNormVllm, 256, seed) != few;
    EXPECT_EQ(Normed(NormPolicyKind::kNormInvariant, 1, seed),
              Normed(NormPolicyKind::kNormInvariant, 256, seed));
  }
  EXPECT_GE(moved, 1);
}

TEST(LogSoftmax, ExponentialsSumToOne) {
  RandomStream stream(2, "logits");
  std::vector<float> logits(1000), out(1000);
  for (float& logit : logits) logit = static_cast<float>(stream.NextNormal() * 5);
  NormPolicySpec spec;
  LogSoftmaxRow(NormOrder(spec, 1, 1000, DType::kFp32), logits, out.data());
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    sum += std::exp(double{out[i]});
    EXPECT_NEAR(out[i] - out[0], logits[i] - logits[0], 1e-4);
  }
  EXPECT_NEAR(sum, 1.0, 1e-5);
}

TEST(SiluMul, FollowsItsFormula) {
  const auto gate = NormalWords("gate", 200, DType::kFp16, 3);
  const auto up = NormalWords("up", 200, DType::kFp16);
  std::vector<float> out(200);
  SiluMulRow(gate, up, DType::kFp16, out.data());
  for (int i = 0; i < 200; ++i) {
    const double g = FloatOfFp16(gate[i]);
    const double exact = g / (1 + std::exp(-g)) * FloatOfFp16(up[i]);
    EXPECT_NEAR(out[i], exact, 1e-6 * std::max(1.0, std::fabs(exact)));
  }
}

TEST(Rope, TurnsPairsByPositionTimesFrequency) {
  const int32_t head_dim = 64;
  const RopeTable table(RopeFrequencies(1e5, head_dim), 300);
  const auto head = NormalWords("head", head_dim, DType::kBf16);
  std::vector<float> out(head_dim);
  RopeHead(head, table.Cos(0), table.Sin(0), DType::kBf16, out.data());
  for (int i = 0; i < head_dim; ++i) EXPECT_EQ(out[i], FloatOfBf16(head[i]));
  RopeHead(head, table.Cos(299), table.Sin(299), DType::kBf16, out.data());
  for (int i = 0; i < head_dim / 2; ++i) {
    const double angle = 299 * std::pow(1e5, -2.0 * i / head_dim);
    const double x = FloatOfBf16(head[i]), y = FloatOfBf16(head[i + head_dim / 2]);
    EXPECT_NEAR(out[i], x * std::cos(angle) - y * std::sin(angle), 1e-6);
    EXPECT_NEAR(out[i + head_dim / 2], y * std::cos(angle) + x * std::sin(angle), 1e-6);
  }
}

// A message of `rows` rows of 512 elements; returns row `row` summed over the ranks.
std::vector<float> Reduced(AllReducePolicyKind kind, int32_t ranks, int64_t rows, int64_t row) {
  constexpr int64_t kRow = 512;
  AllReducePolicySpec spec;
  spec.kind = kind;
  const AllReduceMessage message{rows, kRow, DType::kBf16, ranks};
  const AllReducePlan plan = PlanAllReduce(spec, message, DeviceSpec{});
  std::vector<std::vector<uint16_t>> values;
  // bf16 numbers of one magnitude add exactly in fp32, in any order; these lie further apart.
  for (int32_t r = 0; r < ranks; ++r) {
    const float scale = PowerOfTwo(5 * r);
    values.push_back(NormalWords("rank " + std::to_string(r), kRow, DType::kBf16, scale));
  }
  std::vector<const uint16_t*> pointers;
  for (const auto& value : values) pointers.push_back(value.data());
  std::vector<float> out(kRow);
  AllReduceRow(StripsOfAllReduceRow(plan, message, row), kRow, pointers, DType::kBf16, out.data());
  return out;
}

TEST(AllReduce, OneShotIgnoresTheRowsPlaceAndTwoShotDoesNot) {
  const auto one = Reduced(AllReducePolicyKind::kOneShot, 4, 1, 0);
  EXPECT_EQ(Reduced(AllReducePolicyKind::kOneShot, 4, 64, 63), one);
  const auto two = Reduced(AllReducePolicyKind::kTwoShot, 4, 64, 0);
  EXPECT_EQ(two, one);  // the first slice starts at rank 0
  EXPECT_NE(Reduced(AllReducePolicyKind::kTwoShot, 4, 64, 63), two);
  EXPECT_NE(Reduced(AllReducePolicyKind::kRing, 4, 1, 0), one);
}

TEST(AllReduce, TwoRanksCommute) {
  EXPECT_EQ(Reduced(AllReducePolicyKind::kTwoShot, 2, 64, 63),
            Reduced(AllReducePolicyKind::kOneShot, 2, 1, 0));
}

TEST(AllReduce, ExactDoesNotDependOnTheOrderOfRanks) {
  const auto exact = Reduced(AllReducePolicyKind::kExact, 8, 3, 1);
  const auto serial = Reduced(AllReducePolicyKind::kOneShot, 8, 3, 1);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(exact[i], serial[i], std::fabs(serial[i]) * 0x1p-8 + 1e-6);
    EXPECT_EQ(exact[i], RoundTo(exact[i], DType::kBf16));
  }
}

}  // namespace
}  // namespace batchvar
