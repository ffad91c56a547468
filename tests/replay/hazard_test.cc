// Requests that meet a class change, and the flips expected of them: mechanism against rate.
#include "sim/replay/hazard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/replay/lone_request.h"
#include "sim/replay/row_comparison.h"
#include "tests/io/temp_file.h"
#include "tests/replay/experiments.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

constexpr TimeNs kHour = 3600 * kNsPerSecond;

Exposure ExposureOf(const ExperimentSpec& spec) {
  auto exposure = MeasureExposure(spec, {});
  EXPECT_TRUE(exposure.ok()) << exposure.status();
  return std::move(*exposure);
}

ExperimentSpec Poisson(double rate, int count, const std::vector<std::string>& overrides = {}) {
  return ExperimentOf(
      "model: qwen3_8b\ndevice: h100_sxm\npolicies: vllm_h100\nworkload:\n"
      "  arrivals: {process: poisson, rate_per_s: " +
          std::to_string(rate) +
          "}\n  prompt_len: {uniform: {min: 20, max: 300}}\n  output_len: {uniform: {min: 20, max: "
          "200}}\n  num_requests: " +
          std::to_string(count) + "\n",
      overrides);
}

TEST(Exposure, ARequestAloneMeetsNothing) {
  const Exposure exposure = ExposureOf(AllAtOnce(1));
  ASSERT_EQ(exposure.requests.size(), 1U);
  EXPECT_EQ(exposure.requests[0].tokens, 32);
  EXPECT_EQ(exposure.requests[0].exposed, 0);
}

TEST(Exposure, EveryTokenIsCountedOnce) {
  const Exposure exposure = ExposureOf(AllAtOnce(40));
  for (const RequestExposure& request : exposure.requests) {
    EXPECT_EQ(request.tokens, 32);
    EXPECT_GT(request.exposed, 0);  // M 40 is one pass where M 1 is cut
  }
  EXPECT_GT(exposure.typical_m, 16);
}

TEST(Exposure, BatchInvariantPoliciesLeaveNothingToMeet) {
  for (const RequestExposure& request :
       ExposureOf(AllAtOnce(40, {"policies=batch_invariant"})).requests) {
    EXPECT_EQ(request.exposed, 0);
  }
}

// The census against a comparison of every single row with the request alone.
TEST(Exposure, AgreesWithRowByRowComparison) {
  for (const char* policies :
       {"policies=vllm_h100", "policies=textbook", "policies={gemm: stream_k, attention: fa3}"}) {
    const ExperimentSpec spec = Poisson(20, 40, {policies});
    const Exposure exposure = ExposureOf(spec);
    ReplayOptions options;
    for (int i = 0; i < 40; ++i) options.requests.push_back("r" + std::to_string(i));
    auto replay = Replay(spec, options);
    ASSERT_TRUE(replay.ok()) << replay.status();
    for (int i = 0; i < 40; ++i) {
      const RequestHistory& met = *replay->histories[i];
      const Request& request = met.request();
      const RequestHistory alone = ServeAlone(spec, *replay->book, request);
      const RowComparison rows = CompareRows(alone, replay->book.get(), met, replay->book.get());
      // A step that runs past the last token (asynchronous scheduling) answers nobody.
      const int64_t last = request.prompt_tokens + request.output_tokens - 1;
      const bool differs = rows.first.has_value() && rows.first->position < last;
      EXPECT_EQ(differs, exposure.requests[i].exposed > 0) << policies << " " << i;
    }
  }
}

TEST(Exposure, ThinningHalvesTheFlipsAndNotTheShare) {
  const MarginNoise noise = GivenNoise(0.4, 0.1);
  const auto total = [&noise](const Exposure& exposure) {
    return HazardTotal(HazardWindows(exposure.requests, noise, kHour));
  };
  const HazardWindow full = total(ExposureOf(Poisson(16, 1200)));
  const HazardWindow half = total(ExposureOf(Poisson(8, 600)));  // in the same time
  EXPECT_NEAR(half.expected_flips / full.expected_flips, 0.5, 0.08);
  const auto share = [](const HazardWindow& window) {
    return static_cast<double>(window.meeting) / static_cast<double>(window.requests);
  };
  EXPECT_GT(share(full), 0.9);
  EXPECT_NEAR(share(half), share(full), 0.05);
}

// Every second request of a traced quarter of an hour.
TEST(Exposure, ThinningATrace) {
  const std::string path = TracesPath("azure2023/AzureLLMInferenceTrace_conv.csv");
  BATCHVAR_SKIP_WITHOUT(path);
  const std::vector<std::string> lines = ReadLinesOrDie(path);
  std::string text = lines[0] + "\n";
  for (size_t i = 1; i < lines.size(); i += 2) text += lines[i] + "\n";
  const TempFile thinned(text, ".csv");
  const auto of = [](const std::string& file) {
    const Exposure exposure = ExposureOf(ExperimentOf(
        "model: llama31_8b\ndevice: h100_sxm\npolicies: vllm_h100\nworkload: {trace: {path: " +
        file + ", format: azure, end_s: 900}}\n"));
    return HazardTotal(HazardWindows(exposure.requests, GivenNoise(0.4, 0.1), kHour));
  };
  const HazardWindow full = of(path), half = of(thinned.path());
  EXPECT_NEAR(half.expected_flips / full.expected_flips, 0.5, 0.1);
  EXPECT_NEAR(static_cast<double>(half.meeting) / static_cast<double>(half.requests),
              static_cast<double>(full.meeting) / static_cast<double>(full.requests), 0.1);
}

// KV that was computed in another class exposes whoever takes it over. The first block of `later`
// is computed by `first`, whose prompt of 16 tokens is cut as M 16 when it is alone; among 900
// other tokens it is one pass, as all of `later` would be.
TEST(Exposure, ComesWithThePrefixCache) {
  for (const bool with_neighbour : {false, true}) {
    std::string rows = R"({"request_id":"first","arrival_ns":0,"prompt_tokens":16,)"
                       R"("output_tokens":1,"prefix":[[1,16]]})"
                       "\n";
    if (with_neighbour) {
      rows += R"({"request_id":"other","arrival_ns":0,"prompt_tokens":900,"output_tokens":1})"
              "\n";
    }
    rows += R"({"request_id":"later","arrival_ns":9000000000,"prompt_tokens":56,)"
            R"("output_tokens":1,"prefix":[[1,16]]})"
            "\n";
    const TempFile file(rows, ".jsonl");
    const Exposure exposure = ExposureOf(
        ExperimentOf("model: qwen3_8b\ndevice: h100_sxm\nworkload: {trace: {path: " + file.path() +
                     ", format: jsonl}}\n"));
    EXPECT_EQ(exposure.replay.simulation.requests.back().cached_tokens, 16);
    EXPECT_EQ(exposure.requests.back().tokens, 1);
    EXPECT_EQ(exposure.requests.back().exposed, with_neighbour ? 0 : 1);
  }
}

TEST(Hazard, WindowsHoldWhatArrivedInThem) {
  const std::vector<RequestExposure> requests = {
      {0, 10, 0}, {kHour - 1, 10, 10}, {3 * kHour, 100, 50}};
  const MarginNoise noise = GivenNoise(0.5, 0.2);
  EXPECT_NEAR(noise.FlipsPerToken(), 0.5 * 0.2 / std::sqrt(2 * M_PI), 1e-12);
  const auto windows = HazardWindows(requests, noise, kHour);
  ASSERT_EQ(windows.size(), 4U);
  EXPECT_EQ(windows[0].requests, 2);
  EXPECT_EQ(windows[0].meeting, 1);
  EXPECT_EQ(windows[1].requests, 0);
  EXPECT_EQ(windows[3].start_ns, 3 * kHour);
  EXPECT_EQ(windows[3].exposed, 50);
  EXPECT_NEAR(windows[3].expected_flips, 50 * noise.FlipsPerToken(), 1e-9);
  EXPECT_NEAR(windows[3].expected_changed, 1 - std::pow(1 - noise.FlipsPerToken(), 50), 1e-9);
  EXPECT_EQ(HazardTotal(windows).tokens, 120);
}

TEST(Hazard, MoreThanOneFlipATokenIsNotARate) {
  EXPECT_EQ(GivenNoise(100, 100).FlipsPerToken(), 1.0);
  EXPECT_EQ(GivenNoise(0, 100).FlipsPerToken(), 0.0);
  const auto windows = HazardWindows({{0, 5, 5}}, GivenNoise(100, 100), kHour);
  EXPECT_EQ(windows[0].expected_changed, 1.0);
}

}  // namespace
}  // namespace batchvar
