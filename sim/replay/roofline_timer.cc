#include "sim/replay/roofline_timer.h"

#include <utility>

namespace batchvar {

Padding PaddingOf(const PaddingSpec& spec) {
  if (spec.mode == PaddingMode::kExact) return {};
  return spec.by_phase ? Padding::ByPhase(spec.sizes, spec.prefill_sizes) : Padding(spec.sizes);
}

StepLoad LoadOf(const StepBatch& batch, int64_t padded_m) {
  StepLoad load;
  load.padded_tokens = padded_m;
  load.num_requests = static_cast<int64_t>(batch.rows.size());
  for (const ScheduledRow& row : batch.rows) {
    const int64_t q = row.num_scheduled;
    const int64_t computed = row.num_computed;
    load.kv_tokens_read += computed + q;
    load.qk_pairs += q * computed + q * (q + 1) / 2;  // token i of the chunk reads computed + i + 1
  }
  return load;
}

RooflineTimer::RooflineTimer(const ExperimentSpec& spec)
    : model_(spec.model, spec.device, spec.tp, spec.dtype), padding_(PaddingOf(spec.padding)) {}

TimeNs RooflineTimer::DurationNs(const StepBatch& batch, int64_t* padded_m) {
  *padded_m = padding_.PaddedM(batch);
  return NsFromPsRoundUp(model_.Cost(LoadOf(batch, *padded_m)).Total());
}

}  // namespace batchvar
