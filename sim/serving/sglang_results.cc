// What SGLang does when the results of a batch are known: tokens, ends, and the radix tree.
#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/serving/sglang_scheduler.h"

namespace batchvar {
namespace {

// With overlap, one batch is in flight while the next one is planned.
constexpr size_t kOverlapSteps = 2;

}  // namespace

const StepOutputs& SglangScheduler::ApplyOutputs() {
  outputs_.Clear();
  if (in_flight_.empty()) {
    // An idle server forgets what it has learnt of the lengths of outputs.
    if (num_unfinished_ == 0) ratio_ = first_ratio_;
    return outputs_;
  }
  if (overlap_ && in_flight_.size() < kOverlapSteps && !batch_.rows.empty()) return outputs_;
  SglangStep step = std::move(in_flight_.front());
  in_flight_.pop_front();
  outputs_.applied = true;
  for (size_t i = 0; i < step.slots.size(); ++i) ApplyRow(step.slots[i], i < step.num_prefill);
  spare_steps_.push_back(std::move(step));
  for (const int32_t slot : long_finished_) {
    BV_CHECK(requests_[slot].in_flight == 0);
    requests_.Release(slot);
  }
  long_finished_.clear();
  long_finished_.swap(just_finished_);
  return outputs_;
}

void SglangScheduler::ApplyRow(int32_t slot, bool is_prefill) {
  SglangRequest& r = requests_[slot];
  --r.in_flight;
  if (r.finished || r.retracted) return;
  if (r.middle_chunks > 0) {
    --r.middle_chunks;
    return;
  }
  ++r.num_outputs;
  outputs_.got_token.push_back(r.request);
  const bool stops = !r.ignore_eos && r.num_outputs >= r.stop_after;
  if (stops || r.num_outputs >= r.max_new) {
    Finish(slot);
  } else if (is_prefill) {
    Publish(&r, r.end);
    r.prefix = r.end;
  }
}

// Puts the first `up_to` tokens into the tree, whole pages of them, and locks them there. What the
// tree had already is given back.
void SglangScheduler::Publish(SglangRequest* r, int32_t up_to) {
  if (!radix_) return;
  const int32_t page = sglang_.page_size;
  const RadixTree::Place place = tree_.Insert(r->chain, up_to / page, r->prompt_tokens / page);
  const int32_t had = place.pages * page;
  if (had > r->in_tree) free_ += had - r->in_tree;
  tree_.Lock(place.node);
  tree_.Unlock(r->locked);
  r->locked = place.node;
  r->in_tree = up_to / page * page;
}

void SglangScheduler::Finish(int32_t slot) {
  SglangRequest& r = requests_[slot];
  Publish(&r, std::min(r.kv, r.num_tokens()));
  free_ += CeilPage(r.kv) - r.in_tree;
  if (radix_) tree_.ReleaseChain(r.chain, r.locked);
  tree_.Unlock(r.locked);
  r.locked = RadixTree::kRoot;
  r.has_row = false;
  ++free_rows_;
  r.finished = true;
  --num_unfinished_;
  just_finished_.push_back(slot);
  outputs_.finished.push_back(
      {r.request, r.num_outputs >= r.whole ? FinishReason::kStop : FinishReason::kModelLimit});
}

}  // namespace batchvar
