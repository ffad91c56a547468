#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/config/load_experiment.h"
#include "sim/config/load_sweep.h"
#include "sim/config/load_trials.h"
#include "tests/config/experiment_text.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

// Expands, reads the result back and expands again; both texts must be the same bytes.
void ExpectRoundTrip(const ExperimentSpec& spec, const std::string& folder) {
  const std::string once = ExpandToYaml(spec);
  const absl::StatusOr<ExperimentSpec> again =
      LoadExperimentText(once, "expanded.yaml", folder, {});
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << once;
  EXPECT_EQ(ExpandToYaml(*again), once);
  EXPECT_EQ(again->workload.trace.resolved_path, spec.workload.trace.resolved_path);
  EXPECT_EQ(again->padding.sizes, spec.padding.sizes);
  EXPECT_EQ(again->scheduler.num_gpu_blocks, spec.scheduler.num_gpu_blocks);
}

void ExpectTextRoundTrip(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<ExperimentSpec> spec = LoadText(text, overrides);
  ASSERT_TRUE(spec.ok()) << spec.status();
  ExpectRoundTrip(*spec, "");
}

TEST(ExpandToYaml, RoundTripsEveryShippedExperiment) {
  const std::string folder = ProjectPath("configs/experiments");
  const std::vector<std::string> files = ListFiles(folder, ".yaml");
  EXPECT_GE(files.size(), 5U);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    if (IsSweepFile(file)) continue;  // its cells are read by ShippedSweeps
    if (IsTrialsFile(file)) {
      const absl::StatusOr<TrialsSpec> trials = LoadTrials(file, {});
      ASSERT_TRUE(trials.ok()) << trials.status();
      for (const ArmSpec& arm : trials->arms) ExpectRoundTrip(arm.spec, folder);
      continue;
    }
    const absl::StatusOr<ExperimentSpec> spec = LoadExperiment(file, {});
    ASSERT_TRUE(spec.ok()) << spec.status();
    ExpectRoundTrip(*spec, folder);
  }
}

TEST(ExpandToYaml, RoundTripsEveryModelDeviceAndPolicy) {
  for (const std::string& file : ListFiles(ProjectPath("configs/models"), ".yaml")) {
    ExpectTextRoundTrip(kHead, {"model=" + file, "device=b200"});
  }
  for (const std::string& file : ListFiles(ProjectPath("configs/devices"), ".yaml")) {
    ExpectTextRoundTrip(kHead, {"model=qwen3_0_6b", "device=" + file});
  }
  for (const std::string& file : ListFiles(ProjectPath("configs/policies"), ".yaml")) {
    ExpectTextRoundTrip(kHead, {"policies=" + file, "dtype=fp16"});
  }
}

TEST(ExpandToYaml, RoundTripsEveryScheduler) {
  for (const char* scheduler :
       {"{policy: static, padding: exact}", "{policy: orca, capture_sizes: [1, 2, 300]}",
        "{capture_version: vllm_0_11, enable_prefix_caching: false, watermark: 0.0123456789}",
        "{max_num_batched_tokens: 100, gpu_memory_utilization: 0.123, priority: priority}"}) {
    ExpectTextRoundTrip(kHead + ("scheduler: " + std::string(scheduler)) + "\n",
                        {"model=qwen3_0_6b"});
  }
}

TEST(ExpandToYaml, RoundTripsEveryArrivalProcessAndLength) {
  for (const char* arrivals :
       {"{process: constant, rate_per_s: 0.1}", "{process: poisson, rate_per_s: 1e-7}",
        "{process: gamma, rate_per_s: 3, burstiness: 0.3}",
        "{process: weibull, rate_per_s: 1e22, cv: 0.7}", "{process: all_at_once}",
        "{process: closed_loop, concurrency: 9, think_time_s: 0.25}",
        "{process: piecewise, rates: [{duration_s: 0.1, rate_per_s: 0}, {duration_s: 2, "
        "rate_per_s: 7}]}",
        "{process: ramp, start_rate_per_s: 0, end_rate_per_s: 3.3, duration_s: 60}"}) {
    ExpectTextRoundTrip(kHead, {std::string("workload.arrivals=") + arrivals});
  }
  for (const char* length :
       {"{fixed: 7}", "{uniform: {min: 1, max: 5}}", "{normal: {mean: 9.5, stddev: 0.1}}",
        "{lognormal: {mean: 9.5, stddev: 3, min: 2, max: 90}}",
        "{zipf: {theta: 0.6, min: 1, max: 4096}}"}) {
    ExpectTextRoundTrip(kHead, {std::string("workload.output_len=") + length});
  }
}

TEST(ExpandToYaml, QuotesTextThatYamlWouldReadAsSomethingElse) {
  ExperimentSpec spec = SpecWith("");
  for (const char* name : {"true", "010", "a: b # c", "quote \" and \\", "tab\tand\nnewline", "",
                           "na\xC3\xAFve", "- item", "null", "*alias", "plain_name", "\x7F"}) {
    spec.model.name = name;
    spec.device.source = name;
    const absl::StatusOr<ExperimentSpec> again = LoadText(ExpandToYaml(spec));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->model.name, name);
    EXPECT_EQ(again->device.source, name);
  }
}

TEST(ExpandToYaml, ShowsResolvedValuesAndFullSeeds) {
  const std::string text = ExpandToYaml(SpecWith("seed: 18446744073709551615\n"));
  EXPECT_NE(text.find("seed: 18446744073709551615\n"), std::string::npos);
  EXPECT_NE(text.find("  num_gpu_blocks: 28232\n"), std::string::npos);
  EXPECT_NE(text.find("  max_model_len: 8192\n"), std::string::npos);
  EXPECT_NE(text.find("  gpu_memory_utilization: 0.9\n"), std::string::npos);
}

TEST(StarterExperiment, Loads) {
  const absl::StatusOr<ExperimentSpec> spec = LoadText(StarterExperiment());
  ASSERT_TRUE(spec.ok()) << spec.status();
  ExpectRoundTrip(*spec, "");
}

}  // namespace
}  // namespace batchvar
