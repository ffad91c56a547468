#include "tests/property/running_first_checker.h"

#include <algorithm>
#include <tuple>

#include "sim/serving/vllm_v1_scheduler.h"

namespace batchvar {

void RunningFirstChecker::BeginStep() {
  eligible_ = static_cast<int32_t>(running_.size() + waiting_.size());
  was_idle_ = running_.empty();
  position_ = 0;
  seen_admitted_ = false;
}

void RunningFirstChecker::CheckAdmission(const ScheduledRow& row) {
  int32_t expected = -1;  // the head of the queue, without those that wait for stale output
  for (const int32_t waiting : waiting_) {
    if (requests_.at(waiting).stale_rows > 0) continue;
    if (expected < 0 || GoesBefore(waiting, expected)) expected = waiting;
  }
  Require(row.request == expected, "admitted out of turn", row.request);
}

void RunningFirstChecker::CheckRowRules(const ScheduledRow& row, bool admitted, bool samples) {
  while (position_ < running_.size() && running_[position_] != row.request) ++position_;
  Require(position_++ < running_.size(), "running order, then admission order", row.request);
  Require(admitted || !seen_admitted_, "running first", row.request);
  seen_admitted_ = seen_admitted_ || admitted;
  const Tracked& tracked = requests_.at(row.request);
  const bool decode =
      row.num_computed == tracked.total() - 1 && row.num_computed >= tracked.request.prompt_tokens;
  const Phase phase = !samples ? Phase::kChunk : decode ? Phase::kDecode : Phase::kLastChunk;
  Require(row.phase == phase, "phase", row.request);
}

void RunningFirstChecker::CheckStepRules(const Scheduler& scheduler, const StepBatch& batch,
                                         size_t num_admitted) {
  Require(num_admitted == 0 || scheduler.preempted().empty(),
          "no admission in a step with a preemption");
  std::set<int32_t> scheduled;
  for (const ScheduledRow& row : batch.rows) scheduled.insert(row.request);
  for (const int32_t request : running_) {
    if (scheduled.contains(request) || requests_.at(request).last_token_in_flight()) continue;
    CheckLeftOut(request, batch, num_admitted);
  }
}

bool VllmV1Checker::GoesBefore(int32_t a, int32_t b) const {
  if (config_.priority != QueuePriority::kPriority) return false;
  const Request& x = requests_.at(a).request;
  const Request& y = requests_.at(b).request;
  return std::tie(x.priority, x.arrival_ns, x.id) < std::tie(y.priority, y.arrival_ns, y.id);
}

// A priority victim leaves the batch after its blocks were registered. It follows from vLLM's
// rules, see docs/scheduler.md.
bool VllmV1Checker::MayHitTheUncomputed() const {
  return config_.priority == QueuePriority::kPriority;
}

void VllmV1Checker::CheckAdmission(const ScheduledRow& row) {
  RunningFirstChecker::CheckAdmission(row);
  if (!config_.enable_chunked_prefill && config_.chunk_alignment == 0 &&
      config_.long_prefill_token_threshold == 0 && !config_.long_prefill_token_threshold_adaptive) {
    Require(row.phase != Phase::kChunk, "cut without chunked prefill", row.request);
  }
  const Tracked& tracked = requests_.at(row.request);
  const bool nothing_evicted = num_preemptions_ == 0 && blocks_wanted_ < facts_.num_blocks;
  const int32_t next = row.num_computed + config_.block_size;
  if (facts_.caching && nothing_evicted && next < tracked.known()) {
    Require(!IsComputed(tracked, next), "missed what is cached", row.request);
  }
}

void VllmV1Checker::CheckRowRules(const ScheduledRow& row, bool admitted, bool samples) {
  RunningFirstChecker::CheckRowRules(row, admitted, samples);
  if (eligible_ > 1 && config_.long_prefill_token_threshold > 0 &&
      !config_.long_prefill_token_threshold_adaptive) {
    const int32_t most = std::max(config_.long_prefill_token_threshold, config_.chunk_alignment);
    Require(row.num_scheduled <= most, "threshold", row.request);
  }
  if (config_.chunk_alignment > 0 && !samples) {
    Require((row.num_computed + row.num_scheduled) % config_.chunk_alignment == 0, "an aligned cut",
            row.request);
  }
}

// The budget is used up, a preemption ended the step, or an aligned chunk waits for room; then
// nobody is admitted.
void VllmV1Checker::CheckLeftOut(int32_t request, const StepBatch& batch, size_t num_admitted) {
  Require(num_admitted == 0, "admitted although a running request got nothing", request);
  if (num_preemptions_ == 0 && config_.chunk_alignment == 0) {
    Require(batch.num_tokens == config_.max_num_batched_tokens, "idle with budget left", request);
  }
}

void VllmV1Checker::CheckStepRules(const Scheduler& scheduler, const StepBatch& batch,
                                   size_t num_admitted) {
  RunningFirstChecker::CheckStepRules(scheduler, batch, num_admitted);
  Require(batch.padding_tokens == 0, "only static batches are padded");
  CheckTables(scheduler, batch);
}

void VllmV1Checker::CheckTables(const Scheduler& scheduler, const StepBatch& batch) {
  const auto& vllm = dynamic_cast<const VllmV1Scheduler&>(scheduler);
  for (const int32_t request : scheduler.preempted()) tables_.erase(request);
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const int32_t request = batch.rows[i].request;
    tables_[request] = vllm.BlockTableOfRow(static_cast<int32_t>(i));
    Require(
        static_cast<int32_t>(tables_[request].size()) == BlocksFor(requests_.at(request).computed),
        "as many blocks as the computed tokens need", request);
  }
  struct Use {
    size_t place;
    TextHash text;
  };
  std::map<BlockId, Use> held;
  for (const int32_t request : running_) {
    const Tracked& tracked = requests_.at(request);
    const std::vector<BlockId>& table = tables_[request];
    for (size_t place = 0; place < table.size(); ++place) {
      const BlockId block = table[place];
      Require(block > 0 && block < config_.num_gpu_blocks, "a block that exists", request);
      const size_t edge = (place + 1) * static_cast<size_t>(config_.block_size);
      const TextHash text = edge < tracked.text.size() ? tracked.text[edge] : 0;
      const auto [use, is_new] = held.emplace(block, Use{place, text});
      if (is_new) continue;
      Require(facts_.caching && use->second.place == place && use->second.text == text && text != 0,
              "only equal text shares a block", request);
    }
  }
  Require(scheduler.num_free_blocks() + static_cast<int32_t>(held.size()) == facts_.num_blocks,
          "free + held blocks == usable blocks");
}

void ReservingChecker::CheckLeftOut(int32_t request, const StepBatch&, size_t) {
  Require(false, "everybody runs in every step", request);
}

void ReservingChecker::CheckStepRules(const Scheduler& scheduler, const StepBatch& batch,
                                      size_t num_admitted) {
  RunningFirstChecker::CheckStepRules(scheduler, batch, num_admitted);
  if (is_static() && num_admitted > 0) {
    Require(was_idle_, "static: nobody joins a batch");
    batch_size_ = static_cast<int32_t>(batch.rows.size());
  }
  CheckPadding(batch);
  CheckReservations(scheduler);
}

void ReservingChecker::CheckPadding(const StepBatch& batch) {
  if (!is_static() || batch.rows.empty()) {
    Require(batch.padding_tokens == 0, "only static batches are padded");
    return;
  }
  int64_t longest = 0;
  for (const ScheduledRow& row : batch.rows) {
    longest = std::max<int64_t>(longest, row.num_scheduled);
  }
  Require(batch.M() == longest * batch_size_, "static: every row as long as the longest");
}

void ReservingChecker::CheckReservations(const Scheduler& scheduler) {
  int32_t held = 0;
  for (const int32_t request : running_) {
    const Request& r = requests_.at(request).request;
    held +=
        BlocksFor(is_static() ? std::min(r.prompt_tokens + r.output_tokens, config_.max_model_len)
                              : config_.max_model_len);
  }
  Require(scheduler.num_free_blocks() + held == facts_.num_blocks,
          "free + reserved blocks == usable blocks");
}

}  // namespace batchvar
