// Drives a scheduler step by step and puts each step into words, so that tests read as schedules:
//   "0:30@0L 1:20@0C"         request 0 computes 30 tokens from position 0 and samples (its last
//                             chunk), request 1 computes 20 and does not (a chunk)
//   "0:1@12D preempted 2 1"   a decode; 2, then 1 were preempted
#ifndef BATCHVAR_TESTS_SERVING_SCHEDULE_RUN_H_
#define BATCHVAR_TESTS_SERVING_SCHEDULE_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/serving/scheduler.h"
#include "sim/serving/vllm_v1_scheduler.h"

namespace batchvar {

// Ample and plain: synchronous, nothing cached.
inline SchedulerConfig PlainConfig() {
  SchedulerConfig config;
  config.max_num_batched_tokens = 2048;
  config.max_num_seqs = 64;
  config.max_model_len = 4096;
  config.block_size = 16;
  config.num_gpu_blocks = 8192;
  config.enable_prefix_caching = false;
  config.async_scheduling = false;
  return config;
}

// Four-token blocks, of which `usable` exist.
inline SchedulerConfig TightConfig(int32_t usable) {
  SchedulerConfig config = PlainConfig();
  config.max_model_len = 64;
  config.block_size = 4;
  config.num_gpu_blocks = usable + 1;
  return config;
}

class ScheduleRun {
 public:
  explicit ScheduleRun(const SchedulerConfig& config) : scheduler_(MakeScheduler(config)) {}

  // Requests are named 0, 1, ... in the order of these calls.
  void Add(int32_t prompt_tokens, int32_t output_tokens, int32_t priority = 0,
           std::vector<PrefixSegment> prefix = {}) {
    Request request;
    request.id = std::to_string(num_requests_);
    request.prompt_tokens = prompt_tokens;
    request.output_tokens = output_tokens;
    request.priority = priority;
    request.prefix = std::move(prefix);
    scheduler_->Add(request, num_requests_++);
  }

  // Schedules a step, applies the outputs that are due and says what was scheduled.
  std::string Step() {
    batch_ = scheduler_->Schedule();
    if (const auto* vllm = dynamic_cast<const VllmV1Scheduler*>(scheduler_.get())) {
      for (size_t i = 0; i < batch_.rows.size(); ++i) {
        tables_[batch_.rows[i].request] = vllm->BlockTableOfRow(static_cast<int32_t>(i));
      }
    }
    std::string words;
    for (const ScheduledRow& row : batch_.rows) {
      if (!words.empty()) words += ' ';
      words += std::to_string(row.request) + ':' + std::to_string(row.num_scheduled) + '@' +
               std::to_string(row.num_computed) + "DCL"[static_cast<int>(row.phase)];
    }
    if (!scheduler_->preempted().empty()) words += words.empty() ? "preempted" : " preempted";
    for (const int32_t request : scheduler_->preempted()) words += ' ' + std::to_string(request);
    outputs_ = scheduler_->ApplyOutputs();
    for (const int32_t request : outputs_.got_token) ++num_tokens_[request];
    for (const auto& done : outputs_.finished) reasons_[done.request] = done.reason;
    return words;
  }

  void Steps(int count) {
    for (int i = 0; i < count; ++i) Step();
  }
  // False: after 10,000 steps something is still unfinished.
  bool StepToTheEnd() {
    for (int i = 0; i < 10000; ++i) {
      if (!scheduler_->HasUnfinished() && !scheduler_->HasStepInFlight()) return true;
      Step();
    }
    return false;
  }

  const Scheduler& scheduler() const { return *scheduler_; }
  const StepBatch& batch() const { return batch_; }        // of the last step
  const StepOutputs& outputs() const { return outputs_; }  // applied after it
  const std::vector<BlockId>& Table(int32_t request) { return tables_[request]; }  // last seen
  int32_t NumTokens(int32_t request) { return num_tokens_[request]; }
  bool IsFinished(int32_t request) const { return reasons_.contains(request); }
  FinishReason ReasonOf(int32_t request) const { return reasons_.at(request); }

  // Tokens that the last step gave to `request`; 0: none.
  int32_t TokensOf(int32_t request) const {
    for (const ScheduledRow& row : batch_.rows) {
      if (row.request == request) return row.num_scheduled;
    }
    return 0;
  }

 private:
  std::unique_ptr<Scheduler> scheduler_;
  int32_t num_requests_ = 0;
  StepBatch batch_;
  StepOutputs outputs_;
  std::map<int32_t, std::vector<BlockId>> tables_;
  std::map<int32_t, int32_t> num_tokens_;
  std::map<int32_t, FinishReason> reasons_;
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_SERVING_SCHEDULE_RUN_H_
