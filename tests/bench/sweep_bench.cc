// How fast a sweep of class tables is: 11 devices x 6 GEMM policies, each over M 1..512 of the five
// GEMMs of Llama-3-8B (and its norms), 168,960 GEMM plans in 66 cells. Run
//   build/release/tests/bench/sweep_bench
// What is measured is what `batchvar sweep` does: read the sweep, load every cell's experiment, run
// the cells, make their lines. To stay below 2 s on two cores. Nothing here is a test.
#include <benchmark/benchmark.h>

#include <set>
#include <string>

#include "sim/config/load_sweep.h"
#include "sim/replay/sweep.h"
#include "sim/report/cell_line.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

constexpr char kSweep[] = R"(schema_version: 1
command: classes
base:
  schema_version: 1
  model: llama3_8b
  device: h100_sxm
  workload:
    arrivals: {process: constant, rate_per_s: 1}
    prompt_len: {fixed: 16}
    output_len: {fixed: 16}
    num_requests: 1
sweep:
  type: grid
  parameters:
    device: [a100_sxm, a10g, b200, h100_pcie, h100_sxm, h20, h200_sxm, l20, l40s, rtx4090,
             rtx_pro_6000]
    policies.gemm: [textbook, batch_invariant, cutlass_splitk, {name: stream_k, generation: 2},
                    {name: deepgemm, arch: sm90}, gemv]
    m: ["1..512"]
)";
constexpr size_t kCells = 11 * 6;
constexpr int64_t kPlans = kCells * 512 * 5;

// The number of different lines, or why there is none.
absl::StatusOr<size_t> RunSweep(int32_t jobs) {
  const auto sweep = LoadSweepText(kSweep, "bench.yaml", ProjectPath("configs"), {});
  if (!sweep.ok()) return sweep.status();
  const auto experiments = LoadCells(*sweep);
  if (!experiments.ok()) return experiments.status();
  CellContext context;
  context.sweep = &*sweep;
  context.experiments = &*experiments;
  context.exit_code = [](const absl::Status& status) { return static_cast<int>(status.code()); };
  std::set<std::string> lines;
  SweepRun run;
  run.count = sweep->cells.size();
  run.jobs = jobs;
  run.run = [&context](size_t cell) { return CellLine(context, cell); };
  run.done = [&](size_t, const std::string& line) {
    const auto record = ReadCellLine(sweep->command, line);
    if (!record.ok()) return record.status();
    if (!record->error.empty()) return absl::InternalError(record->error);
    lines.insert(line);
    return absl::OkStatus();
  };
  const auto done = RunCells(run);
  if (!done.ok()) return done.status();
  return lines.size();
}

void ClassesOfDevicesAndPolicies(benchmark::State& state) {
  for (auto _ : state) {
    const auto lines = RunSweep(static_cast<int32_t>(state.range(0)));
    if (!lines.ok() || *lines != kCells) {
      const std::string why = lines.ok() ? "a cell is missing" : lines.status().ToString();
      state.SkipWithError(why.c_str());
      return;
    }
  }
  state.counters["cells"] = static_cast<double>(kCells);
  state.counters["GEMM plans/s"] =
      benchmark::Counter(static_cast<double>(kPlans * static_cast<int64_t>(state.iterations())),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(ClassesOfDevicesAndPolicies)
    ->ArgName("jobs")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace batchvar

BENCHMARK_MAIN();
