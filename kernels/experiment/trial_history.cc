#include "kernels/experiment/trial_history.h"

#include <algorithm>
#include <utility>

#include "sim/base/rng.h"
#include "sim/base/time.h"
#include "sim/io/gemm_table.h"
#include "sim/replay/roofline_timer.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/simulator.h"
#include "sim/serving/workload_source.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr char kTarget[] = "target";
constexpr char kProducer[] = "producer";
constexpr uint64_t kTargetText = 1;  // prefix segments: the request's prompt, the fillers' prompt
constexpr uint64_t kFillerText = 2;
constexpr TimeNs kProducerLead = 10'000'000'000;  // the warm arm's first answer is long done

Request CallOf(std::string id, TimeNs arrival_ns, int64_t prompt, int64_t output,
               uint64_t segment) {
  Request request;
  request.id = std::move(id);
  request.arrival_ns = arrival_ns;
  request.prompt_tokens = static_cast<int32_t>(prompt);
  request.output_tokens = static_cast<int32_t>(output);
  request.prefix = {{segment, request.prompt_tokens}};
  return request;
}

}  // namespace

ArmPlanner::ArmPlanner(const TrialsSpec& trials, const ArmSpec& arm, const ExperimentSpec& planned,
                       const ModelSpec& executed)
    : trials_(trials),
      arm_(arm),
      planned_(planned),
      book_(std::make_unique<PlanBook>(planned_)),
      events_(book_.get(), executed, planned_.tp) {}

absl::StatusOr<std::unique_ptr<ArmPlanner>> ArmPlanner::Make(const TrialsSpec& trials,
                                                             const ArmSpec& arm,
                                                             const ModelSpec& executed) {
  ExperimentSpec planned = arm.spec;
  if (absl::Status tables = LoadGemmTables(&planned.policies.gemm); !tables.ok()) return tables;
  std::unique_ptr<ArmPlanner> planner(new ArmPlanner(trials, arm, planned, executed));
  if (const std::string why = planner->events_.WhyNot(); !why.empty()) {
    return ConfigError({.field = "plan_model"}, why);
  }
  return planner;
}

std::vector<Request> ArmPlanner::Calls(int64_t trial, int64_t prompt_tokens) const {
  // Call 0 is the request itself, so adding fillers does not move it.
  RandomStream offsets =
      RandomStream::ForItem(planned_.seed, "experiment.offsets", static_cast<uint64_t>(trial));
  const TimeNs begin = arm_.warm ? kProducerLead : 0;
  std::vector<Request> calls;
  if (arm_.warm) calls.push_back(CallOf(kProducer, 0, prompt_tokens, 1, kTargetText));
  for (int32_t call = 0; call <= arm_.fillers; ++call) {
    const auto offset = static_cast<TimeNs>(offsets.NextUniform() * trials_.window_s *
                                            static_cast<double>(kNsPerSecond));
    calls.push_back(
        call == 0
            ? CallOf(kTarget, begin + offset, prompt_tokens, trials_.max_tokens, kTargetText)
            : CallOf("filler " + std::to_string(call), begin + offset, trials_.filler_prompt_tokens,
                     trials_.filler_output_tokens, kFillerText));
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Request& a, const Request& b) { return a.arrival_ns < b.arrival_ns; });
  return calls;
}

absl::StatusOr<TrialHistory> ArmPlanner::Simulate(int64_t trial, int64_t prompt_tokens) {
  RequestHistory target(kTarget, book_.get());
  RequestHistory producer(kProducer, book_.get());
  RooflineTimer timer(planned_);
  SimulationOptions options;
  options.prompt_limit = PromptLimit(planned_.scheduler);
  SchedulerConfig config = planned_.scheduler;
  config.report_shared_prefix = book_->attention().UsesSharedPrefix();
  const auto scheduler = MakeScheduler(config);
  const auto source = MakeTraceSource(Calls(trial, prompt_tokens));
  const SimulationResult run =
      Simulator(options, source.get(), scheduler.get(), &timer, {&target, &producer}).Run();
  if (run.server_failure.has_value()) {
    return ConfigError({.field = "experiment.arms"},
                       "arm '" + arm_.name + "': " + run.server_failure->Words());
  }
  if (run.livelock || target.entries().empty()) {
    return ConfigError({.field = "experiment.arms"},
                       "arm '" + arm_.name + "': the request never runs to its end; give the " +
                           "scheduler more blocks or a larger max_model_len");
  }
  for (const HistoryEntry& entry : target.entries()) {
    const std::string missing = book_->FirstMissing({entry.padded_m}, {entry.num_requests});
    if (!missing.empty()) return ConfigError({.field = "policies.gemm"}, missing);
  }
  TrialHistory history;
  // Positions that came out of the prefix cache were computed by whoever served the prompt first.
  const int64_t cached = target.entries().front().num_computed;
  history.cached_tokens = cached;
  history.preemptions = static_cast<int32_t>(target.preempted_at().size());
  events_.Add(producer, 0, cached, &history.events);
  for (RowEvent& event : history.events) event.samples = false;
  // A step that runs past the last token (asynchronous scheduling) answers nobody.
  events_.Add(target, 0, prompt_tokens + trials_.max_tokens - 1, &history.events);
  std::vector<int32_t> batches;
  for (const RowEvent& event : history.events) {
    if (event.samples) batches.push_back(event.batch);
  }
  std::sort(batches.begin(), batches.end());
  if (!batches.empty()) {
    history.min_batch = batches.front();
    history.median_batch = batches[batches.size() / 2];
    history.max_batch = batches.back();
  }
  return history;
}

}  // namespace batchvar
