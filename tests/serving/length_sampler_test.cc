#include "sim/serving/length_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "sim/base/digest.h"

namespace batchvar {
namespace {

constexpr uint64_t kSeed = 42;
constexpr int kMany = 100000;

LengthSpec Spec(LengthDistribution distribution, double mean = 0, double stddev = 0,
                int32_t min = 1, int32_t max = 1 << 20) {
  LengthSpec spec;
  spec.distribution = distribution;
  spec.mean = mean;
  spec.stddev = stddev;
  spec.min = min;
  spec.max = max;
  return spec;
}

LengthSpec Zipf(double theta, int32_t min, int32_t max) {
  LengthSpec spec = Spec(LengthDistribution::kZipf, 0, 0, min, max);
  spec.theta = theta;
  return spec;
}

std::vector<int32_t> Lengths(const LengthSpec& spec, int count = kMany) {
  const LengthSampler sampler(spec, kSeed, "prompt_len");
  std::vector<int32_t> lengths;
  for (int i = 0; i < count; ++i) lengths.push_back(sampler.At(i));
  return lengths;
}

double Mean(const std::vector<int32_t>& lengths) {
  double sum = 0;
  for (const int32_t length : lengths) sum += length;
  return sum / static_cast<double>(lengths.size());
}

double Deviation(const std::vector<int32_t>& lengths) {
  const double mean = Mean(lengths);
  double squares = 0;
  for (const int32_t length : lengths) squares += (length - mean) * (length - mean);
  return std::sqrt(squares / static_cast<double>(lengths.size()));
}

TEST(LengthSampler, FixedIsFixed) {
  LengthSpec spec;
  spec.fixed = 812;
  EXPECT_EQ(Lengths(spec, 3), (std::vector<int32_t>{812, 812, 812}));
}

TEST(LengthSampler, UniformIncludesBothEnds) {
  std::map<int32_t, int> counts;
  for (const int32_t length : Lengths(Spec(LengthDistribution::kUniform, 0, 0, 5, 9))) {
    ++counts[length];
  }
  ASSERT_EQ(counts.size(), 5U);
  EXPECT_EQ(counts.begin()->first, 5);
  for (const auto& [length, count] : counts) {
    EXPECT_NEAR(count, kMany / 5, 4 * std::sqrt(kMany * 0.16)) << length;
  }
}

TEST(LengthSampler, NormalHasItsMomentsAndBounds) {
  const auto lengths = Lengths(Spec(LengthDistribution::kNormal, 1000, 100));
  EXPECT_NEAR(Mean(lengths), 1000, 4 * 100 / std::sqrt(kMany));
  EXPECT_NEAR(Deviation(lengths), 100, 4 * 100 / std::sqrt(2.0 * kMany));
  const auto bounded = Lengths(Spec(LengthDistribution::kNormal, 1000, 100, 950, 1100));
  EXPECT_EQ(*std::min_element(bounded.begin(), bounded.end()), 950);
  EXPECT_EQ(*std::max_element(bounded.begin(), bounded.end()), 1100);
  EXPECT_NEAR(static_cast<double>(std::count(bounded.begin(), bounded.end(), 950)) / kMany, 0.3106,
              0.01);  // P(Z < -0.495): the mass below the bound lies on it
}

// The mean and deviation of the length itself, not of its logarithm.
TEST(LengthSampler, LognormalHasItsMoments) {
  const auto lengths = Lengths(Spec(LengthDistribution::kLognormal, 1154, 1100));
  EXPECT_NEAR(Mean(lengths), 1154, 4 * 1100 / std::sqrt(kMany));
  EXPECT_NEAR(Deviation(lengths), 1100, 60);
  auto sorted = lengths;
  std::nth_element(sorted.begin(), sorted.begin() + kMany / 2, sorted.end());
  const double median = 1154 / std::sqrt(1 + std::pow(1100.0 / 1154.0, 2));
  EXPECT_NEAR(sorted[kMany / 2], median, 0.02 * median);
}

TEST(LengthSampler, ZipfFollowsItsWeights) {
  for (const double theta : {0.0, 0.6, 1.0, 2.0}) {
    double total = 0;
    double weighted = 0;
    for (int rank = 1; rank <= 1000; ++rank) {
      total += std::pow(rank, -theta);
      weighted += (rank + 99) * std::pow(rank, -theta);
    }
    const auto lengths = Lengths(Zipf(theta, 100, 1099));
    EXPECT_NEAR(Mean(lengths), weighted / total, 4 * Deviation(lengths) / std::sqrt(kMany));
    const double first = 1 / total;
    EXPECT_NEAR(static_cast<double>(std::count(lengths.begin(), lengths.end(), 100)) / kMany, first,
                4 * std::sqrt(first / kMany));
    EXPECT_GE(*std::min_element(lengths.begin(), lengths.end()), 100);
    EXPECT_LE(*std::max_element(lengths.begin(), lengths.end()), 1099);
  }
  const auto widest = Lengths(Zipf(0.5, 1, 1 << 20), 1000);
  EXPECT_GT(*std::max_element(widest.begin(), widest.end()), 1 << 19);
}

TEST(LengthSampler, EmpiricalFollowsItsWeights) {
  LengthSpec spec = Spec(LengthDistribution::kEmpirical);
  spec.empirical = {{7, 0.0}, {100, 3.0}, {50, 1.0}, {2000000, 4.0}, {9, 0.0}};
  std::map<int32_t, int> counts;
  for (const int32_t length : Lengths(spec)) ++counts[length];
  ASSERT_EQ(counts.size(), 3U);  // nothing of weight 0
  EXPECT_NEAR(counts[100], kMany * 3 / 8, 4 * std::sqrt(kMany * 0.24));
  EXPECT_NEAR(counts[50], kMany / 8, 4 * std::sqrt(kMany * 0.11));
  EXPECT_NEAR(counts[2000000], kMany / 2, 4 * std::sqrt(kMany * 0.25));
}

TEST(LengthSampler, ALengthBelongsToItsRequest) {
  const LengthSpec spec = Spec(LengthDistribution::kLognormal, 500, 500);
  const auto in_order = Lengths(spec, 100);
  const LengthSampler sampler(spec, kSeed, "prompt_len");
  for (int i = 99; i >= 0; --i) EXPECT_EQ(sampler.At(i), in_order[i]);
  const LengthSampler output(spec, kSeed, "output_len");
  const LengthSampler other_seed(spec, kSeed + 1, "prompt_len");
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    same += output.At(i) == in_order[i] ? 1 : 0;
    same += other_seed.At(i) == in_order[i] ? 1 : 0;
  }
  EXPECT_LT(same, 5);
}

TEST(LengthSamplerDeathTest, RefusesATableThatIsTooLarge) {
  EXPECT_DEATH(LengthSampler(Zipf(1, 1, (1 << 20) + 1), kSeed, "prompt_len"), "check failed");
}

TEST(LengthSampler, FirstThousandArePinned) {
  const auto digest = [](const LengthSpec& spec) {
    Sha256 hash;
    for (const int32_t length : Lengths(spec, 1000)) hash.UpdateI64(length);
    return hash.FinishDigest().ShortHex();
  };
  EXPECT_EQ(digest(Spec(LengthDistribution::kUniform, 0, 0, 1, 4096)), "8e9f0434");
  EXPECT_EQ(digest(Spec(LengthDistribution::kNormal, 1000, 300)), "dd1d9742");
  EXPECT_EQ(digest(Spec(LengthDistribution::kLognormal, 1000, 900)), "d6f8632b");
  EXPECT_EQ(digest(Zipf(0.8, 1, 8192)), "7cfc57c4");
}

}  // namespace
}  // namespace batchvar
