#include "tests/property/schedule_checker.h"

#include <algorithm>

namespace batchvar {

void ScheduleChecker::Require(bool holds, const char* rule, int32_t request) {
  if (holds || !breach_.empty()) return;
  breach_ = "step " + std::to_string(step_) + ": " + rule;
  if (request >= 0) breach_ += " (request " + std::to_string(request) + ")";
}

void ScheduleChecker::OnAdd(const Request& request, int32_t index) {
  Tracked tracked;
  tracked.request = request;
  tracked.outputs = OutputsOf(request, config_);
  tracked.told_outputs = ToldOutputs(request, config_);
  tracked.text = HashesOfText(request, index, config_.max_model_len);
  Require(requests_.emplace(index, std::move(tracked)).second, "added twice", index);
  waiting_.push_back(index);
  blocks_wanted_ += BlocksFor(request.prompt_tokens + int64_t{request.output_tokens});
}

void ScheduleChecker::OnPreempted(int32_t request) {
  Tracked& tracked = requests_.at(request);
  Require(facts_.preempts, "preempted by a policy that never does", request);
  Require(tracked.running && !tracked.finished, "preempted without running", request);
  ++num_preemptions_;
  tracked.running = false;
  tracked.computed = 0;
  tracked.pending = 0;
  for (std::vector<InFlight>& step : in_flight_) {
    for (InFlight& row : step) {
      if (row.request != request || row.stale) continue;
      row.stale = true;
      ++tracked.stale_rows;
      if (facts_.drops_outputs_of_preempted && row.samples) --tracked.samples;
    }
  }
  std::erase(running_, request);
  Requeue(request);
}

void ScheduleChecker::OnAdmitted(const ScheduledRow& row) {
  Tracked& tracked = requests_.at(row.request);
  Require(tracked.pending == 0 && tracked.stale_rows == 0, "admitted with output in flight",
          row.request);
  CheckAdmission(row);
  CheckHit(row);
  std::erase(waiting_, row.request);
  running_.push_back(row.request);
  tracked.running = true;
  tracked.computed = row.num_computed;
}

// `num_computed` of an admitted row is what the prefix cache gave.
void ScheduleChecker::CheckHit(const ScheduledRow& row) {
  const Tracked& tracked = requests_.at(row.request);
  Require(row.num_computed % facts_.block_size == 0, "a hit is whole blocks", row.request);
  Require(row.num_computed < tracked.known(), "a hit leaves the last token", row.request);
  Require(facts_.caching || row.num_computed == 0, "starts at 0 without caching", row.request);
  if (!facts_.caching) return;
  num_hit_tokens_ += row.num_computed;
  if (MayHitTheUncomputed()) return;
  for (int32_t edge = facts_.block_size; edge <= row.num_computed; edge += facts_.block_size) {
    Require(IsComputed(tracked, edge), "hit what nobody computed", row.request);
  }
}

void ScheduleChecker::Remember(const Tracked& tracked, int32_t num_tokens) {
  if (!facts_.caching) return;
  const int32_t size = facts_.block_size;
  for (int32_t edge = num_tokens / size * size; edge > 0; edge -= size) {
    if (!computed_texts_.insert(tracked.text[static_cast<size_t>(edge)]).second) break;
  }
}

void ScheduleChecker::CheckRow(const ScheduledRow& row, bool admitted) {
  Tracked& tracked = requests_.at(row.request);
  const int32_t end = row.num_computed + row.num_scheduled;
  Require(!tracked.finished, "scheduled after its end", row.request);
  Require(row.num_computed == tracked.computed, "continues where it left", row.request);
  Require(row.num_scheduled >= 1 && end <= tracked.total(), "only tokens that exist", row.request);
  Require(end < config_.max_model_len, "a row below max_model_len", row.request);
  Require(!tracked.last_token_in_flight(), "its last token was in flight", row.request);
  const bool samples = end == tracked.total();
  Require(samples == (row.phase != Phase::kChunk), "samples where it reaches the end", row.request);
  Require(row.phase != Phase::kDecode ||
              (row.num_scheduled == 1 && row.num_computed >= tracked.request.prompt_tokens),
          "a decode is one token behind the prompt", row.request);
  CheckRowRules(row, admitted, samples);
  num_chunks_ += samples ? 0 : 1;
  Remember(tracked, std::min(end, tracked.known()));
  tracked.computed = end;
  tracked.pending += samples ? 1 : 0;
  tracked.samples += samples ? 1 : 0;
  in_flight_.back().push_back({row.request, samples, /*stale=*/false});
}

void ScheduleChecker::OnSchedule(const Scheduler& scheduler, const StepBatch& batch) {
  ++step_;
  if (!breach_.empty()) return;
  BeginStep();
  for (const int32_t request : scheduler.preempted()) OnPreempted(request);
  batch_was_empty_ = batch.rows.empty();
  if (!batch_was_empty_) in_flight_.emplace_back();
  size_t num_admitted = 0;
  std::set<int32_t> scheduled;
  for (const ScheduledRow& row : batch.rows) {
    if (!requests_.contains(row.request)) return Require(false, "unknown request", row.request);
    Require(scheduled.insert(row.request).second, "one row per request", row.request);
    const bool admitted = !requests_.at(row.request).running;
    if (admitted) OnAdmitted(row);
    num_admitted += admitted ? 1 : 0;
    CheckRow(row, admitted);
  }
  CheckTotals(scheduler, batch);
  CheckStepRules(scheduler, batch, num_admitted);
}

void ScheduleChecker::CheckTotals(const Scheduler& scheduler, const StepBatch& batch) {
  int64_t sum = 0;
  for (const ScheduledRow& row : batch.rows) sum += row.num_scheduled;
  Require(sum == batch.num_tokens, "num_tokens is the sum of the rows");
  Require(facts_.max_tokens == 0 || sum <= facts_.max_tokens, "tokens of a step");
  Require(static_cast<int32_t>(batch.rows.size()) <= facts_.max_rows, "rows of a step");
  Require(static_cast<int32_t>(running_.size()) <= facts_.max_rows, "requests that run");
  Require(scheduler.num_running() == static_cast<int32_t>(running_.size()), "num_running");
  Require(scheduler.num_waiting() == static_cast<int32_t>(waiting_.size()), "num_waiting");
  Require(scheduler.HasUnfinished() == (!running_.empty() || !waiting_.empty()), "HasUnfinished");
  Require(scheduler.HasStepInFlight() == !in_flight_.empty(), "HasStepInFlight");
  Require(scheduler.num_free_blocks() >= 0 && scheduler.num_free_blocks() <= facts_.num_blocks,
          "free blocks are blocks");
}

void ScheduleChecker::OnOutputs(const Scheduler& scheduler, const StepOutputs& outputs) {
  if (!breach_.empty()) return;
  const bool due = in_flight_.size() >= (facts_.steps_ahead && !batch_was_empty_ ? 2U : 1U);
  Require(outputs.applied == due, "outputs are applied when they are due");
  if (!due || !outputs.applied) return;
  std::vector<int32_t> expected;
  for (const InFlight& row : in_flight_.front()) {
    Tracked& tracked = requests_.at(row.request);
    tracked.stale_rows -= row.stale ? 1 : 0;
    if (tracked.finished) {
      ++num_wasted_rows_;
      Require(facts_.steps_ahead && row.samples, "only steps ahead waste rows", row.request);
    } else if (row.samples && !(row.stale && facts_.drops_outputs_of_preempted)) {
      expected.push_back(row.request);
      OnToken(row.request, row.stale);
    }
  }
  Require(outputs.got_token == expected, "tokens for the rows that sampled, in batch order");
  in_flight_.pop_front();
  size_t due_to_finish = 0;
  for (const int32_t request : expected) {
    const Tracked& tracked = requests_.at(request);
    due_to_finish += tracked.delivered == tracked.outputs ? 1 : 0;
  }
  Require(outputs.finished.size() == due_to_finish, "finished with exactly its outputs");
  for (const StepOutputs::Finished& done : outputs.finished) OnFinished(done);
  Require(scheduler.num_running() == static_cast<int32_t>(running_.size()), "num_running");
  Require(scheduler.num_waiting() == static_cast<int32_t>(waiting_.size()), "num_waiting");
}

void ScheduleChecker::OnToken(int32_t request, bool stale) {
  Tracked& tracked = requests_.at(request);
  ++tracked.delivered;
  if (stale) return;
  --tracked.pending;
  if (facts_.steps_ahead) Remember(tracked, tracked.computed - tracked.pending);
}

void ScheduleChecker::OnFinished(const StepOutputs::Finished& done) {
  Tracked& tracked = requests_.at(done.request);
  Require(!tracked.finished, "finished twice", done.request);
  Require(tracked.delivered == tracked.outputs, "finished with exactly its outputs", done.request);
  const bool whole = tracked.delivered == WholeOutputs(tracked.request, config_);
  Require((done.reason == FinishReason::kStop) == whole, "reason", done.request);
  tracked.finished = true;
  tracked.running = false;
  std::erase(running_, done.request);
  std::erase(waiting_, done.request);  // preempted, and its last token was in flight
  const int32_t most_wasted = facts_.steps_ahead && tracked.outputs < tracked.told_outputs ? 1 : 0;
  Require(tracked.samples - tracked.outputs <= most_wasted, "one wasted row at most", done.request);
}

void ScheduleChecker::AtEnd(const Scheduler& scheduler) {
  for (const auto& [index, tracked] : requests_) Require(tracked.finished, "unfinished", index);
  Require(!scheduler.HasUnfinished() && !scheduler.HasStepInFlight(), "nothing is left");
  Require(scheduler.num_free_blocks() == facts_.num_blocks, "all blocks are free");
}

}  // namespace batchvar
