// Counts, for every request of a run, the tokens that were generated and those of them that were
// exposed: their logits could differ from what the request would have got alone, because their own
// row, or a row whose KV they read, was summed in another order. From the first such row on every
// token of the request is exposed. A sink of the simulator; O(rows of a span) and no row is planned
// twice, so it keeps up with a replay.
//
// KV from the prefix cache counts as its producer computed it. What the producer in turn had taken
// over is taken to be what this request took over before it, which holds unless two requests
// computed the same text at the same time.
#ifndef BATCHVAR_SIM_REPLAY_EXPOSURE_CENSUS_H_
#define BATCHVAR_SIM_REPLAY_EXPOSURE_CENSUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/lone_orders.h"
#include "sim/serving/step_span.h"

namespace batchvar {

struct RequestExposure {
  TimeNs arrival_ns = 0;
  int64_t tokens = 0;   // generated
  int64_t exposed = 0;  // those behind the first row in another order
};

class ExposureCensus final : public RunSink {
 public:
  // Both outlive the census; the book is the spec's.
  ExposureCensus(const ExperimentSpec& spec, PlanBook* book) : book_(book), lone_(spec, book) {}

  void OnRequest(int32_t index, const Request& request) override;
  void OnSpan(const StepSpan& span) override;

  std::vector<RequestExposure> Exposures() const;  // in order of arrival
  const std::string& missing() const { return lone_.missing(); }

 private:
  // A step that computed prompt, kept where others may take its KV over.
  struct PromptStep {
    int32_t pass = 0;
    HistoryEntry entry;
  };
  struct Life {
    RequestExposure exposure;
    int32_t prompt_tokens = 0;
    int32_t output_tokens = 0;
    int32_t pass = 0;
    bool shares = false;   // its prompt has text that others may have
    bool exposed = false;  // from now on
    std::vector<PromptStep> prompt_steps;
  };

  void TakeOver(const PrefixHit& hit);
  void CountPrompt(const HistoryEntry& entry, Life* life);
  void CountDecode(const HistoryEntry& entry, const StepSpan& span, Life* life);
  const AttentionRule& RuleAt(const StepSpan& span, int32_t step);

  PlanBook* book_;
  LoneOrders lone_;
  std::vector<Life> lives_;           // by index
  std::vector<AttentionRule> rules_;  // of the span's steps, as far as they were asked for
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_EXPOSURE_CENSUS_H_
