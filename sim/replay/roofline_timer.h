// The StepTimer of a replay: padding, then the roofline of sim/plan/step_time.h.
#ifndef BATCHVAR_SIM_REPLAY_ROOFLINE_TIMER_H_
#define BATCHVAR_SIM_REPLAY_ROOFLINE_TIMER_H_

#include "sim/config/experiment_spec.h"
#include "sim/plan/step_time.h"
#include "sim/serving/simulator.h"
#include "sim/shape/capture_sizes.h"

namespace batchvar {

// What M the body sees: nothing is padded where the mode is exact.
Padding PaddingOf(const PaddingSpec& spec);

// What a batch costs, before time: exact sums over its rows.
StepLoad LoadOf(const StepBatch& batch, int64_t padded_m);

class RooflineTimer final : public StepTimer {
 public:
  explicit RooflineTimer(const ExperimentSpec& spec);
  TimeNs DurationNs(const StepBatch& batch, int64_t* padded_m) override;

  const StepTimeModel& model() const { return model_; }
  const Padding& padding() const { return padding_; }

 private:
  StepTimeModel model_;
  Padding padding_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_ROOFLINE_TIMER_H_
