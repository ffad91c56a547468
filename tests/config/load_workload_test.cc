#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/load_experiment.h"
#include "tests/config/experiment_text.h"

namespace batchvar {
namespace {

absl::StatusOr<ExperimentSpec> LoadWorkload(const std::string& keys) {
  return LoadText(kHeadWithoutWorkload + std::string("workload: {") + keys + "}\n");
}

std::string WorkloadError(const std::string& keys) {
  const absl::StatusOr<ExperimentSpec> spec = LoadWorkload(keys);
  return spec.ok() ? "ok" : std::string(spec.status().message());
}

constexpr char kLengths[] = ", prompt_len: {fixed: 8}, output_len: {fixed: 4}";

std::string ArrivalError(const std::string& keys) {
  return WorkloadError("arrivals: {" + keys + "}" + kLengths);
}

ArrivalSpec Arrivals(const std::string& keys) {
  const absl::StatusOr<ExperimentSpec> spec = LoadWorkload("arrivals: {" + keys + "}" + kLengths);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? spec->workload.synthetic.arrivals : ArrivalSpec();
}

TEST(LoadWorkload, IsATraceOrArrivalsButNotBoth) {
  EXPECT_EQ(WorkloadError("trace: {path: t.csv, format: azure}, num_requests: 5"),
            "exp.yaml:3:49: workload.num_requests: is not used by a workload with a trace; remove "
            "it");
  EXPECT_EQ(WorkloadError("arrivals: {process: poisson, rate_per_s: 3}, trace: {path: t.csv, "
                          "format: azure}"),
            "exp.yaml:3:12: workload.arrivals: is not used by a workload with a trace; remove it");
  EXPECT_EQ(WorkloadError(""), "exp.yaml:3:11: workload.arrivals: is required");
  EXPECT_EQ(WorkloadError("arrivals: {process: all_at_once}, prompt_len: {fixed: 1}"),
            "exp.yaml:3:11: workload.output_len: is required");
  EXPECT_EQ(WorkloadError("arivals: {}"),
            "exp.yaml:3:12: workload.arivals: unknown key 'arivals'; did you mean 'arrivals'?");
  EXPECT_EQ(
      WorkloadError(std::string("num_requests: 0, arrivals: {process: all_at_once}") + kLengths),
      "exp.yaml:3:26: workload.num_requests: must be between 1 and 1000000000, got 0");
}

TEST(LoadTrace, ReadsEveryKey) {
  const absl::StatusOr<ExperimentSpec> spec = LoadWorkload(
      "trace: {path: a b.jsonl, format: mooncake, block_size: 16, time_scale: 2, start_s: 10,\n"
      "end_s: 20.5, max_requests: 7, strict: true}");
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_TRUE(spec->workload.has_trace);
  const TraceSpec& trace = spec->workload.trace;
  EXPECT_EQ(trace.path, "a b.jsonl");
  EXPECT_EQ(trace.resolved_path, "a b.jsonl");
  EXPECT_EQ(trace.format, "mooncake");
  EXPECT_EQ(trace.block_size, 16);
  EXPECT_EQ(trace.time_scale, 2);
  EXPECT_EQ(trace.start_s, 10);
  EXPECT_EQ(trace.end_s, 20.5);
  EXPECT_EQ(trace.max_requests, 7);
  EXPECT_TRUE(trace.strict);
}

TEST(LoadTrace, ChecksValues) {
  EXPECT_EQ(WorkloadError("trace: {format: azure}"),
            "exp.yaml:3:19: workload.trace.path: is required");
  EXPECT_EQ(WorkloadError("trace: {path: t}"), "exp.yaml:3:19: workload.trace.format: is required");
  EXPECT_EQ(WorkloadError("trace: {path: t, format: azur}"),
            "exp.yaml:3:37: workload.trace.format: 'azur' is not one of azure, burstgpt, mooncake, "
            "bailian, vidur, jsonl, llmservingsim; did you mean 'azure'?");
  EXPECT_EQ(WorkloadError("trace: {path: '', format: azure}"),
            "exp.yaml:3:26: workload.trace.path: is empty");
  EXPECT_EQ(WorkloadError("trace: {path: t, format: azure, time_scale: 0}"),
            "exp.yaml:3:56: workload.trace.time_scale: must be above 0, got 0");
  EXPECT_EQ(WorkloadError("trace: {path: t, format: azure, start_s: 5, end_s: 5}"),
            "exp.yaml:3:63: workload.trace.end_s: must be after start_s (0 means the trace's end)");
  EXPECT_EQ(WorkloadError("trace: {path: t, format: azure, strict: yes}"),
            "exp.yaml:3:52: workload.trace.strict: 'yes' is not a boolean; write true");
  EXPECT_EQ(WorkloadError("trace: t.csv"),
            "exp.yaml:3:19: workload.trace: must be a map of keys, not a single value");
  EXPECT_EQ(WorkloadError("trace: {path: t, format: azure, rate_per_s: 3}"),
            "exp.yaml:3:44: workload.trace.rate_per_s: unknown key 'rate_per_s'");
}

TEST(LoadArrivals, ReadsEveryProcess) {
  EXPECT_EQ(Arrivals("process: constant, rate_per_s: 2").process, ArrivalProcess::kConstant);
  EXPECT_EQ(Arrivals("process: poisson, rate_per_s: 0.5").rate_per_s, 0.5);
  EXPECT_EQ(Arrivals("process: gamma, rate_per_s: 1").cv, 1.0);
  EXPECT_EQ(Arrivals("process: gamma, rate_per_s: 1, cv: 3").cv, 3.0);
  EXPECT_EQ(Arrivals("process: gamma, rate_per_s: 1, burstiness: 0.25").cv, 2.0);
  EXPECT_EQ(Arrivals("process: weibull, rate_per_s: 1, cv: 2").process, ArrivalProcess::kWeibull);
  EXPECT_EQ(Arrivals("process: all_at_once").process, ArrivalProcess::kAllAtOnce);
  const ArrivalSpec loop = Arrivals("process: closed_loop, concurrency: 32, think_time_s: 1.5");
  EXPECT_EQ(loop.concurrency, 32);
  EXPECT_EQ(loop.think_time_s, 1.5);
  const ArrivalSpec pieces = Arrivals(
      "process: piecewise, rates: [{duration_s: 60, rate_per_s: 0}, {duration_s: 1, rate_per_s: "
      "2}]");
  ASSERT_EQ(pieces.rates.size(), 2U);
  EXPECT_EQ(pieces.rates[0].duration_s, 60);
  EXPECT_EQ(pieces.rates[1].rate_per_s, 2);
  const ArrivalSpec ramp =
      Arrivals("process: ramp, start_rate_per_s: 0, end_rate_per_s: 9, duration_s: 30");
  EXPECT_EQ(ramp.end_rate_per_s, 9);
  EXPECT_EQ(ramp.duration_s, 30);
}

// Keys of `arrivals` begin in column 23 of line 3.
TEST(LoadArrivals, ChecksKeysAndValues) {
  EXPECT_EQ(ArrivalError("rate_per_s: 2"), "exp.yaml:3:22: workload.arrivals.process: is required");
  EXPECT_EQ(ArrivalError("proces: poisson, cv: 2"),
            "exp.yaml:3:23: workload.arrivals.proces: unknown key 'proces'; did you mean "
            "'process'?");
  EXPECT_EQ(ArrivalError("process: poison, rate_per_s: 2"),
            "exp.yaml:3:32: workload.arrivals.process: 'poison' is not one of constant, poisson, "
            "gamma, weibull, all_at_once, closed_loop, piecewise, ramp; did you mean 'poisson'?");
  EXPECT_EQ(ArrivalError("process: poisson"),
            "exp.yaml:3:22: workload.arrivals.rate_per_s: is required");
  EXPECT_EQ(ArrivalError("process: poisson, rate_per_s: 0"),
            "exp.yaml:3:53: workload.arrivals.rate_per_s: must be above 0, got 0");
  EXPECT_EQ(ArrivalError("process: poisson, rate_per_s: .inf"),
            "exp.yaml:3:53: workload.arrivals.rate_per_s: '.inf' is not a finite decimal number");
  EXPECT_EQ(ArrivalError("process: closed_loop"),
            "exp.yaml:3:22: workload.arrivals.concurrency: is required");
  EXPECT_EQ(ArrivalError("process: ramp, start_rate_per_s: 1, end_rate_per_s: 2"),
            "exp.yaml:3:22: workload.arrivals.duration_s: is required");
}

TEST(LoadArrivals, RefusesKeysThatTheProcessDoesNotUse) {
  EXPECT_EQ(ArrivalError("process: poisson, rate_per_s: 2, cv: 2"),
            "exp.yaml:3:56: workload.arrivals.cv: is not used by process 'poisson'; remove it");
  EXPECT_EQ(ArrivalError("process: all_at_once, rate_per_s: 2"),
            "exp.yaml:3:45: workload.arrivals.rate_per_s: is not used by process 'all_at_once'; "
            "remove it");
  EXPECT_EQ(ArrivalError("process: weibull, rate_per_s: 2, burstiness: 2"),
            "exp.yaml:3:56: workload.arrivals.burstiness: is not used by process 'weibull'; remove "
            "it");
  EXPECT_EQ(ArrivalError("process: gamma, rate_per_s: 2, cv: 1, burstiness: 2"),
            "exp.yaml:3:73: workload.arrivals.burstiness: and cv say the same thing (cv = 1 / "
            "sqrt(burstiness)); give one");
}

TEST(LoadArrivals, ChecksPieces) {
  EXPECT_EQ(ArrivalError("process: piecewise, rates: []"),
            "exp.yaml:3:50: workload.arrivals.rates: must be a list such as [{duration_s: 60, "
            "rate_per_s: 2}]");
  EXPECT_EQ(ArrivalError("process: piecewise, rates: [{duration_s: 60}]"),
            "exp.yaml:3:51: workload.arrivals.rates[0].rate_per_s: is required");
  EXPECT_EQ(ArrivalError("process: piecewise, rates: [{duration_s: 60, rate_per_s: 0}]"),
            "exp.yaml:3:80: workload.arrivals.rates[0].rate_per_s: must be above 0: the last rate "
            "goes on until all have arrived");
}

absl::StatusOr<ExperimentSpec> LoadPrompt(const std::string& value) {
  return LoadWorkload("arrivals: {process: all_at_once}, output_len: {fixed: 4}, prompt_len: " +
                      value);
}

// The value of prompt_len begins in column 82 of line 3.
std::string PromptError(const std::string& value) {
  const absl::StatusOr<ExperimentSpec> spec = LoadPrompt(value);
  return spec.ok() ? "ok" : std::string(spec.status().message());
}

LengthSpec Prompt(const std::string& value) {
  const absl::StatusOr<ExperimentSpec> spec = LoadPrompt(value);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? spec->workload.synthetic.prompt_len : LengthSpec();
}

TEST(LoadLength, ReadsEveryDistribution) {
  EXPECT_EQ(Prompt("{fixed: 1000}").fixed, 1000);
  const LengthSpec uniform = Prompt("{uniform: {min: 2, max: 9}}");
  EXPECT_EQ(uniform.distribution, LengthDistribution::kUniform);
  EXPECT_EQ(uniform.min, 2);
  EXPECT_EQ(uniform.max, 9);
  const LengthSpec normal = Prompt("{normal: {mean: 100, stddev: 0}}");
  EXPECT_EQ(normal.distribution, LengthDistribution::kNormal);
  EXPECT_EQ(normal.min, 1);
  EXPECT_EQ(normal.max, 1 << 20);
  EXPECT_EQ(Prompt("{lognormal: {mean: 100, stddev: 50.5, max: 400}}").stddev, 50.5);
  const LengthSpec zipf = Prompt("{zipf: {theta: 0.6, min: 1, max: 4096}}");
  EXPECT_EQ(zipf.theta, 0.6);
  EXPECT_EQ(zipf.distribution, LengthDistribution::kZipf);
}

TEST(LoadLength, ChecksKeysAndValues) {
  EXPECT_EQ(PromptError("1000"),
            "exp.yaml:3:82: workload.prompt_len: must name a distribution, as in {fixed: 1000}");
  EXPECT_EQ(PromptError("{}"),
            "exp.yaml:3:82: workload.prompt_len: needs a distribution: fixed, uniform, normal, "
            "lognormal, zipf or empirical");
  EXPECT_EQ(PromptError("{fixd: 8}"),
            "exp.yaml:3:83: workload.prompt_len.fixd: unknown key 'fixd'; did you mean 'fixed'?");
  EXPECT_EQ(PromptError("{fixed: 8, uniform: {min: 1, max: 2}}"),
            "exp.yaml:3:102: workload.prompt_len.uniform: a length has one distribution; remove "
            "the other");
  EXPECT_EQ(PromptError("{fixed: 0}"),
            "exp.yaml:3:90: workload.prompt_len.fixed: must be between 1 and 16777216, got 0");
  EXPECT_EQ(PromptError("{uniform: {min: 1}}"),
            "exp.yaml:3:92: workload.prompt_len.uniform.max: is required");
  EXPECT_EQ(PromptError("{uniform: {min: 3, max: 2}}"),
            "exp.yaml:3:98: workload.prompt_len.uniform.min: is more than max, 2");
  EXPECT_EQ(PromptError("{normal: {mean: 0, stddev: 1}}"),
            "exp.yaml:3:98: workload.prompt_len.normal.mean: must be above 0, got 0");
  EXPECT_EQ(PromptError("{zipf: {theta: 1, min: 1, max: 2000000}}"),
            "exp.yaml:3:113: workload.prompt_len.zipf.max: zipf spans at most 1048576 lengths");
  EXPECT_EQ(PromptError("{uniform: {min: 1, max: 2, mean: 1}}"),
            "exp.yaml:3:109: workload.prompt_len.uniform.mean: unknown key 'mean'; did you mean "
            "'min'?");
}

class EmpiricalLength : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/batchvar_length_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<ExperimentSpec> Load(const std::string& table) const {
    std::ofstream(folder_ + "/lengths.csv", std::ios::binary) << table;
    return LoadPrompt("{empirical: {path: " + folder_ + "/lengths.csv}}");
  }
  std::string Problem(const std::string& table) const {
    std::string message(Load(table).status().message());
    return message.starts_with(folder_) ? message.substr(folder_.size() + 1) : message;
  }

  std::string folder_;
};

TEST_F(EmpiricalLength, ReadsTokensAndWeights) {
  const std::vector<std::pair<int32_t, double>> expected = {{16, 1.0}, {128, 2.5}, {1024, 0.0}};
  for (const char* table : {"tokens,weight\n16,1\n128,2.5\n1024,0\n", "16,1\n128,2.5\n1024,0",
                            "\xEF\xBB\xBFtokens,weight\r\n16 , 1\r\n\r\n128,2.5\r\n1024,0\r\n"}) {
    const absl::StatusOr<ExperimentSpec> spec = Load(table);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->workload.synthetic.prompt_len.empirical, expected);
  }
}

TEST_F(EmpiricalLength, PlacesMistakesByLine) {
  EXPECT_EQ(Problem("tokens,weight\n16\n"), "lengths.csv:2: must be tokens,weight");
  EXPECT_EQ(Problem("16,1,2\n"), "lengths.csv:1: must be tokens,weight");
  EXPECT_EQ(Problem("16,1\n0,1\n"), "lengths.csv:2: tokens: must be between 1 and 16777216, got 0");
  EXPECT_EQ(Problem("16,1\ntokens,weight\n"),
            "lengths.csv:2: tokens: 'tokens' is not a decimal integer");
  EXPECT_EQ(Problem("16,-1\n"), "lengths.csv:1: weight: must be at least 0");
  EXPECT_EQ(Problem("16,nan\n"), "lengths.csv:1: weight: 'nan' is not a finite decimal number");
  EXPECT_EQ(Problem("16,0\n"), "lengths.csv: the weights must add up to a finite number above 0");
  EXPECT_EQ(Problem("tokens,weight\n"), "lengths.csv: has no tokens,weight lines");
}

TEST_F(EmpiricalLength, AMissingTableIsAnInputError) {
  const absl::Status status = LoadPrompt("{empirical: {path: no.csv}}").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(),
            "no.csv: workload.prompt_len.empirical.path: cannot be opened: No such file or "
            "directory");
}

}  // namespace
}  // namespace batchvar
