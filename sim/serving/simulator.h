// The event loop: arrivals from a WorkloadSource, steps from a Scheduler, time from a StepTimer.
//
// At any simulated instant the order is: outputs of the step that ends are applied (synchronous
// schedulers), then arrivals at or before now join the queue in their own order, then the next step
// is scheduled (asynchronous schedulers apply the outputs of the step that just ended after that).
// A token exists from the end of the step that sampled it. Nothing here looks at a host clock, and
// nothing knows which scheduler it drives.
#ifndef BATCHVAR_SIM_SERVING_SIMULATOR_H_
#define BATCHVAR_SIM_SERVING_SIMULATOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/serving/request_result.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/step_span.h"
#include "sim/serving/workload_source.h"

namespace batchvar {

// How long a step takes, injected so that this room needs to know no device.
class StepTimer {
 public:
  virtual ~StepTimer() = default;
  // `padded_m` is returned through the pointer because padding is part of what costs time.
  virtual TimeNs DurationNs(const StepBatch& batch, int64_t* padded_m) = 0;
};

// A gap between two tokens of one request, and how often it occurred.
struct TokenGap {
  TimeNs gap_ns;
  int64_t count;
};

// The real server would have died here, see Scheduler::failure(), or would hang.
struct ServerFailure {
  int64_t step = 0;  // the one that it was planning: how many steps ran
  TimeNs at_ns = 0;
  std::string reason;
  // "the simulated server failed at step 22 (0.022000000 s): reason"
  std::string Words() const;
};

struct SimulationResult {
  std::vector<RequestResult> requests;  // in order of arrival
  std::vector<TokenGap> token_gaps;     // every gap of every request, in no particular order
  int64_t num_steps = 0;
  int64_t num_tokens_scheduled = 0;
  int64_t num_preemptions = 0;
  int64_t peak_running = 0;
  TimeNs end_ns = 0;  // end of the last step
  bool interrupted = false;
  bool livelock = false;  // requests preempted each other without end; the run was stopped
  std::optional<ServerFailure> server_failure;  // everything else is what was until then
};

// Preemptions in a row without a single token in between that count as a livelock. vLLM's rules
// allow one: equal priorities and arrivals without full-prompt reservation (docs/scheduler.md).
inline constexpr int64_t kLivelockPreemptions = 100'000;

struct SimulationOptions {
  int32_t prompt_limit = 0;  // PromptLimit() of the scheduler's settings
  // Asked once a step; true ends the run with `interrupted`.
  std::function<bool()> interrupted = [] { return false; };
  // Called once a step with (finished so far, now).
  std::function<void(int64_t, TimeNs)> progress = [](int64_t, TimeNs) {};
};

class Simulator {
 public:
  // All arguments must outlive the simulator.
  Simulator(const SimulationOptions& options, WorkloadSource* source, Scheduler* scheduler,
            StepTimer* timer, std::vector<RunSink*> sinks);
  SimulationResult Run();

 private:
  void AdmitArrivals();
  void RunStep(const StepBatch& batch);
  void CountPreemptions();
  void ApplyOutputs();
  void RecordToken(int32_t request, TimeNs when);
  void AddGap(TimeNs gap_ns);
  // False: nothing will ever happen again.
  bool SkipIdleTime(bool stalled);

  const SimulationOptions& options_;
  WorkloadSource* source_;
  Scheduler* scheduler_;
  StepTimer* timer_;
  SpanBuilder spans_;

  TimeNs now_ = 0;
  int64_t preemptions_since_token_ = 0;
  std::deque<TimeNs> step_ends_;    // of steps whose outputs are not applied yet
  std::vector<int32_t> preempted_;  // since the last step that ran: a round may only preempt
  int64_t num_done_ = 0;
  SimulationResult result_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SIMULATOR_H_
