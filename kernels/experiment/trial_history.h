// One trial, simulated: the request among its fillers goes through the scheduler of the experiment,
// and what comes out is the list of its rows with the orders that each met. Nothing is executed
// here, and the fillers never will be.
#ifndef BATCHVAR_KERNELS_EXPERIMENT_TRIAL_HISTORY_H_
#define BATCHVAR_KERNELS_EXPERIMENT_TRIAL_HISTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/experiment/row_events.h"
#include "sim/config/trials_spec.h"
#include "sim/replay/plan_book.h"

namespace batchvar {

struct TrialHistory {
  std::vector<RowEvent>
      events;                // in the order in which they ran; a recomputed position comes again
  int32_t median_batch = 0;  // requests in the steps that decoded
  int32_t min_batch = 0;
  int32_t max_batch = 0;
  int64_t cached_tokens = 0;  // of the prompt, from the prefix cache
  int32_t preemptions = 0;
};

// The plans of one arm, made once for all of its trials.
class ArmPlanner {
 public:
  // `executed` is the model whose weights run. Not-ok: tables that cannot be read, a planned model
  // that cannot stand for the executed one.
  static absl::StatusOr<std::unique_ptr<ArmPlanner>> Make(const TrialsSpec& trials,
                                                          const ArmSpec& arm,
                                                          const ModelSpec& executed);

  // Trial `trial` with a prompt of so many tokens. A function of (experiment seed, trial): arms
  // send their calls at the same offsets.
  absl::StatusOr<TrialHistory> Simulate(int64_t trial, int64_t prompt_tokens);

 private:
  ArmPlanner(const TrialsSpec& trials, const ArmSpec& arm, const ExperimentSpec& planned,
             const ModelSpec& executed);
  std::vector<Request> Calls(int64_t trial, int64_t prompt_tokens) const;

  const TrialsSpec& trials_;
  const ArmSpec& arm_;
  ExperimentSpec planned_;
  std::unique_ptr<PlanBook> book_;
  EventPlanner events_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_TRIAL_HISTORY_H_
