#include "sim/serving/vllm_v1_scheduler.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"

namespace batchvar {
namespace {

// Async scheduling keeps one step in flight while the next one is scheduled (batch queue of 2).
constexpr size_t kAsyncStepsInFlight = 2;

}  // namespace

VllmV1Scheduler::VllmV1Scheduler(const SchedulerConfig& config)
    : config_(config),
      watermark_blocks_(static_cast<int32_t>(config.watermark * config.num_gpu_blocks)),
      kv_(config.num_gpu_blocks, config.block_size, config.enable_prefix_caching),
      waiting_(config.priority) {
  BV_CHECK(config.max_model_len >= 2 && config.max_num_seqs >= 1);
  BV_CHECK(config.max_num_batched_tokens >= 1);
}

void VllmV1Scheduler::Add(const Request& request, int32_t index) {
  BV_CHECK(request.prompt_tokens >= 1 && request.output_tokens >= 1);
  BV_CHECK(request.prompt_tokens < config_.max_model_len);
  const int32_t slot = sequences_.Acquire();
  Sequence& sequence = sequences_[slot];
  sequence.request = index;
  sequence.prompt_tokens = request.prompt_tokens;
  sequence.num_tokens = request.prompt_tokens;
  sequence.stop_after = request.output_tokens;
  sequence.max_tokens = AskedOutputs(config_, request);
  sequence.priority = request.priority;
  sequence.arrival_ns = request.arrival_ns;
  if (config_.priority == QueuePriority::kPriority) sequence.id = request.id;
  const int64_t longest = std::min<int64_t>(int64_t{request.prompt_tokens} + request.output_tokens,
                                            config_.max_model_len);
  sequence.chain = kv_.MakeChain(request, longest);
  waiting_.PushArrival(slot, sequence);
}

const StepBatch& VllmV1Scheduler::Schedule() {
  batch_.Clear();
  preempted_.clear();
  prefix_hits_.clear();
  hold_admission_ = false;
  if (spare_steps_.empty()) {
    step_ = Step{};
  } else {
    step_ = std::move(spare_steps_.back());
    spare_steps_.pop_back();
  }
  budget_ = config_.max_num_batched_tokens;
  // A lone request is never capped.
  const int32_t eligible = num_running() + num_waiting();
  threshold_ = eligible > 1 ? config_.long_prefill_token_threshold : 0;
  if (config_.long_prefill_token_threshold_adaptive && eligible > 0) {
    threshold_ = std::max(threshold_, config_.max_num_batched_tokens / eligible);
  }
  ScheduleRunning();
  if (preempted_.empty() && !hold_admission_) ScheduleWaiting();
  FinishSchedule();
  return batch_;
}

int32_t VllmV1Scheduler::CutChunk(const Sequence& sequence, int32_t computed, int32_t wanted,
                                  int32_t limit) const {
  int32_t n = wanted;
  const int32_t alignment = config_.chunk_alignment;
  // A threshold below the alignment could never reach the next multiple.
  const int32_t threshold = threshold_ > 0 ? std::max(threshold_, alignment) : 0;
  if (threshold > 0 && threshold < n) n = threshold;
  n = std::min(n, limit);
  const bool is_cut = computed + n < sequence.num_known_or_pending();
  if (alignment > 0 && is_cut) n = (computed + n) / alignment * alignment - computed;
  return std::max(n, 0);
}

void VllmV1Scheduler::Record(int32_t slot, int32_t n) {
  const Sequence& sequence = sequences_[slot];
  batch_.rows.push_back({sequence.request, n, sequence.num_computed, Phase::kDecode});
  batch_.num_tokens += n;
  step_.slots.push_back(slot);
  step_.num_scheduled.push_back(n);
  budget_ -= n;
}

void VllmV1Scheduler::ScheduleRunning() {
  size_t cursor = 0;
  while (cursor < running_.size() && budget_ > 0) {
    const int32_t slot = running_[cursor];
    Sequence& sequence = sequences_[slot];
    // Its last token is in flight already.
    if (sequence.placeholders > 0 && sequence.num_computed + 2 - sequence.placeholders >=
                                         sequence.prompt_tokens + sequence.max_tokens) {
      ++cursor;
      continue;
    }
    const int32_t wanted = sequence.num_known_or_pending() - sequence.num_computed;
    const int32_t limit = std::min(budget_, config_.max_model_len - sequence.num_computed - 1);
    const int32_t n = CutChunk(sequence, sequence.num_computed, wanted, limit);
    if (n == 0) {
      // Decodes may take all the room below its next multiple for ever, unless nobody new joins.
      if (config_.chunk_alignment > 0 && wanted > 0 && limit > 0) hold_admission_ = true;
      ++cursor;
      continue;
    }
    if (!AllocateOrPreempt(slot, n, &cursor)) break;
    Record(slot, n);
    ++cursor;
  }
}

bool VllmV1Scheduler::AllocateOrPreempt(int32_t slot, int32_t n, size_t* cursor) {
  Sequence& sequence = sequences_[slot];
  while (true) {
    const int64_t last = std::min(sequence.num_computed + n, config_.max_model_len);
    const int32_t needed = kv_.BlocksFor(last) - static_cast<int32_t>(sequence.blocks.size());
    if (needed <= kv_.num_free()) {
      AllocateRunning(&sequence, n);
      return true;
    }
    const size_t victim = VictimPosition();
    const bool itself = running_[victim] == slot;
    Preempt(victim, cursor);
    if (itself) return false;
  }
}

void VllmV1Scheduler::AllocateRunning(Sequence* sequence, int32_t n) {
  const int64_t last = std::min(sequence->num_computed + n, config_.max_model_len);
  const int32_t needed = kv_.BlocksFor(last) - static_cast<int32_t>(sequence->blocks.size());
  if (needed > 0) kv_.Append(needed, &sequence->blocks);
  RegisterUpTo(sequence, std::min(sequence->num_computed + n, sequence->num_tokens));
}

void VllmV1Scheduler::RegisterUpTo(Sequence* sequence, int64_t num_tokens) {
  if (!kv_.caching()) return;
  const int32_t full = static_cast<int32_t>(num_tokens / config_.block_size);
  if (full <= sequence->num_cached_blocks) return;
  kv_.Register(sequence->chain, sequence->blocks, sequence->num_cached_blocks, full,
               {sequence->request, sequence->pass});
  sequence->num_cached_blocks = full;
}

size_t VllmV1Scheduler::VictimPosition() const {
  if (config_.priority == QueuePriority::kFcfs) return running_.size() - 1;
  size_t worst = 0;
  for (size_t i = 1; i < running_.size(); ++i) {  // the first of equals: no tie-break by id here
    const Sequence& a = sequences_[running_[i]];
    const Sequence& b = sequences_[running_[worst]];
    if (std::pair(a.priority, a.arrival_ns) > std::pair(b.priority, b.arrival_ns)) worst = i;
  }
  return worst;
}

void VllmV1Scheduler::Preempt(size_t position, size_t* cursor) {
  const int32_t slot = running_[position];
  Sequence& sequence = sequences_[slot];
  const auto scheduled = std::find(step_.slots.begin(), step_.slots.end(), slot);
  if (position < *cursor) {
    --*cursor;
    if (scheduled != step_.slots.end()) {  // it leaves the batch and gives its tokens back
      const auto row = scheduled - step_.slots.begin();
      budget_ += step_.num_scheduled[row];
      batch_.num_tokens -= step_.num_scheduled[row];
      step_.slots.erase(scheduled);
      step_.num_scheduled.erase(step_.num_scheduled.begin() + row);
      batch_.rows.erase(batch_.rows.begin() + row);
    }
  }
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(position));
  kv_.Free(&sequence.blocks);
  sequence.status = SequenceStatus::kPreempted;
  ++sequence.pass;
  sequence.num_computed = 0;
  sequence.num_cached_blocks = 0;
  sequence.placeholders = 0;
  sequence.stale = sequence.in_flight;
  waiting_.PushFront(slot, sequence);
  preempted_.push_back(sequence.request);
}

void VllmV1Scheduler::ScheduleWaiting() {
  set_aside_.clear();
  while (budget_ > 0 && !waiting_.empty() && num_running() < config_.max_num_seqs) {
    const int32_t slot = waiting_.Head();
    if (sequences_[slot].stale > 0) {
      waiting_.PopHead();
      set_aside_.push_back(slot);
      continue;
    }
    if (!AdmitHead()) break;
  }
  for (size_t i = set_aside_.size(); i-- > 0;) {
    waiting_.PushFront(set_aside_[i], sequences_[set_aside_[i]]);
  }
}

bool VllmV1Scheduler::AdmitHead() {
  const int32_t slot = waiting_.Head();
  Sequence& sequence = sequences_[slot];
  // The last token is always computed, so a full hit recomputes one whole block.
  kv_.Lookup(sequence.chain, (sequence.num_tokens - 1) / config_.block_size, &hits_);
  const int32_t num_hits = static_cast<int32_t>(hits_.blocks.size());
  const int32_t hit_tokens = num_hits * config_.block_size;
  const int32_t wanted = sequence.num_tokens - hit_tokens;
  if (!config_.enable_chunked_prefill) {
    const int32_t capped = threshold_ > 0 ? std::min(wanted, threshold_) : wanted;
    if (capped > budget_) return false;  // head-of-line blocking, no look-ahead
  }
  const int32_t n = CutChunk(sequence, hit_tokens, wanted, budget_);
  if (n == 0) return false;

  const int32_t watermark = running_.empty() ? 0 : watermark_blocks_;
  const int32_t available = kv_.num_free() - hits_.num_free - watermark;
  const int64_t whole = std::min(sequence.num_tokens, config_.max_model_len);
  if (config_.scheduler_reserve_full_isl && kv_.BlocksFor(whole) - num_hits > available) {
    return false;
  }
  const int64_t last = std::min(hit_tokens + n, config_.max_model_len);
  const int32_t needed = kv_.BlocksFor(last) - num_hits;
  if (needed > available) return false;

  waiting_.PopHead();
  RecordHits(sequence);
  kv_.Touch(hits_, &sequence.blocks);
  kv_.Append(needed, &sequence.blocks);
  sequence.num_computed = hit_tokens;
  sequence.num_cached_blocks = num_hits;
  sequence.status = SequenceStatus::kRunning;
  RegisterUpTo(&sequence, std::min(hit_tokens + n, sequence.num_tokens));
  running_.push_back(slot);
  Record(slot, n);
  return true;
}

// hits_ as runs of blocks that one producer filled.
void VllmV1Scheduler::RecordHits(const Sequence& sequence) {
  const size_t first = prefix_hits_.size();
  for (size_t i = 0; i < hits_.blocks.size(); ++i) {
    const KvProducer& producer = kv_.ProducerOf(hits_.blocks[i]);
    const int32_t begin = static_cast<int32_t>(i) * config_.block_size;
    if (prefix_hits_.size() == first || prefix_hits_.back().producer != producer) {
      prefix_hits_.push_back({sequence.request, sequence.pass, begin, begin, producer});
    }
    prefix_hits_.back().end = begin + config_.block_size;
  }
}

// Scheduler.schedule and get_num_common_prefix_blocks of vLLM's kv_cache_manager.py, before 0.32
// (read 2026-11-29): any running sequence will do, and those that this step leaves out count too.
int32_t VllmV1Scheduler::SharedPrefix() const {
  if (running_.empty()) return 0;
  const std::vector<BlockId>& blocks = sequences_[running_.front()].blocks;
  return kv_.LeadingHeldBy(num_running(), blocks) * config_.block_size;
}

void VllmV1Scheduler::FinishSchedule() {
  if (config_.report_shared_prefix) batch_.shared_prefix = SharedPrefix();
  step_.samples.resize(step_.slots.size());
  for (size_t row = 0; row < step_.slots.size(); ++row) {
    Sequence& sequence = sequences_[step_.slots[row]];
    const int32_t n = step_.num_scheduled[row];
    const int32_t before = sequence.num_computed;
    const int32_t known = sequence.num_known_or_pending();
    sequence.num_computed += n;
    sequence.in_flight += n;
    const bool samples = sequence.num_computed >= known;
    step_.samples[row] = samples ? 1 : 0;
    const bool decode = before == known - 1 && before >= sequence.prompt_tokens;
    batch_.rows[row].phase =
        !samples ? Phase::kChunk : (decode ? Phase::kDecode : Phase::kLastChunk);
    if (samples && config_.async_scheduling) ++sequence.placeholders;
  }
  BV_CHECK(batch_.num_tokens <= config_.max_num_batched_tokens);
  BV_CHECK(num_running() <= config_.max_num_seqs);
  const bool empty = step_.slots.empty();
  if (!empty) {
    in_flight_.push_back(std::move(step_));
  } else {
    spare_steps_.push_back(std::move(step_));
  }
}

const StepOutputs& VllmV1Scheduler::ApplyOutputs() {
  outputs_.Clear();
  if (in_flight_.empty()) return outputs_;
  const bool due =
      !config_.async_scheduling || in_flight_.size() >= kAsyncStepsInFlight || batch_.rows.empty();
  if (!due) return outputs_;
  Step step = std::move(in_flight_.front());
  in_flight_.pop_front();
  outputs_.applied = true;
  for (size_t row = 0; row < step.slots.size(); ++row) {
    ApplyRow(step.slots[row], step.num_scheduled[row], step.samples[row] != 0);
  }
  if (!outputs_.finished.empty()) {
    std::erase_if(running_, [&](int32_t slot) {
      return sequences_[slot].status == SequenceStatus::kFinished;
    });
  }
  // Only now: a slot must not be reused while running_ may still name it.
  for (const int32_t slot : step.slots) {
    if (!sequences_[slot].CanRecycle()) continue;
    BV_CHECK(sequences_[slot].blocks.empty());
    sequences_.Release(slot);
  }
  step.slots.clear();
  step.num_scheduled.clear();
  step.samples.clear();
  spare_steps_.push_back(std::move(step));
  return outputs_;
}

void VllmV1Scheduler::ApplyRow(int32_t slot, int32_t num_scheduled, bool samples) {
  Sequence& sequence = sequences_[slot];
  sequence.in_flight -= num_scheduled;
  if (sequence.status == SequenceStatus::kFinished) return;  // the wasted row after a stop token
  const bool stale = sequence.stale > 0;
  if (stale) sequence.stale -= num_scheduled;
  if (!samples) return;
  ++sequence.num_tokens;
  outputs_.got_token.push_back(sequence.request);
  if (config_.async_scheduling && !stale) {
    --sequence.placeholders;
    RegisterUpTo(&sequence, sequence.num_computed - sequence.placeholders);
  }
  const int32_t generated = sequence.num_tokens - sequence.prompt_tokens;
  if (generated >= sequence.stop_after) {
    Finish(slot, FinishReason::kStop);
  } else if (sequence.num_tokens >= config_.max_model_len || generated >= sequence.max_tokens) {
    Finish(slot, FinishReason::kModelLimit);
  }
}

void VllmV1Scheduler::Finish(int32_t slot, FinishReason reason) {
  Sequence& sequence = sequences_[slot];
  outputs_.finished.push_back({sequence.request, reason});
  if (sequence.status == SequenceStatus::kPreempted) waiting_.Remove(slot, sequence);
  sequence.status = SequenceStatus::kFinished;
  kv_.Free(&sequence.blocks);
  kv_.ReleaseChain(sequence.chain);
}

std::vector<int32_t> VllmV1Scheduler::RunningRequests() const {
  std::vector<int32_t> requests;
  for (const int32_t slot : running_) requests.push_back(sequences_[slot].request);
  return requests;
}

const std::vector<BlockId>& VllmV1Scheduler::BlockTableOfRow(int32_t row) const {
  BV_CHECK(!in_flight_.empty());
  return sequences_[in_flight_.back().slots[row]].blocks;
}

}  // namespace batchvar
