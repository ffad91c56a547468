#include "sim/serving/arrival_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/digest.h"

namespace batchvar {
namespace {

constexpr uint64_t kSeed = 42;
constexpr int kMany = 200000;

ArrivalSpec Spec(ArrivalProcess process, double rate_per_s, double cv = 1.0) {
  ArrivalSpec spec;
  spec.process = process;
  spec.rate_per_s = rate_per_s;
  spec.cv = cv;
  return spec;
}

ArrivalSpec Piecewise(std::vector<RatePiece> rates) {
  ArrivalSpec spec;
  spec.process = ArrivalProcess::kPiecewise;
  spec.rates = std::move(rates);
  return spec;
}

ArrivalSpec Ramp(double start, double end, double duration_s) {
  ArrivalSpec spec;
  spec.process = ArrivalProcess::kRamp;
  spec.start_rate_per_s = start;
  spec.end_rate_per_s = end;
  spec.duration_s = duration_s;
  return spec;
}

// The first `count` arrivals, fewer if the process ends.
std::vector<TimeNs> Arrivals(const ArrivalSpec& spec, int count, uint64_t seed = kSeed) {
  ArrivalTimes times(spec, seed);
  std::vector<TimeNs> arrivals;
  while (static_cast<int>(arrivals.size()) < count) {
    const std::optional<TimeNs> next = times.Next();
    if (!next.has_value()) break;
    EXPECT_GE(*next, arrivals.empty() ? 0 : arrivals.back());
    arrivals.push_back(*next);
  }
  return arrivals;
}

std::vector<double> GapsInSeconds(const std::vector<TimeNs>& arrivals) {
  std::vector<double> gaps;
  TimeNs last = 0;
  for (const TimeNs arrival : arrivals) {
    gaps.push_back(static_cast<double>(arrival - last) / 1e9);
    last = arrival;
  }
  return gaps;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Cv(const std::vector<double>& values) {
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size())) / mean;
}

int64_t CountIn(const std::vector<TimeNs>& arrivals, double from_s, double to_s) {
  return std::count_if(arrivals.begin(), arrivals.end(), [&](TimeNs at) {
    const double second = static_cast<double>(at) / 1e9;
    return second >= from_s && second < to_s;
  });
}

// A Poisson count lies within four of its standard deviations of the integral of the rate.
void ExpectPoissonCount(int64_t count, double expected) {
  EXPECT_NEAR(static_cast<double>(count), expected, 4 * std::sqrt(expected));
}

TEST(NsClock, KeepsTheFraction) {
  NsClock clock;
  for (int i = 0; i < 3000; ++i) clock.Advance(1.0 / 3.0);
  EXPECT_NEAR(static_cast<double>(clock.now()) + clock.fraction(), 1000.0, 1e-9);
  clock.Advance(0x1p62);
  EXPECT_EQ(clock.now(), kArrivalHorizonNs);
  clock.Advance(1.0);
  EXPECT_EQ(clock.now(), kArrivalHorizonNs);
  EXPECT_EQ(NsFromSeconds(0.5e-9), 1);
  EXPECT_EQ(NsFromSeconds(1e30), kArrivalHorizonNs);
}

TEST(ArrivalTimes, ConstantIsTheFloorOfTheTrueTimes) {
  const std::vector<TimeNs> arrivals = Arrivals(Spec(ArrivalProcess::kConstant, 3.0), 300000);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    ASSERT_EQ(arrivals[i], static_cast<TimeNs>(i + 1) * kNsPerSecond / 3) << i;
  }
}

// At 3e8 per second a gap is 3.3 ns. Rounded gap by gap the rate would be 10 % too high.
TEST(ArrivalTimes, RoundingDoesNotBiasTheRate) {
  for (const ArrivalProcess process :
       {ArrivalProcess::kConstant, ArrivalProcess::kPoisson, ArrivalProcess::kGamma}) {
    const std::vector<TimeNs> arrivals = Arrivals(Spec(process, 3e8), kMany);
    EXPECT_NEAR(static_cast<double>(arrivals.back()) / (kMany / 0.3), 1.0,
                process == ArrivalProcess::kConstant ? 2e-6 : 4 / std::sqrt(kMany));
  }
}

struct RenewalCase {
  ArrivalProcess process;
  double cv;
};

TEST(ArrivalTimes, GapsHaveTheirMeanAndCv) {
  for (const RenewalCase& test :
       {RenewalCase{ArrivalProcess::kPoisson, 1.0}, RenewalCase{ArrivalProcess::kGamma, 0.25},
        RenewalCase{ArrivalProcess::kGamma, 1.0}, RenewalCase{ArrivalProcess::kGamma, 3.0},
        RenewalCase{ArrivalProcess::kWeibull, 0.25}, RenewalCase{ArrivalProcess::kWeibull, 1.0},
        RenewalCase{ArrivalProcess::kWeibull, 3.0}}) {
    const std::vector<double> gaps =
        GapsInSeconds(Arrivals(Spec(test.process, 5.0, test.cv), kMany));
    // Four standard errors: 0.9 % at cv 1. Gaps cut at three means, a known fault, would be 5.2 %
    // off and have a cv of 0.88.
    EXPECT_NEAR(Mean(gaps) * 5.0, 1.0, 4 * test.cv / std::sqrt(kMany)) << test.cv;
    EXPECT_NEAR(Cv(gaps) / test.cv, 1.0, test.cv > 1 ? 0.1 : 0.015) << test.cv;
  }
}

TEST(ArrivalTimes, PoissonGapsAreExponential) {
  std::vector<double> gaps = GapsInSeconds(Arrivals(Spec(ArrivalProcess::kPoisson, 5.0), kMany));
  std::sort(gaps.begin(), gaps.end());
  double worst = 0;
  for (int i = 0; i < kMany; ++i) {
    worst = std::max(worst, std::abs(1 - std::exp(-5.0 * gaps[i]) - (i + 0.5) / kMany));
  }
  EXPECT_LT(worst * std::sqrt(kMany), 1.95);  // Kolmogorov-Smirnov, p = 0.001
  EXPECT_GT(gaps.back() * 5.0, 9.0);          // no cut tail
}

// Poisson counts have variance = mean in windows of any size, also when the counts of a run are
// not forced to add up (rescaled gaps would shrink it).
TEST(ArrivalTimes, PoissonCountsAreDispersedAsTheyShould) {
  double dispersion = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    const auto arrivals = Arrivals(Spec(ArrivalProcess::kPoisson, 100.0), 300, 1000 + run);
    const auto count = static_cast<double>(CountIn(arrivals, 0, 1));
    dispersion += (count - 100) * (count - 100) / 100;
  }
  EXPECT_NEAR(dispersion / kRuns, 1.0, 4 * std::sqrt(2.0 / kRuns));
}

TEST(ArrivalTimes, PiecewiseFollowsItsRates) {
  const auto arrivals =
      Arrivals(Piecewise({{100, 20}, {50, 0}, {0, 999}, {100, 80}, {1, 40}}), 30000);
  ExpectPoissonCount(CountIn(arrivals, 0, 100), 2000);
  EXPECT_EQ(CountIn(arrivals, 100, 150), 0);
  ExpectPoissonCount(CountIn(arrivals, 150, 250), 8000);
  ExpectPoissonCount(CountIn(arrivals, 250, 450), 8000);  // the last rate goes on
  // Just behind an edge the new rate holds at once; a gap drawn at the old rate would still reach
  // across. Each run has its first arrival behind the pause after an exponential of mean 1/80 s.
  double wait = 0;
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) {
    const auto one = Arrivals(Piecewise({{0.5, 1}, {0.5, 0}, {1, 80}}), 10, run);
    const auto first = std::find_if(one.begin(), one.end(), [](TimeNs t) { return t > 500000000; });
    wait += static_cast<double>(*first) / 1e9 - 1.0;
  }
  EXPECT_NEAR(wait / kRuns * 80, 1.0, 4 / std::sqrt(kRuns));
}

TEST(ArrivalTimes, RampFollowsItsIntegral) {
  for (const auto& [start, end] :
       {std::pair{10.0, 90.0}, {90.0, 10.0}, {0.0, 50.0}, {50.0, 50.0}}) {
    const auto arrivals = Arrivals(Ramp(start, end, 100), 40000);
    const double slope = (end - start) / 100;
    const auto integral = [&, start = start](double t) { return start * t + slope * t * t / 2; };
    for (int window = 0; window < 10; ++window) {
      const double from = 10.0 * window;
      ExpectPoissonCount(CountIn(arrivals, from, from + 10), integral(from + 10) - integral(from));
    }
    ExpectPoissonCount(CountIn(arrivals, 100, 200), 100 * end);
  }
}

TEST(ArrivalTimes, EndsWhereTheRateDoes) {
  const auto down = Arrivals(Ramp(50, 0, 100), 10000);
  ExpectPoissonCount(static_cast<int64_t>(down.size()), 2500);
  EXPECT_LE(down.back(), 100 * kNsPerSecond);
  const auto pieces = Arrivals(Piecewise({{10, 100}, {1, 0}}), 10000);
  ExpectPoissonCount(static_cast<int64_t>(pieces.size()), 1000);
  EXPECT_TRUE(Arrivals(Piecewise({}), 5).empty());
  EXPECT_TRUE(Arrivals(Spec(ArrivalProcess::kPoisson, 0), 5).empty());
  EXPECT_TRUE(Arrivals(Spec(ArrivalProcess::kGamma, 0, 2.0), 5).empty());
  // Beyond the horizon of 73 years; nothing wraps and nothing piles up there.
  EXPECT_EQ(Arrivals(Spec(ArrivalProcess::kConstant, 1e-9), 5).size(), 2U);
  EXPECT_LT(Arrivals(Spec(ArrivalProcess::kPoisson, 1e-9), 50).size(), 50U);
}

TEST(ArrivalTimes, AllAtOnceIsAtZero) {
  EXPECT_EQ(Arrivals(Spec(ArrivalProcess::kAllAtOnce, 7), 3), (std::vector<TimeNs>{0, 0, 0}));
}

TEST(ArrivalTimes, CvZeroIsConstant) {
  const auto constant = Arrivals(Spec(ArrivalProcess::kConstant, 7), 100);
  EXPECT_EQ(Arrivals(Spec(ArrivalProcess::kGamma, 7, 0), 100), constant);
  EXPECT_EQ(Arrivals(Spec(ArrivalProcess::kWeibull, 7, 0), 100), constant);
}

TEST(WeibullShape, HasTheCvItWasMadeFrom) {
  EXPECT_NEAR(WeibullShapeOfCv(1.0), 1.0, 1e-12);
  EXPECT_NEAR(WeibullShapeOfCv(std::sqrt(5.0)), 0.5, 1e-12);  // Gamma(5) / Gamma(3)^2 - 1 = 5
  for (const double cv : {0.01, 0.1, 0.5, 2.0, 13.0, 1038.0}) {
    const double shape = WeibullShapeOfCv(cv);
    const double ratio = std::exp(std::lgamma(1 + 2 / shape) - 2 * std::lgamma(1 + 1 / shape));
    EXPECT_NEAR(std::sqrt(ratio - 1) / cv, 1.0, 1e-8) << cv;
  }
}

// A change here means that every stored seed gives another run: say so in the change log.
TEST(ArrivalTimes, FirstThousandArePinned) {
  const auto digest = [](const ArrivalSpec& spec) {
    Sha256 hash;
    for (const TimeNs arrival : Arrivals(spec, 1000)) hash.UpdateI64(arrival);
    return hash.FinishDigest().ShortHex();
  };
  EXPECT_EQ(digest(Spec(ArrivalProcess::kConstant, 3.0)), "6e6c6a37");
  EXPECT_EQ(digest(Spec(ArrivalProcess::kPoisson, 3.0)), "e7547e5b");
  EXPECT_EQ(digest(Spec(ArrivalProcess::kGamma, 3.0, 2.0)), "69271411");
  EXPECT_EQ(digest(Spec(ArrivalProcess::kWeibull, 3.0, 2.0)), "c94d64e2");
  EXPECT_EQ(digest(Piecewise({{60, 2}, {60, 9}, {60, 4}})), "9960c820");
  EXPECT_EQ(digest(Ramp(1, 20, 120)), "1855265b");
}

TEST(ArrivalTimes, AnotherSeedIsAnotherRun) {
  const ArrivalSpec spec = Spec(ArrivalProcess::kPoisson, 3.0);
  EXPECT_EQ(Arrivals(spec, 100, 1), Arrivals(spec, 100, 1));
  EXPECT_NE(Arrivals(spec, 100, 1), Arrivals(spec, 100, 2));
}

}  // namespace
}  // namespace batchvar
