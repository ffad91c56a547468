#include "sim/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "sim/base/digest.h"

namespace batchvar {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DrawsAreTheDocumentedBlocks) {
  const uint64_t seed = 0x0123456789abcdef;
  const uint64_t name = DigestOf("arrivals").hi;
  RandomStream stream(seed, "arrivals");
  for (uint32_t block = 0; block < 3; ++block) {
    const PhiloxCounter want =
        Philox4x32({block, 0, static_cast<uint32_t>(name), static_cast<uint32_t>(name >> 32)},
                   {0x89abcdef, 0x01234567});
    EXPECT_EQ(stream.NextU64(), uint64_t{want[1]} << 32 | want[0]);
    EXPECT_EQ(stream.NextU64(), uint64_t{want[3]} << 32 | want[2]);
  }
}

TEST(RandomStream, StreamsDoNotTouchEachOther) {
  RandomStream alone(7, "a");
  const uint64_t first = alone.NextU64();
  const uint64_t second = alone.NextU64();
  RandomStream a(7, "a");
  RandomStream b(7, "b");
  EXPECT_EQ(a.NextU64(), first);
  EXPECT_NE(b.NextU64(), first);
  EXPECT_EQ(a.NextU64(), second);
  EXPECT_NE(RandomStream(8, "a").NextU64(), first);
}

TEST(RandomStream, ItemStreamsAreDisjointAndDirect) {
  const ItemStreams items(7, "a");
  std::set<uint64_t> seen;
  for (uint64_t item = 0; item < 1000; ++item) {
    RandomStream direct = RandomStream::ForItem(7, "a", item);
    RandomStream stream = items.At(item);
    for (int draw = 0; draw < 4; ++draw) {
      const uint64_t value = stream.NextU64();
      EXPECT_EQ(direct.NextU64(), value);
      EXPECT_TRUE(seen.insert(value).second);
    }
  }
  RandomStream plain(7, "a");
  for (int draw = 0; draw < 4000; ++draw) EXPECT_TRUE(seen.insert(plain.NextU64()).second);
}

TEST(RandomStreamDeathTest, AnItemHasItsLimit) {
  EXPECT_DEATH(ItemStreams(1, "a").At(uint64_t{1} << 40), "check failed");
  EXPECT_DEATH(RandomStream(1, "a").NextBelow(0), "check failed");
}

TEST(RandomStream, NextBelowIsUniform) {
  RandomStream stream(11, "below");
  constexpr int kDraws = 60000;
  std::vector<int> counts(6, 0);
  for (int i = 0; i < kDraws; ++i) ++counts[stream.NextBelow(6)];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 1e4) * (count - 1e4) / 1e4;
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, p = 0.001
  // A modulus just above 2^63 would come out biased 2:1 without rejection.
  const uint64_t large = (uint64_t{1} << 63) + 1;
  int low = 0;
  for (int i = 0; i < 10000; ++i) low += stream.NextBelow(large) < large / 2 ? 1 : 0;
  EXPECT_NEAR(low, 5000, 4 * 50);
  EXPECT_EQ(stream.NextBelow(1), 0U);
}

// The largest distance between the draws' distribution and `cdf`, times sqrt(n).
double KolmogorovSmirnov(int draws, const std::function<double()>& draw,
                         const std::function<double(double)>& cdf) {
  std::vector<double> values(draws);
  for (double& value : values) value = draw();
  std::sort(values.begin(), values.end());
  double worst = 0;
  for (int i = 0; i < draws; ++i) {
    const double at = cdf(values[i]);
    worst = std::max(
        {worst, at - i / static_cast<double>(draws), (i + 1) / static_cast<double>(draws) - at});
  }
  return worst * std::sqrt(draws);
}

constexpr double kKsLimit = 1.95;  // p = 0.001
constexpr int kDraws = 100000;

TEST(RandomStream, UniformsFillTheirInterval) {
  RandomStream stream(12, "uniform");
  const auto identity = [](double x) { return x; };
  EXPECT_LT(KolmogorovSmirnov(
                kDraws, [&] { return stream.NextUniform(); }, identity),
            kKsLimit);
  for (int i = 0; i < kDraws; ++i) {
    const double closed = stream.NextUniform();
    EXPECT_TRUE(closed >= 0 && closed < 1);
    const double open = stream.NextUniformOpen();
    EXPECT_TRUE(open > 0 && open <= 1);
  }
}

TEST(RandomStream, ExponentialsFollowTheirLaw) {
  RandomStream stream(13, "exponential");
  double largest = 0;
  const auto draw = [&] {
    const double value = stream.NextExponential();
    largest = std::max(largest, value);
    return value;
  };
  EXPECT_LT(KolmogorovSmirnov(kDraws, draw, [](double x) { return 1 - std::exp(-x); }), kKsLimit);
  EXPECT_GT(largest, 9.0);  // no cut tail: P(all of 100000 below 9) is 4e-6
}

TEST(RandomStream, NormalsFollowTheirLaw) {
  RandomStream stream(14, "normal");
  EXPECT_LT(KolmogorovSmirnov(
                kDraws, [&] { return stream.NextNormal(); },
                [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }),
            kKsLimit);
}

TEST(RandomStream, GammasHaveTheirMoments) {
  for (const double shape : {0.05, 0.3, 1.0, 2.5, 40.0}) {
    RandomStream stream(15, "gamma");
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double value = stream.NextGamma(shape);
      sum += value;
      squares += (value - shape) * (value - shape);
    }
    // Four standard errors; the fourth central moment of Gamma(a) is 3a^2 + 6a.
    EXPECT_NEAR(sum / kDraws, shape, 4 * std::sqrt(shape / kDraws)) << shape;
    EXPECT_NEAR(squares / kDraws, shape, 4 * std::sqrt((2 * shape * shape + 6 * shape) / kDraws))
        << shape;
  }
  // Shape 1 is the exponential, 1/2 half a squared normal: two laws with a known form.
  RandomStream stream(16, "gamma");
  EXPECT_LT(
      KolmogorovSmirnov(
          kDraws, [&] { return stream.NextGamma(1.0); }, [](double x) { return 1 - std::exp(-x); }),
      kKsLimit);
  EXPECT_LT(KolmogorovSmirnov(
                kDraws, [&] { return stream.NextGamma(0.5); },
                [](double x) { return std::erf(std::sqrt(x)); }),
            kKsLimit);
}

TEST(RandomStream, BitsArePinned) {
  RandomStream stream(42, "pin");
  Sha256 hash;
  const auto add = [&](double value) { hash.UpdateI64(std::bit_cast<int64_t>(value)); };
  for (int i = 0; i < 1000; ++i) {
    hash.UpdateI64(static_cast<int64_t>(stream.NextBelow(1 + i)));
    add(stream.NextUniform());
    add(stream.NextExponential());
    add(stream.NextNormal());
    add(stream.NextGamma(0.01 * (i + 1)));
  }
  EXPECT_EQ(hash.FinishDigest().Hex(), "489cf81c2eedc14e53f01284ad306b96");
}

}  // namespace
}  // namespace batchvar
