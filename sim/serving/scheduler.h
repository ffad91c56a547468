// Continuous batching: who gets how many tokens in the next step. A scheduler is a pure function of
// its settings and of the calls below: it has no clock and no random numbers.
//
// The loop that drives it (simulator.h, and the golden tests):
//   Add() every request that has arrived; Schedule() one step; ApplyOutputs(); repeat.
// Synchronous schedulers apply the outputs of the step they just scheduled; asynchronous ones those
// of the step before (step k + 1 is scheduled before the outputs of step k are known).
#ifndef BATCHVAR_SIM_SERVING_SCHEDULER_H_
#define BATCHVAR_SIM_SERVING_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/serving/prefix_hit.h"
#include "sim/serving/request.h"
#include "sim/serving/scheduler_config.h"
#include "sim/shape/step_batch.h"

namespace batchvar {

enum class FinishReason : uint8_t {
  kStop,       // its last output token was generated (stop token, or max_tokens reached)
  kModelLimit  // prompt + output reached max_model_len before that
};

// What became known when the outputs of one step were applied.
struct StepOutputs {
  struct Finished {
    int32_t request;
    FinishReason reason;
  };
  bool applied = false;            // false: no step was in flight, or it is not due yet
  std::vector<int32_t> got_token;  // requests that received a token, in batch order
  std::vector<Finished> finished;  // a subset of got_token, in batch order

  void Clear() {
    applied = false;
    got_token.clear();
    finished.clear();
  }
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // `index` names the request in all results; indices are unique in a run. The request must fit:
  // prompt_tokens < PromptLimit().
  virtual void Add(const Request& request, int32_t index) = 0;
  // The next step; empty when nothing can run. Valid until the next call. An engine with nothing to
  // do still turns its loop: call this once (and ApplyOutputs()) before time jumps to an arrival.
  virtual const StepBatch& Schedule() = 0;
  // Why the real server would have died in the last Schedule(), which then is empty; nullptr: it
  // lives. A dead scheduler must not be called again.
  virtual const char* failure() const { return nullptr; }
  // Requests preempted by the last Schedule(), in order.
  virtual const std::vector<int32_t>& preempted() const = 0;
  // What those admitted by the last Schedule() found in the prefix cache, in order of admission.
  virtual const std::vector<PrefixHit>& prefix_hits() const = 0;
  virtual const StepOutputs& ApplyOutputs() = 0;

  virtual bool HasUnfinished() const = 0;  // waiting or running
  virtual bool HasStepInFlight() const = 0;
  virtual int32_t num_running() const = 0;  // unfinished and not waiting
  virtual int32_t num_waiting() const = 0;
  virtual int32_t num_free_blocks() const = 0;  // held by nobody, though they may be cached
};

// `config` must be resolved (no zero max_model_len or num_gpu_blocks).
std::unique_ptr<Scheduler> MakeScheduler(const SchedulerConfig& config);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SCHEDULER_H_
