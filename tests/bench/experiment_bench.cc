// The chapter's experiment, two arms of twenty trials and 256 tokens, each arm run once: wall time,
// rows executed against rows that the trials have, and the process's peak memory beside the size of
// the weights. One model a process gives its own peak:
//   experiment_bench --benchmark_filter=stories260K
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "kernels/experiment/run_experiment.h"
#include "sim/config/load_trials.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

double PeakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts in KiB
}

double WeightsMiB(const std::string& folder) {
  double bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") bytes += static_cast<double>(entry.file_size());
  }
  return bytes / kMiB;
}

void Chapter(benchmark::State& state, const std::string& folder) {
  if (!FileExists(folder + "/config.json")) {
    state.SkipWithError(("missing folder: " + folder).c_str());
    return;
  }
  const auto trials = LoadTrialsText(
      "model: " + folder +
          "\nplan_model: qwen3_8b\ndevice: h100_sxm\n"
          "policies: {gemm: textbook, attention: vllm_triton}\nexperiment:\n"
          "  prompt_ids: [1, 40, 71, 300, 12, 9, 83, 27, 14, 110, 55, 61, 90, 22, 31, 47]\n"
          "  arms: [{name: alone}, {name: load, fillers: 63}]\n",
      "bench.yaml", ".", {});
  if (!trials.ok()) {
    state.SkipWithError(std::string(trials.status().message()).c_str());
    return;
  }
  ExperimentOptions options;
  options.weights_folder = folder;
  options.prompt = trials->prompt_ids;
  options.isa = BestIsa();
  options.threads = static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  options.repeat = false;
  int64_t computed = 0, needed = 0;
  for (auto _ : state) {
    const auto result = RunExperiment(*trials, options);
    if (!result.ok()) {
      state.SkipWithError(std::string(result.status().message()).c_str());
      return;
    }
    computed = needed = 0;
    for (const ArmResult& arm : result->arms) {
      computed += arm.rows_computed;
      needed += arm.rows_needed;
    }
  }
  state.counters["rows_computed"] = static_cast<double>(computed);
  state.counters["rows_needed"] = static_cast<double>(needed);
  state.counters["peak_MiB"] = PeakMiB();
  state.counters["weights_MiB"] = WeightsMiB(folder);
}

// Where tools/fetch_model puts it.
std::string FetchedModel(const std::string& name) {
  if (const std::string folder = ModelsPath(name); FileExists(folder)) return folder;
  const char* home = std::getenv("HOME");
  return (home == nullptr ? std::string() : std::string(home)) + "/.cache/batchvar/models/" + name;
}

int Main(int argc, char** argv) {
  const auto add = [](const std::string& name, const std::string& folder) {
    benchmark::RegisterBenchmark(("chapter/" + name).c_str(), Chapter, folder)
        ->Unit(benchmark::kSecond)
        ->Iterations(1)
        ->UseRealTime();
  };
  add("batchvar_tiny", ProjectPath("configs/weights/batchvar_tiny"));
  add("stories260K", ModelsPath("stories260K"));
  add("smollm2-135m", FetchedModel("smollm2-135m"));
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace batchvar

int main(int argc, char** argv) { return batchvar::Main(argc, argv); }
