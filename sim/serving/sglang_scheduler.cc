#include "sim/serving/sglang_scheduler.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"

namespace batchvar {
namespace {

// The part of their limit that running requests are expected to still use
// (SGLANG_INIT_NEW_TOKEN_RATIO, MIN_NEW_TOKEN_RATIO_FACTOR, NEW_TOKEN_RATIO_DECAY_STEPS).
constexpr double kFirstRatio = 0.7;
constexpr double kLeastRatioFactor = 0.14;
constexpr double kRatioDecaySteps = 600;

}  // namespace

SglangScheduler::SglangScheduler(const SchedulerConfig& config)
    : config_(config),
      sglang_(config_.sglang),
      radix_(!config.sglang.disable_radix_cache),
      overlap_(!config.sglang.disable_overlap_schedule),
      first_ratio_(std::min(kFirstRatio * config.sglang.schedule_conservativeness, 1.0)),
      least_ratio_(kLeastRatioFactor * first_ratio_),
      ratio_decay_((first_ratio_ - least_ratio_) / kRatioDecaySteps),
      ratio_(first_ratio_),
      tree_(config.sglang.page_size),
      free_(config.sglang.max_total_tokens),
      free_rows_(config.sglang.max_running_requests),
      waiting_(config.sglang, &requests_, &tree_) {
  BV_CHECK(sglang_.page_size >= 1 && sglang_.max_total_tokens % sglang_.page_size == 0);
  BV_CHECK(sglang_.max_running_requests >= 1 && sglang_.max_prefill_tokens >= 1);
  BV_CHECK(
      sglang_.chunked_prefill_size == -1 ||
      (sglang_.chunked_prefill_size >= 1 && sglang_.chunked_prefill_size % sglang_.page_size == 0));
}

void SglangScheduler::Add(const Request& request, int32_t index) {
  BV_CHECK(request.prompt_tokens >= 1 && request.output_tokens >= 1);
  BV_CHECK(request.prompt_tokens < PromptLimit(config_));
  const int32_t slot = requests_.Acquire();
  SglangRequest& r = requests_[slot];
  r.request = index;
  r.prompt_tokens = request.prompt_tokens;
  r.stop_after = request.output_tokens;
  r.ignore_eos = request.ignore_eos || sglang_.ignore_eos;
  const int32_t asked = AskedOutputs(config_, request);
  r.whole = r.ignore_eos ? asked : request.output_tokens;
  // The limit is cut once, to what one request may hold at all.
  const int64_t pool = sglang_.max_total_tokens;
  const int64_t longest = std::min<int64_t>(config_.max_model_len, pool) - 1;
  int64_t limit = std::max<int64_t>(0, std::min<int64_t>(asked, longest - r.prompt_tokens - 1));
  limit = std::min(limit, pool - CeilPage(r.prompt_tokens) - sglang_.page_size - 1);
  r.max_new = static_cast<int32_t>(std::max<int64_t>(limit, 0));
  if (radix_) {
    const int32_t outputs = r.ignore_eos ? r.max_new : std::min(r.stop_after, r.max_new);
    r.chain = tree_.MakeChain(request, int64_t{r.prompt_tokens} + std::max(outputs, 1));
    waiting_.NameHead(request, slot);
  }
  waiting_.Push(slot);
  ++num_unfinished_;
}

const StepBatch& SglangScheduler::Schedule() {
  BV_CHECK(failure_ == nullptr);
  batch_.Clear();
  preempted_.clear();
  mode_ = SglangMode::kIdle;
  if (!spare_steps_.empty()) {
    step_ = std::move(spare_steps_.back());
    spare_steps_.pop_back();
  }
  step_.slots.clear();
  PublishChunk();
  MergeLastBatch();
  last_prefill_.clear();
  DropFinished(&running_);
  if (!PlanPrefill() && failure_ == nullptr) PlanDecode();
  if (failure_ != nullptr) {
    batch_.Clear();
    preempted_.clear();
  }
  return batch_;
}

// A chunk can be found as soon as it was planned.
void SglangScheduler::PublishChunk() {
  if (chunked_ < 0) return;
  SglangRequest& r = requests_[chunked_];
  if (r.end <= r.prefix) return;
  Publish(&r, r.end);
  r.prefix = r.end;
}

void SglangScheduler::MergeLastBatch() {
  const size_t before = last_prefill_.size();
  std::erase_if(last_prefill_,
                [&](int32_t slot) { return slot == chunked_ || requests_[slot].finished; });
  if (last_prefill_.size() < before) running_.full = false;
  if (last_prefill_.empty()) return;
  if (running_.slots.empty()) {
    running_.slots.swap(last_prefill_);
    running_.full = false;
  } else {
    running_.slots.insert(running_.slots.end(), last_prefill_.begin(), last_prefill_.end());
  }
}

void SglangScheduler::DropFinished(SglangBatch* batch) {
  const size_t dropped =
      std::erase_if(batch->slots, [&](int32_t slot) { return requests_[slot].finished; });
  if (dropped > 0) batch->full = false;
}

void SglangScheduler::Record(int32_t slot, int32_t num_scheduled, int32_t num_computed,
                             Phase phase) {
  SglangRequest& r = requests_[slot];
  batch_.rows.push_back({r.request, num_scheduled, num_computed, phase});
  batch_.num_tokens += num_scheduled;
  step_.slots.push_back(slot);
  ++r.in_flight;
}

void SglangScheduler::PushStep(size_t num_prefill) {
  step_.num_prefill = num_prefill;
  in_flight_.push_back(std::move(step_));
  step_ = SglangStep{};
}

void SglangScheduler::Fail(const char* why) { failure_ = why; }

void SglangScheduler::MakeRoom(int64_t tokens) {
  if (tokens > free_) free_ += tree_.Evict(tokens - free_);
}

int64_t SglangScheduler::CeilPage(int64_t tokens) const {
  return FloorPage(tokens + sglang_.page_size - 1);
}

SglangScheduler::View SglangScheduler::LookInside() const {
  View view;
  view.mode = mode_;
  if (chunked_ >= 0) view.chunked = requests_[chunked_].request;
  for (const int32_t slot : running_.slots) view.running.push_back(requests_[slot].request);
  for (int32_t i = 0; i < waiting_.size(); ++i) {
    view.waiting.push_back(requests_[waiting_[static_cast<size_t>(i)]].request);
  }
  view.full = running_.full;
  view.free_tokens = free_;
  view.evictable_tokens = tree_.evictable_tokens();
  view.new_token_ratio = ratio_;
  return view;
}

}  // namespace batchvar
