// Two older ways to batch, for teaching the contrast with vllm_v1:
//   orca    iteration level: every running sequence plus whole new prompts in one batch, up to
//           max_num_seqs; no token budget, so M is unbounded; every sequence reserves
//           max_model_len tokens of KV (Yu et al., OSDI 2022, as vidur 7d47513 models it).
//   static  a batch is assembled when the engine is empty and every sequence in it must finish
//           before anyone new joins. Prompts are padded to the longest and finished rows are kept,
//           so M stays constant (FasterTransformer); every sequence reserves its own full length.
// Neither chunks, preempts, shares prefixes or schedules ahead.
#ifndef BATCHVAR_SIM_SERVING_BATCH_SCHEDULER_H_
#define BATCHVAR_SIM_SERVING_BATCH_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/kv_cache.h"
#include "sim/serving/scheduler.h"

namespace batchvar {

class BatchScheduler final : public Scheduler {
 public:
  explicit BatchScheduler(const SchedulerConfig& config);

  void Add(const Request& request, int32_t index) override;
  const StepBatch& Schedule() override;
  const std::vector<int32_t>& preempted() const override { return preempted_; }
  const std::vector<PrefixHit>& prefix_hits() const override { return prefix_hits_; }
  const StepOutputs& ApplyOutputs() override;
  bool HasUnfinished() const override { return !running_.empty() || !waiting_.empty(); }
  bool HasStepInFlight() const override { return step_pending_; }
  int32_t num_running() const override { return static_cast<int32_t>(running_.size()); }
  int32_t num_waiting() const override { return static_cast<int32_t>(waiting_.size()); }
  int32_t num_free_blocks() const override { return kv_.num_free(); }

 private:
  struct Member {
    int32_t request = 0;
    int32_t prompt_tokens = 0;
    int32_t stop_after = 0;
    int32_t num_tokens = 0;  // prompt + generated
    int32_t num_computed = 0;
    std::vector<BlockId> blocks;
  };

  void Admit();

  SchedulerConfig config_;
  PagedKvCache kv_;
  std::deque<Member> waiting_;
  std::vector<Member> running_;
  int32_t batch_size_ = 0;  // static: rows of the batch, finished ones included
  bool step_pending_ = false;
  StepBatch batch_;
  std::vector<int32_t> preempted_;      // always empty
  std::vector<PrefixHit> prefix_hits_;  // always empty
  StepOutputs outputs_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_BATCH_SCHEDULER_H_
