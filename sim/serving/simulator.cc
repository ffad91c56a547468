#include "sim/serving/simulator.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"

namespace batchvar {

namespace {

constexpr char kWaitsForEver[] =
    "requests wait for ever: nobody runs, and the first of the queue is never admitted";

}  // namespace

std::string ServerFailure::Words() const {
  const std::string ns = std::to_string(at_ns % kNsPerSecond);
  return "the simulated server failed at step " + std::to_string(step) + " (" +
         std::to_string(at_ns / kNsPerSecond) + "." + std::string(9 - ns.size(), '0') + ns +
         " s): " + reason;
}

Simulator::Simulator(const SimulationOptions& options, WorkloadSource* source, Scheduler* scheduler,
                     StepTimer* timer, std::vector<RunSink*> sinks)
    : options_(options),
      source_(source),
      scheduler_(scheduler),
      timer_(timer),
      spans_(std::move(sinks)) {
  BV_CHECK(options.prompt_limit >= 1);
}

SimulationResult Simulator::Run() {
  bool stalled = false;  // the last round scheduled nothing and applied nothing
  while (SkipIdleTime(stalled)) {
    if (options_.interrupted()) {
      result_.interrupted = true;
      break;
    }
    AdmitArrivals();
    const StepBatch& batch = scheduler_->Schedule();
    if (scheduler_->failure() != nullptr) {
      result_.server_failure = {result_.num_steps, now_, scheduler_->failure()};
      break;
    }
    CountPreemptions();
    if (!batch.rows.empty()) RunStep(batch);
    const size_t in_flight = step_ends_.size();
    ApplyOutputs();
    stalled =
        batch.rows.empty() && step_ends_.size() == in_flight && scheduler_->preempted().empty();
    options_.progress(num_done_, now_);
    if (preemptions_since_token_ > kLivelockPreemptions) {
      result_.livelock = true;
      break;
    }
  }
  spans_.Flush();
  return std::move(result_);
}

bool Simulator::SkipIdleTime(bool stalled) {
  const bool idle = !scheduler_->HasUnfinished() && !scheduler_->HasStepInFlight();
  if (!idle && !stalled) return true;
  const std::optional<TimeNs> next = source_->NextArrival();
  if (next.has_value()) {
    // An idle engine turns its loop at least once before somebody arrives later.
    if (!stalled && *next > now_) return true;
    now_ = std::max(now_, *next);
    return true;
  }
  BV_CHECK(!idle || source_->Exhausted());
  // An engine can be so strict that it admits nobody although nobody runs (docs/scheduler.md).
  if (!idle) result_.server_failure = {result_.num_steps, now_, kWaitsForEver};
  return false;
}

void Simulator::AdmitArrivals() {
  while (true) {
    const std::optional<TimeNs> next = source_->NextArrival();
    if (!next.has_value() || *next > now_) return;
    const Request request = source_->Pop();
    const int32_t index = static_cast<int32_t>(result_.requests.size());
    RequestResult& result = result_.requests.emplace_back();
    result.id = request.id;
    result.arrival_ns = request.arrival_ns;
    result.prompt_tokens = request.prompt_tokens;
    for (RunSink* sink : spans_.sinks()) sink->OnRequest(index, request);
    if (request.prompt_tokens >= options_.prompt_limit) {
      result.status = RequestStatus::kRejected;
      ++num_done_;
      source_->OnFinished(now_);
      continue;
    }
    scheduler_->Add(request, index);
  }
}

void Simulator::RunStep(const StepBatch& batch) {
  int64_t padded_m = 0;
  const TimeNs duration = timer_->DurationNs(batch, &padded_m);
  BV_CHECK(duration > 0 && padded_m >= batch.M());
  for (const ScheduledRow& row : batch.rows) {
    RequestResult& result = result_.requests[row.request];
    if (result.first_scheduled_ns == kNever) {
      result.first_scheduled_ns = now_;
      result.cached_tokens = row.num_computed;
    }
  }
  spans_.Add(result_.num_steps, now_, now_ + duration, padded_m, batch, preempted_,
             scheduler_->prefix_hits());
  preempted_.clear();
  ++result_.num_steps;
  result_.num_tokens_scheduled += batch.num_tokens;
  result_.peak_running =
      std::max<int64_t>(result_.peak_running, static_cast<int64_t>(batch.rows.size()));
  now_ += duration;
  result_.end_ns = now_;
  step_ends_.push_back(now_);
}

void Simulator::CountPreemptions() {
  for (const int32_t request : scheduler_->preempted()) {
    ++result_.requests[request].preemptions;
    ++result_.num_preemptions;
    ++preemptions_since_token_;
    preempted_.push_back(request);
  }
}

void Simulator::ApplyOutputs() {
  const StepOutputs& outputs = scheduler_->ApplyOutputs();
  if (!outputs.applied) return;
  BV_CHECK(!step_ends_.empty());
  const TimeNs when = step_ends_.front();
  step_ends_.pop_front();
  for (const int32_t request : outputs.got_token) RecordToken(request, when);
  for (const StepOutputs::Finished& done : outputs.finished) {
    RequestResult& result = result_.requests[done.request];
    result.finish_ns = when;
    result.status =
        done.reason == FinishReason::kStop ? RequestStatus::kFinished : RequestStatus::kModelLimit;
    ++num_done_;
    source_->OnFinished(when);
  }
}

void Simulator::RecordToken(int32_t request, TimeNs when) {
  preemptions_since_token_ = 0;
  RequestResult& result = result_.requests[request];
  if (result.output_tokens == 0) {
    result.first_token_ns = when;
  } else {
    AddGap(when - result.last_token_ns);
  }
  ++result.output_tokens;
  result.last_token_ns = when;
}

void Simulator::AddGap(TimeNs gap_ns) {
  // Nearly all sequences of a step share its gap, so counting neighbours keeps the list short.
  if (!result_.token_gaps.empty() && result_.token_gaps.back().gap_ns == gap_ns) {
    ++result_.token_gaps.back().count;
  } else {
    result_.token_gaps.push_back({gap_ns, 1});
  }
}

}  // namespace batchvar
