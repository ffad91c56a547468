// The edges of the exact range, kernel by kernel and from any accumulator: what an Order, which
// begins at +0, reaches rarely or never.
#include "kernels/cpu/gemm_kernel.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/numerics/ordered_dot.h"
#include "tests/kernels/fused_on_isa.h"
#include "tests/kernels/operands.h"

namespace batchvar {
namespace {

class GemmKernel : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!HasIsa(GetParam())) GTEST_SKIP() << "this CPU has no " << IsaName(GetParam());
  }

  // How many of sums[m][n] + x[m][k] . w[n][k] differ from the reference.
  int64_t Wrong(const MmaModel& model, DType dtype, const std::vector<uint16_t>& x,
                const std::vector<uint16_t>& w, int64_t k, const std::vector<uint32_t>& sums) {
    const int64_t m = std::ssize(x) / k, n = std::ssize(w) / k;
    const auto out =
        AddFusedOn(GetParam(), model, dtype, x.data(), w.data(), m, n, k, sums.data(), &fallbacks_);
    int64_t wrong = 0;
    for (int64_t i = 0; i < m * n; ++i) {
      const DotOperands lane = {dtype, &x[i / n * k], 1, &w[i % n * k], 1};
      wrong += out[i] != BitsOf(ChainFused(model, lane, 0, k, FloatOf(sums[i])));
    }
    return wrong;
  }

  int64_t fallbacks_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Isas, GemmKernel, testing::ValuesIn(kAllIsas),
                         [](const auto& isa) { return std::string(IsaName(isa.param)); });

TEST_P(GemmKernel, TakesAnyAccumulator) {
  RandomStream random(6, "gemm_kernel_test");
  constexpr MmaModel kModels[] = {kMmaModelSm70, kMmaModelSm75, kMmaModelSm90};
  for (int i = 0; i < 300; ++i) {
    const DType dtype = i % 2 == 0 ? DType::kBf16 : DType::kFp16;
    const Family family = kAllFamilies[i / 2 % std::size(kAllFamilies)];
    const int64_t m = 1 + random.NextBelow(9), n = 1 + random.NextBelow(32), k = 48;
    const auto x = RandomOperands(family, dtype, 1.0, m, k, &random);
    const auto w = RandomOperands(family, dtype, 0.03, n, k, &random);
    std::vector<uint32_t> sums(m * n);
    for (uint32_t& c : sums) {
      const uint64_t kind = random.NextBelow(4);  // any bits, a subnormal, a zero, near 1
      c = static_cast<uint32_t>(random.NextU64());
      if (kind == 1) c &= 0x807FFFFF;
      if (kind == 2) c &= 0x80000000;
      if (kind == 3) c = (c & 0x83FFFFFF) | 0x3C000000;
    }
    ASSERT_EQ(Wrong(kModels[i % 3], dtype, x, w, k, sums), 0) << i << " " << FamilyName(family);
  }
}

// An infinite or undefined activation times a zero weight is NaN: such lanes look like lanes of
// zeros to whoever asks the weights only.
TEST_P(GemmKernel, SpecialActivationsMeetZeroWeights) {
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    const uint16_t infinity = dtype == DType::kBf16 ? 0x7F80 : 0x7C00;
    for (const uint16_t special : {infinity, static_cast<uint16_t>(infinity | 1)}) {
      std::vector<uint16_t> x(16, 0), w(4 * 16, 0);
      x[3] = special;
      w[2 * 16 + 3] = Narrow(0.5f, dtype);
      EXPECT_EQ(Wrong(kMmaModelSm90, dtype, x, w, 16, {0, 0x3F800000, 0, 0x80000000}), 0);
      EXPECT_EQ(Wrong(kMmaModelSm80, dtype, x, w, 16, {0, 0x3F800000, 0, 0x80000000}), 0);
    }
  }
}

// 2^a times 2^b with a + b from small to large, beside an activation that is larger but meets a
// zero: the byte that holds the exponent saturates.
TEST_P(GemmKernel, ExponentsFarApart) {
  const auto power = [](int e) { return static_cast<uint16_t>((e + 127) << 7 | 0x15); };
  for (int large = -120; large <= 120; large += 4) {
    std::vector<uint16_t> x(16, 0), w(32 * 16, 0);
    x[0] = power(large);
    x[5] = power(large > -100 ? large - 20 : large);
    x[9] = power(-60);
    for (int column = 0; column < 32; ++column) {
      w[column * 16 + 5] = power(-126 + 5 * column);
      w[column * 16 + 9] = power(-20 - 3 * column);
    }
    EXPECT_EQ(Wrong(kMmaModelSm90, DType::kBf16, x, w, 16, std::vector<uint32_t>(32, 0)), 0);
    EXPECT_EQ(Wrong(kMmaModelSm70, DType::kBf16, x, w, 16, std::vector<uint32_t>(32, 1)), 0);
  }
}

// Sixteen products of nearly 4 and an accumulator of nearly 2 pass 2^31 in units of 2^-25.
TEST_P(GemmKernel, SumsBeyond32Bits) {
  for (const uint16_t sign : {0, 0x8000}) {
    const std::vector<uint16_t> x(16, 0x3FFF), w(16, static_cast<uint16_t>(0x3FFF | sign));
    const uint32_t same = 0x3FFFFFFFu | static_cast<uint32_t>(sign) << 16;
    EXPECT_EQ(Wrong(kMmaModelSm90, DType::kBf16, x, w, 16, {same}), 0);
    EXPECT_EQ(Wrong(kMmaModelSm90, DType::kBf16, x, w, 16, {same ^ kFp32Sign}), 0);
    EXPECT_EQ(Wrong(kMmaModelSm90, DType::kBf16, x, w, 16, {0}), 0);
  }
  EXPECT_EQ(fallbacks_ > 0, GetParam() != Isa::kScalar);  // the reference has none
}

// Zeros of either sign among activations, weights and accumulators never cost a fall-back.
TEST_P(GemmKernel, ZerosKeepTheAccumulator) {
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    std::vector<uint16_t> x(5 * 32, 0), w(32 * 32, 0x8000);
    for (int k = 0; k < 32; ++k) x[32 + k] = Narrow(1.5f, dtype);
    for (int k = 0; k < 32; ++k) w[7 * 32 + k] = Narrow(-0.25f, dtype);
    for (const uint32_t c : {0u, 0x80000000u, 1u, 0x80000001u, 0x3FC00001u, 0x00800000u}) {
      EXPECT_EQ(Wrong(kMmaModelSm90, dtype, x, w, 32, std::vector<uint32_t>(5 * 32, c)), 0) << c;
      EXPECT_EQ(Wrong(kMmaModelSm80, dtype, x, w, 32, std::vector<uint32_t>(5 * 32, c)), 0) << c;
    }
  }
  EXPECT_EQ(fallbacks_, 0);
}

}  // namespace
}  // namespace batchvar
