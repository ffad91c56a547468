// The history of a run, run-length coded: n steps in which the same sequences each decode one token
// are one span. Between two events (an arrival, a chunk, a finish, a preemption) the batch does not
// change, so the number of spans follows the events, not the tokens.
//
// SpanBuilder makes spans from steps; sinks (run file, request history, census) read them.
#ifndef BATCHVAR_SIM_SERVING_STEP_SPAN_H_
#define BATCHVAR_SIM_SERVING_STEP_SPAN_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/time.h"
#include "sim/serving/prefix_hit.h"
#include "sim/serving/request.h"
#include "sim/shape/step_batch.h"

namespace batchvar {

struct StepSpan {
  int64_t first_step = 0;
  int32_t num_steps = 0;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  int64_t padded_m = 0;            // M of the body's GEMMs, the same in all steps of the span
  StepBatch batch;                 // as of the first step; in step i num_computed is i larger
  std::vector<int32_t> preempted;  // by the first step, or after the step before it
  std::vector<PrefixHit> hits;     // of those that the first step admitted

  int64_t M() const { return batch.M(); }
};

// Whoever wants to know of a run while it happens.
class RunSink {
 public:
  virtual ~RunSink() = default;
  // `index` counts from 0 in order of arrival; before any span that names it.
  virtual void OnRequest(int32_t index, const Request& request) = 0;
  virtual void OnSpan(const StepSpan& span) = 0;
};

class SpanBuilder {
 public:
  explicit SpanBuilder(std::vector<RunSink*> sinks) : sinks_(std::move(sinks)) {}

  // Steps must come in order; a step that took no tokens is not one.
  void Add(int64_t step, TimeNs start_ns, TimeNs end_ns, int64_t padded_m, const StepBatch& batch,
           const std::vector<int32_t>& preempted, const std::vector<PrefixHit>& hits = {});
  void Flush();
  const std::vector<RunSink*>& sinks() const { return sinks_; }

 private:
  bool Continues(int64_t step, TimeNs start_ns, const StepBatch& batch) const;

  std::vector<RunSink*> sinks_;
  StepSpan span_;  // num_steps 0: none open
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_STEP_SPAN_H_
