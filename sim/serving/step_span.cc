#include "sim/serving/step_span.h"

namespace batchvar {

bool SpanBuilder::Continues(int64_t step, TimeNs start_ns, const StepBatch& batch) const {
  if (span_.num_steps == 0 || step != span_.first_step + span_.num_steps ||
      start_ns != span_.end_ns || batch.rows.size() != span_.batch.rows.size() ||
      batch.padding_tokens != span_.batch.padding_tokens ||
      batch.shared_prefix != span_.batch.shared_prefix) {
    return false;
  }
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const ScheduledRow& row = batch.rows[i];
    const ScheduledRow& first = span_.batch.rows[i];
    if (row.request != first.request || row.phase != Phase::kDecode ||
        first.phase != Phase::kDecode || row.num_computed != first.num_computed + span_.num_steps) {
      return false;
    }
  }
  return true;
}

void SpanBuilder::Add(int64_t step, TimeNs start_ns, TimeNs end_ns, int64_t padded_m,
                      const StepBatch& batch, const std::vector<int32_t>& preempted,
                      const std::vector<PrefixHit>& hits) {
  if (preempted.empty() && hits.empty() && Continues(step, start_ns, batch)) {
    ++span_.num_steps;
    span_.end_ns = end_ns;
    return;
  }
  Flush();
  span_ = StepSpan{step, 1, start_ns, end_ns, padded_m, batch, preempted, hits};
}

void SpanBuilder::Flush() {
  if (span_.num_steps == 0) return;
  for (RunSink* sink : sinks_) sink->OnSpan(span_);
  span_.num_steps = 0;
}

}  // namespace batchvar
