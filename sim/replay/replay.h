// One experiment, replayed: workload -> scheduler -> steps -> shapes -> plans, with its counts. The
// only room that wires serving, planning, configuration and input together; commands and tests
// call it.
#ifndef BATCHVAR_SIM_REPLAY_REPLAY_H_
#define BATCHVAR_SIM_REPLAY_REPLAY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/experiment_spec.h"
#include "sim/io/trace_reader.h"
#include "sim/replay/plan_book.h"
#include "sim/replay/request_history.h"
#include "sim/replay/roofline_timer.h"
#include "sim/replay/step_census.h"
#include "sim/serving/latency.h"
#include "sim/serving/simulator.h"

namespace batchvar {

struct ReplayOptions {
  int32_t threads = 1;                // planning; results do not depend on it
  std::vector<std::string> requests;  // whose histories to keep
  std::vector<RunSink*> sinks;        // more listeners, for example a run file
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(int64_t, TimeNs)> progress = [](int64_t, TimeNs) {};
};

struct ReplayResult {
  TraceCounts trace;         // rows_read == requests where the workload is synthetic
  std::string trace_sha256;  // empty where it is synthetic
  SimulationResult simulation;
  ServingMetrics metrics;
  std::unique_ptr<PlanBook> book;
  std::unique_ptr<RooflineTimer> timer;
  std::unique_ptr<StepCensus> census;
  std::vector<OpClasses> classes;
  std::vector<std::unique_ptr<RequestHistory>> histories;  // as asked for
};

// Input errors only: a spec is valid by construction. An interrupted run is a result, and so is one
// whose server died (SimulationResult::server_failure).
absl::StatusOr<ReplayResult> Replay(const ExperimentSpec& spec, const ReplayOptions& options);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_REPLAY_H_
