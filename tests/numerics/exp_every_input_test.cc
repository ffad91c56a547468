// All 2^32 inputs of Exp: the largest error, and one digest that every compiler must reproduce.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/base/digest.h"
#include "sim/numerics/elementary.h"

namespace batchvar {
namespace {

constexpr uint64_t kChunk = 1 << 16;

// A number's own last place; 2^-149 among subnormals.
double LastPlace(double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST(ExpEveryInput, ErrorBelowOneUlpAndOneDigest) {
  Sha256 sha;
  double worst = 0;
  std::vector<uint32_t> results(kChunk);
  for (uint64_t begin = 0; begin < (uint64_t{1} << 32); begin += kChunk) {
    for (uint64_t i = 0; i < kChunk; ++i) {
      const float x = FloatOf(static_cast<uint32_t>(begin + i));
      const float y = Exp(x);
      results[i] = BitsOf(y);
      // Where x is NaN or the result is 0, 1 or infinity by far, only the digest speaks.
      if (!(x > -105.0f && x < 88.7228f)) continue;
      const double exact = std::exp(double{x});
      worst = std::max(worst, std::fabs(double{y} - exact) / LastPlace(exact));
    }
    sha.Update(results.data(), results.size() * sizeof(uint32_t));
  }
  EXPECT_LT(worst, 1.0);
  RecordProperty("worst_ulp", std::to_string(worst));
  std::printf("largest error %.6f ULP\n", worst);
  EXPECT_EQ(sha.FinishDigest().Hex(), "d72a402b485cb936fd2c4bbffa15a01f");
}

}  // namespace
}  // namespace batchvar
