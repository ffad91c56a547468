#include "sim/serving/batch_scheduler.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"

namespace batchvar {

BatchScheduler::BatchScheduler(const SchedulerConfig& config)
    : config_(config),
      kv_(config.num_gpu_blocks, config.block_size, /*enable_prefix_caching=*/false) {
  BV_CHECK(config.policy == SchedulerPolicy::kStatic || config.policy == SchedulerPolicy::kOrca);
}

void BatchScheduler::Add(const Request& request, int32_t index) {
  BV_CHECK(request.prompt_tokens < config_.max_model_len);
  Member member;
  member.request = index;
  member.prompt_tokens = request.prompt_tokens;
  member.num_tokens = request.prompt_tokens;
  member.stop_after = request.output_tokens;
  waiting_.push_back(std::move(member));
}

void BatchScheduler::Admit() {
  const bool is_static = config_.policy == SchedulerPolicy::kStatic;
  if (is_static && !running_.empty()) return;
  while (!waiting_.empty() && num_running() < config_.max_num_seqs) {
    const Member& head = waiting_.front();
    const int64_t own = int64_t{head.prompt_tokens} + head.stop_after;
    const int64_t reserved =
        is_static ? std::min<int64_t>(own, config_.max_model_len) : config_.max_model_len;
    const int32_t needed = kv_.BlocksFor(reserved);
    if (needed > kv_.num_free()) break;
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    kv_.Append(needed, &running_.back().blocks);
  }
  if (is_static) batch_size_ = num_running();
}

const StepBatch& BatchScheduler::Schedule() {
  batch_.Clear();
  Admit();
  int32_t longest = 0;
  for (Member& member : running_) {
    const int32_t n = member.num_tokens - member.num_computed;
    const bool decode = n == 1 && member.num_computed >= member.prompt_tokens;
    batch_.rows.push_back(
        {member.request, n, member.num_computed, decode ? Phase::kDecode : Phase::kLastChunk});
    batch_.num_tokens += n;
    member.num_computed += n;
    longest = std::max(longest, n);
  }
  if (config_.policy == SchedulerPolicy::kStatic && !running_.empty()) {
    batch_.padding_tokens =
        static_cast<int32_t>(int64_t{longest} * batch_size_ - batch_.num_tokens);
  }
  step_pending_ = !running_.empty();
  return batch_;
}

const StepOutputs& BatchScheduler::ApplyOutputs() {
  outputs_.Clear();
  if (!step_pending_) return outputs_;
  step_pending_ = false;
  outputs_.applied = true;
  for (Member& member : running_) {
    ++member.num_tokens;
    outputs_.got_token.push_back(member.request);
    const bool stops = member.num_tokens - member.prompt_tokens >= member.stop_after;
    const bool at_limit = member.num_tokens >= config_.max_model_len;
    if (!stops && !at_limit) continue;
    outputs_.finished.push_back(
        {member.request, stops ? FinishReason::kStop : FinishReason::kModelLimit});
    kv_.Free(&member.blocks);
  }
  std::erase_if(running_, [](const Member& member) { return member.blocks.empty(); });
  return outputs_;
}

}  // namespace batchvar
