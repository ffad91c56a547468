// Decode batches of SGLang, and what happens when the next token of everybody does not fit.
#include <algorithm>

#include "sim/base/check.h"
#include "sim/serving/sglang_scheduler.h"

namespace batchvar {
namespace {

// Tokens ahead that a retraction makes room for (SGLANG_RETRACT_DECODE_STEPS).
constexpr int64_t kRetractSteps = 20;

}  // namespace

bool SglangScheduler::PlanDecode() {
  const size_t before = running_.slots.size();
  if (before == 0) return false;
  const size_t ending = overlap_ ? RemoveEnding() : 0;
  if (ending > 0) running_.full = false;
  if (running_.slots.empty()) return false;
  if (DecodeFits(running_.slots)) {
    ratio_ = std::max(ratio_ - ratio_decay_, least_ratio_);
  } else if (ending > 0) {
    return false;  // what those hold is free soon
  } else {
    Retract();
    if (failure_ != nullptr) return false;
  }
  if (running_.slots.size() < before) running_.full = false;
  AllocateDecode();
  mode_ = SglangMode::kDecode;
  PushStep(/*num_prefill=*/0);
  return true;
}

// Requests whose last token is in flight, by their limit: a stop token nobody foresees.
size_t SglangScheduler::RemoveEnding() {
  return std::erase_if(running_.slots, [&](int32_t slot) {
    const SglangRequest& r = requests_[slot];
    return r.in_flight > 0 && r.num_outputs + 1 >= r.max_new;
  });
}

bool SglangScheduler::DecodeFits(const std::vector<int32_t>& slots) {
  int64_t needed = 0;
  for (const int32_t slot : slots) {
    if (requests_[slot].kv % sglang_.page_size == 0) needed += sglang_.page_size;
  }
  MakeRoom(needed);
  return needed <= free_;
}

// Those with the fewest outputs go, of them those with the longest prompts.
void SglangScheduler::Retract() {
  std::vector<int32_t>& slots = running_.slots;
  std::stable_sort(slots.begin(), slots.end(), [&](int32_t a, int32_t b) {
    const SglangRequest& x = requests_[a];
    const SglangRequest& y = requests_[b];
    return x.num_outputs != y.num_outputs ? x.num_outputs > y.num_outputs
                                          : x.prompt_tokens < y.prompt_tokens;
  });
  bool fits = false;
  while (!fits && slots.size() > 1) {
    const int32_t slot = slots.back();
    slots.pop_back();
    ReleaseRetracted(slot);
    MakeRoom(kRetractSteps * static_cast<int64_t>(slots.size()));
    fits = DecodeFits(slots);
  }
  if (!fits && !DecodeFits(slots)) {
    Fail("the last running request does not fit into the KV pool and is aborted");
    return;
  }
  int64_t outputs = 0;
  int64_t limits = 0;
  for (const int32_t slot : slots) {
    outputs += requests_[slot].num_outputs;
    limits += requests_[slot].max_new;
  }
  const int64_t ahead = kRetractSteps * static_cast<int64_t>(slots.size());
  ratio_ = std::min(1.0, static_cast<double>(outputs + ahead) / static_cast<double>(limits + 1));
}

// It keeps its tokens and loses what it computed; what the tree has of it may be hit again.
void SglangScheduler::ReleaseRetracted(int32_t slot) {
  SglangRequest& r = requests_[slot];
  free_ += CeilPage(r.kv) - r.in_tree;
  tree_.Unlock(r.locked);
  r.locked = RadixTree::kRoot;
  r.prefix = 0;
  r.end = 0;
  r.kv = 0;
  r.in_tree = 0;
  r.retracted = true;
  r.has_row = false;
  ++free_rows_;
  waiting_.Push(slot);
  preempted_.push_back(r.request);
}

// A row of one token for everybody who runs. With pages, room is made for a page each.
void SglangScheduler::AllocateDecode() {
  MakeRoom(static_cast<int64_t>(running_.slots.size()) * sglang_.page_size);
  for (const int32_t slot : running_.slots) {
    SglangRequest& r = requests_[slot];
    if (r.kv % sglang_.page_size == 0) free_ -= sglang_.page_size;
    Record(slot, 1, r.kv, Phase::kDecode);
    ++r.kv;
  }
  BV_CHECK(free_ >= 0);
}

}  // namespace batchvar
