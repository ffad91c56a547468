#include "sim/divergence/probe_terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "sim/numerics/float_bits.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {
namespace {

TEST(ProbeTerms, TheNumbersAreExactInEveryTypeThatRoundsOnTheWay) {
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    EXPECT_EQ(RoundTo(kProbeLarge, dtype), kProbeLarge);
    for (int64_t count = 1; count <= kMaxProbeTerms; ++count) {
      const float units = static_cast<float>(count) * kProbeUnit;
      EXPECT_EQ(RoundTo(units, dtype), units);
    }
  }
}

TEST(ProbeTerms, LargeSwallowsEveryUnitThatComesBeforeItsOpposite) {
  const float most = static_cast<float>(kMaxProbeTerms) * kProbeUnit;
  EXPECT_EQ(kProbeLarge + most, kProbeLarge);
  EXPECT_EQ(most - kProbeLarge, -kProbeLarge);
  const uint16_t ones[16] = {Bf16Of(1), Bf16Of(1)};
  const uint16_t pair[16] = {Bf16Of(kProbeLarge), Bf16Of(-kProbeLarge)};
  for (const MmaModel& model : {kMmaModelSm80, kMmaModelSm90}) {
    EXPECT_EQ(FusedDotAdd(model, DType::kBf16, ones, 1, pair, 1, BitsOf(most)), 0u);
  }
}

TEST(ProbeTerms, PlacesAreAllOfAShortSum) {
  const std::vector<int64_t> all = ProbePlaces(20, 64);
  ASSERT_EQ(all.size(), 20u);
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(all[i], i);
}

TEST(ProbeTerms, PlacesOfALongSumAreDistinctAndSpread) {
  for (const int64_t extent : {65, 100, 257, 576, 4096, 14336}) {
    for (const int64_t count : {1, 2, 5, 64, 100, 256}) {
      if (extent <= count) continue;
      const std::vector<int64_t> places = ProbePlaces(extent, count);
      const std::set<int64_t> distinct(places.begin(), places.end());
      EXPECT_EQ(distinct.size(), places.size());
      EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
      EXPECT_EQ(places.front(), 0);
      if (count > 7) {
        EXPECT_EQ(places.back(), extent - 1);
      }
      EXPECT_LT(places.back(), extent);
      EXPECT_GT(std::ssize(places), count - 4);
      EXPECT_LE(std::ssize(places), count);
    }
  }
}

// Runs of four that all begin at a multiple of 16 would never lie across two instructions.
TEST(ProbeTerms, SomeRunsLieAcrossInstructions) {
  const std::vector<int64_t> places = ProbePlaces(4096, 64);
  std::set<int64_t> crossed;
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i] != places[i - 1] + 1) continue;
    for (const int64_t width : {2, 4, 8, 16}) {
      if (places[i] % width == 0) crossed.insert(width);
    }
  }
  EXPECT_EQ(crossed, (std::set<int64_t>{2, 4, 8, 16}));
}

}  // namespace
}  // namespace batchvar
