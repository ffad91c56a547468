#include "sim/divergence/logit_noise.h"

#include <gtest/gtest.h>

#include <vector>

namespace batchvar {
namespace {

TopTwo Decision(int64_t top, float top_logit, int64_t runner_up, float runner_up_logit) {
  return {top, runner_up, top_logit, runner_up_logit};
}

TEST(NoiseBand, SpansTheTrialsThatSharedTheText) {
  const std::vector<TopTwo> reference = {Decision(5, 2.0f, 7, 1.0f), Decision(3, 4.0f, 1, 3.5f),
                                         Decision(9, 8.0f, 2, 1.0f)};
  const std::vector<std::vector<TopTwo>> trials = {
      {Decision(5, 2.5f, 7, 1.0f), Decision(3, 4.0f, 1, 3.75f), Decision(9, 8.0f, 2, 1.5f)},
      // Parts at token 1: counted there, not behind it.
      {Decision(5, 1.75f, 7, 1.0f), Decision(1, 4.0f, 3, 3.875f), Decision(9, 100.0f, 2, 0.0f)}};
  const NoiseBand band = NoiseBandOf(reference, trials);
  EXPECT_EQ(band.low, (std::vector<float>{0.75f, -0.125f, 6.5f}));
  EXPECT_EQ(band.high, (std::vector<float>{1.5f, 0.5f, 7.0f}));
  const NoiseSummary summary = SummaryOf(band, reference);
  EXPECT_EQ(summary.median_width, 0.625);  // 0.75, 0.625, 0.5
  EXPECT_EQ(summary.max_width, 0.75);
  EXPECT_EQ(summary.within, 1);  // only token 1's margin of 0.5 is inside of 0.625
}

TEST(NoiseBand, EqualTrialsHaveNoWidthAndNoNearTies) {
  const std::vector<TopTwo> reference = {Decision(1, 1.0f, 0, 1.0f)};
  const NoiseBand band = NoiseBandOf(reference, std::vector<std::vector<TopTwo>>{reference});
  EXPECT_EQ(band.low, band.high);
  EXPECT_EQ(SummaryOf(band, reference).within, 0);
}

TEST(NoiseBand, ShorterTrialsCountAsFarAsTheyGo) {
  const std::vector<TopTwo> reference = {Decision(5, 2.0f, 7, 1.0f), Decision(3, 4.0f, 1, 3.5f)};
  const std::vector<std::vector<TopTwo>> trials = {{Decision(5, 3.0f, 7, 1.0f)}};
  const NoiseBand band = NoiseBandOf(reference, trials);
  EXPECT_EQ(band.high, (std::vector<float>{2.0f, 0.5f}));
}

TEST(LogitDifference, ComparesTheTokensThatBothKnow) {
  const TopTwo a = Decision(5, 16.0f, 7, 15.875f);
  const TopTwo swapped = Decision(7, 16.125f, 5, 16.0f);
  const LogitDifference fp32 = LogitDifferenceOf(a, swapped, DType::kFp32);
  EXPECT_TRUE(fp32.known);
  EXPECT_EQ(fp32.max_abs, 0.25);
  // 15.875 to 16 is one bf16 number apart twice over: 1/16 below 16, 1/8 above it.
  EXPECT_EQ(LogitDifferenceOf(a, swapped, DType::kBf16).max_ulp, 3u);
  EXPECT_GT(fp32.max_ulp, 1000u);
}

TEST(LogitDifference, IsUnknownWithoutACommonToken) {
  const LogitDifference none =
      LogitDifferenceOf(Decision(5, 1.0f, 7, 0.5f), Decision(4, 1.0f, 6, 0.5f), DType::kFp32);
  EXPECT_FALSE(none.known);
}

}  // namespace
}  // namespace batchvar
