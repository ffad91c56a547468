#include "tests/property/schedule_checker.h"

#include <algorithm>
#include <tuple>

namespace batchvar {

void ScheduleChecker::Require(bool holds, const char* rule, int32_t request) {
  if (holds || !breach_.empty()) return;
  breach_ = "step " + std::to_string(step_) + ": " + rule;
  if (request >= 0) breach_ += " (request " + std::to_string(request) + ")";
}

void ScheduleChecker::OnAdd(const Request& request, int32_t index) {
  Tracked tracked;
  tracked.request = request;
  const int32_t room = config_.max_model_len - request.prompt_tokens;
  tracked.outputs = std::min(request.output_tokens, room);
  tracked.told_outputs = config_.output_ends_by == OutputEndsBy::kEos ? room : tracked.outputs;
  if (request.max_tokens > 0) tracked.told_outputs = std::min(request.max_tokens, room);
  tracked.text = HashesOfText(request, index, config_.max_model_len);
  Require(requests_.emplace(index, std::move(tracked)).second, "added twice", index);
  waiting_.push_back(index);
  blocks_wanted_ += BlocksFor(request.prompt_tokens + int64_t{request.output_tokens});
}

// Whether `a` leaves the queue before `b`; in order of arrival otherwise, see OnPreempted.
bool ScheduleChecker::GoesBefore(int32_t a, int32_t b) const {
  const Request& x = requests_.at(a).request;
  const Request& y = requests_.at(b).request;
  return std::tie(x.priority, x.arrival_ns, x.id) < std::tie(y.priority, y.arrival_ns, y.id);
}

void ScheduleChecker::OnPreempted(int32_t request) {
  Tracked& tracked = requests_.at(request);
  Require(is_vllm(), "only vllm_v1 preempts", request);
  Require(tracked.running && !tracked.finished, "preempted without running", request);
  ++num_preemptions_;
  tracked.running = false;
  tracked.computed = 0;
  tracked.pending = 0;
  tracked.table.clear();
  for (std::vector<InFlight>& step : in_flight_) {
    for (InFlight& row : step) {
      if (row.request != request || row.stale) continue;
      row.stale = true;
      ++tracked.stale_rows;
    }
  }
  std::erase(running_, request);
  waiting_.push_front(request);
}

void ScheduleChecker::OnAdmitted(const ScheduledRow& row) {
  Tracked& tracked = requests_.at(row.request);
  Require(tracked.pending == 0 && tracked.stale_rows == 0, "admitted with output in flight",
          row.request);
  int32_t expected = -1;  // the head of the queue, without those that wait for stale output
  for (const int32_t waiting : waiting_) {
    if (requests_.at(waiting).stale_rows > 0) continue;
    const bool by_priority = is_vllm() && config_.priority == QueuePriority::kPriority;
    if (expected < 0 || (by_priority && GoesBefore(waiting, expected))) expected = waiting;
  }
  Require(row.request == expected, "admitted out of turn", row.request);
  if (is_vllm() && !config_.enable_chunked_prefill && config_.chunk_alignment == 0 &&
      config_.long_prefill_token_threshold == 0 &&
      !config_.long_prefill_token_threshold_adaptive) {
    Require(row.phase != Phase::kChunk, "cut without chunked prefill", row.request);
  }
  CheckHit(row);
  std::erase(waiting_, row.request);
  running_.push_back(row.request);
  tracked.running = true;
  tracked.computed = row.num_computed;
}

// `num_computed` of an admitted row is what the prefix cache gave.
void ScheduleChecker::CheckHit(const ScheduledRow& row) {
  const Tracked& tracked = requests_.at(row.request);
  const int32_t size = config_.block_size;
  Require(row.num_computed % size == 0, "a hit is whole blocks", row.request);
  Require(row.num_computed < tracked.known(), "a hit leaves the last token", row.request);
  Require(caching() || row.num_computed == 0, "starts at 0 without caching", row.request);
  if (!caching()) return;
  num_hit_tokens_ += row.num_computed;
  // A priority victim leaves the batch after its blocks were registered, so there a hit may name
  // content that nobody computed. It follows from vLLM's rules, see docs/scheduler.md.
  if (config_.priority == QueuePriority::kFcfs) {
    for (int32_t edge = size; edge <= row.num_computed; edge += size) {
      Require(computed_texts_.contains(tracked.text[edge]), "hit what nobody computed",
              row.request);
    }
  }
  const bool nothing_evicted =
      num_preemptions_ == 0 && blocks_wanted_ < config_.num_gpu_blocks - 1;
  const int32_t next = row.num_computed + size;
  if (nothing_evicted && next < tracked.known()) {
    Require(!computed_texts_.contains(tracked.text[next]), "missed what is cached", row.request);
  }
}

void ScheduleChecker::Remember(const Tracked& tracked, int32_t num_tokens) {
  if (!caching()) return;
  const int32_t size = config_.block_size;
  for (int32_t edge = num_tokens / size * size; edge > 0; edge -= size) {
    if (!computed_texts_.insert(tracked.text[edge]).second) break;
  }
}

void ScheduleChecker::CheckRow(const ScheduledRow& row) {
  Tracked& tracked = requests_.at(row.request);
  const int32_t end = row.num_computed + row.num_scheduled;
  Require(!tracked.finished, "scheduled after its end", row.request);
  Require(row.num_computed == tracked.computed, "continues where it left", row.request);
  Require(row.num_scheduled >= 1 && end <= tracked.total(), "only tokens that exist", row.request);
  Require(end < config_.max_model_len, "a row below max_model_len", row.request);
  Require(!tracked.last_token_in_flight(), "its last token was in flight", row.request);
  const bool samples = end == tracked.total();
  const bool decode = row.num_computed == tracked.total() - 1 &&
                      row.num_computed >= tracked.request.prompt_tokens;
  const Phase phase = !samples ? Phase::kChunk : decode ? Phase::kDecode : Phase::kLastChunk;
  Require(row.phase == phase, "phase", row.request);
  if (is_vllm() && eligible_ > 1 && config_.long_prefill_token_threshold > 0 &&
      !config_.long_prefill_token_threshold_adaptive) {
    const int32_t most = std::max(config_.long_prefill_token_threshold, config_.chunk_alignment);
    Require(row.num_scheduled <= most, "threshold", row.request);
  }
  if (is_vllm() && config_.chunk_alignment > 0 && !samples) {
    Require(end % config_.chunk_alignment == 0, "an aligned cut", row.request);
  }
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
  eligible_ = static_cast<int32_t>(running_.size() + waiting_.size());
  const bool was_idle = running_.empty();
  for (const int32_t request : scheduler.preempted()) OnPreempted(request);
  batch_was_empty_ = batch.rows.empty();
  if (!batch_was_empty_) in_flight_.emplace_back();
  size_t position = 0;  // running requests come first, in running order
  size_t num_admitted = 0;
  const size_t num_before = running_.size();
  for (const ScheduledRow& row : batch.rows) {
    if (!requests_.contains(row.request)) return Require(false, "unknown request", row.request);
    const bool admitted = !requests_.at(row.request).running;
    if (admitted) {
      OnAdmitted(row);
      ++num_admitted;
    }
    while (position < running_.size() && running_[position] != row.request) ++position;
    Require(position++ < running_.size(), "running order, then admission order", row.request);
    Require(admitted == (position > num_before), "running first", row.request);
    CheckRow(row);
  }
  if (num_admitted > 0) {
    Require(scheduler.preempted().empty(), "no admission in a step with a preemption");
    if (config_.policy == SchedulerPolicy::kStatic) {
      Require(was_idle, "static: nobody joins a batch");
      batch_size_ = static_cast<int32_t>(batch.rows.size());
    }
  }
  CheckUnscheduled(batch, num_admitted);
  CheckTotals(scheduler, batch);
  CheckStatic(batch);
  if (const auto* vllm = dynamic_cast<const VllmV1Scheduler*>(&scheduler)) {
    CheckTables(*vllm, batch);
  } else {
    CheckReservations(scheduler);
  }
}

// A running request gets nothing only if its last token is in flight, the budget is used up, a
// preemption ended the step, or an aligned chunk waits for room; then nobody is admitted.
void ScheduleChecker::CheckUnscheduled(const StepBatch& batch, size_t num_admitted) {
  std::set<int32_t> scheduled;
  for (const ScheduledRow& row : batch.rows) scheduled.insert(row.request);
  Require(scheduled.size() == batch.rows.size(), "one row per request");
  for (const int32_t request : running_) {
    const Tracked& tracked = requests_.at(request);
    if (scheduled.contains(request) || tracked.last_token_in_flight()) continue;
    Require(is_vllm(), "everybody runs in every step", request);
    Require(num_admitted == 0, "admitted although a running request got nothing", request);
    if (num_preemptions_ == 0 && config_.chunk_alignment == 0) {
      Require(batch.num_tokens == config_.max_num_batched_tokens, "idle with budget left", request);
    }
  }
}

void ScheduleChecker::CheckTotals(const Scheduler& scheduler, const StepBatch& batch) {
  int64_t sum = 0;
  for (const ScheduledRow& row : batch.rows) sum += row.num_scheduled;
  Require(sum == batch.num_tokens, "num_tokens is the sum of the rows");
  Require(!is_vllm() || sum <= config_.max_num_batched_tokens, "budget");
  Require(static_cast<int32_t>(batch.rows.size()) <= config_.max_num_seqs, "max_num_seqs");
  Require(static_cast<int32_t>(running_.size()) <= config_.max_num_seqs, "max_num_seqs running");
  Require(scheduler.num_running() == static_cast<int32_t>(running_.size()), "num_running");
  Require(scheduler.num_waiting() == static_cast<int32_t>(waiting_.size()), "num_waiting");
  Require(scheduler.HasUnfinished() == (!running_.empty() || !waiting_.empty()), "HasUnfinished");
  Require(scheduler.HasStepInFlight() == !in_flight_.empty(), "HasStepInFlight");
}

void ScheduleChecker::CheckStatic(const StepBatch& batch) {
  if (config_.policy != SchedulerPolicy::kStatic || batch.rows.empty()) {
    Require(batch.padding_tokens == 0, "only static batches are padded");
    return;
  }
  int64_t longest = 0;
  for (const ScheduledRow& row : batch.rows) {
    longest = std::max<int64_t>(longest, row.num_scheduled);
  }
  Require(batch.M() == longest * batch_size_, "static: every row as long as the longest");
}

void ScheduleChecker::CheckTables(const VllmV1Scheduler& scheduler, const StepBatch& batch) {
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    Tracked& tracked = requests_.at(batch.rows[i].request);
    tracked.table = scheduler.BlockTableOfRow(static_cast<int32_t>(i));
    Require(static_cast<int32_t>(tracked.table.size()) == BlocksFor(tracked.computed),
            "as many blocks as the computed tokens need", batch.rows[i].request);
  }
  struct Use {
    size_t place;
    TextHash text;
  };
  std::map<BlockId, Use> held;
  for (const int32_t request : running_) {
    const Tracked& tracked = requests_.at(request);
    for (size_t place = 0; place < tracked.table.size(); ++place) {
      const BlockId block = tracked.table[place];
      Require(block > 0 && block < config_.num_gpu_blocks, "a block that exists", request);
      const size_t edge = (place + 1) * static_cast<size_t>(config_.block_size);
      const TextHash text = edge < tracked.text.size() ? tracked.text[edge] : 0;
      const auto [use, is_new] = held.emplace(block, Use{place, text});
      if (is_new) continue;
      Require(caching() && use->second.place == place && use->second.text == text && text != 0,
              "only equal text shares a block", request);
    }
  }
  Require(scheduler.num_free_blocks() + static_cast<int32_t>(held.size()) ==
              config_.num_gpu_blocks - 1,
          "free + held blocks == usable blocks");
}

void ScheduleChecker::CheckReservations(const Scheduler& scheduler) {
  int32_t held = 0;
  for (const int32_t request : running_) {
    const Request& r = requests_.at(request).request;
    const bool is_static = config_.policy == SchedulerPolicy::kStatic;
    held += BlocksFor(is_static ? std::min(r.prompt_tokens + r.output_tokens, config_.max_model_len)
                                : config_.max_model_len);
  }
  Require(scheduler.num_free_blocks() + held == config_.num_gpu_blocks - 1,
          "free + reserved blocks == usable blocks");
}

void ScheduleChecker::OnOutputs(const Scheduler& scheduler, const StepOutputs& outputs) {
  if (!breach_.empty()) return;
  const bool due = in_flight_.size() >= (async() && !batch_was_empty_ ? 2U : 1U);
  Require(outputs.applied == due, "outputs are applied when they are due");
  if (!due || !outputs.applied) return;
  std::vector<int32_t> expected;
  for (const InFlight& row : in_flight_.front()) {
    Tracked& tracked = requests_.at(row.request);
    tracked.stale_rows -= row.stale ? 1 : 0;
    if (tracked.finished) {
      ++num_wasted_rows_;
      Require(async() && row.samples, "only async wastes rows", row.request);
    } else if (row.samples) {
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
  if (async()) Remember(tracked, tracked.computed - tracked.pending);
}

void ScheduleChecker::OnFinished(const StepOutputs::Finished& done) {
  Tracked& tracked = requests_.at(done.request);
  Require(!tracked.finished, "finished twice", done.request);
  Require(tracked.delivered == tracked.outputs, "finished with exactly its outputs", done.request);
  const bool by_itself = tracked.delivered == tracked.request.output_tokens;
  Require((done.reason == FinishReason::kStop) == by_itself, "reason", done.request);
  tracked.finished = true;
  tracked.running = false;
  tracked.table.clear();
  std::erase(running_, done.request);
  std::erase(waiting_, done.request);  // preempted, and its last token was in flight
  const int32_t most_wasted = async() && tracked.outputs < tracked.told_outputs ? 1 : 0;
  Require(tracked.samples - tracked.outputs <= most_wasted, "one wasted row at most", done.request);
}

void ScheduleChecker::AtEnd(const Scheduler& scheduler) {
  for (const auto& [index, tracked] : requests_) Require(tracked.finished, "unfinished", index);
  Require(!scheduler.HasUnfinished() && !scheduler.HasStepInFlight(), "nothing is left");
  Require(scheduler.num_free_blocks() == config_.num_gpu_blocks - 1, "all blocks are free");
}

}  // namespace batchvar
