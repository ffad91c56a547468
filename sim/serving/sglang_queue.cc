#include "sim/serving/sglang_queue.h"

#include <algorithm>

namespace batchvar {
namespace {

constexpr int32_t kLpmLongestQueue = 128;  // above it lpm is too slow and falls back to fcfs
constexpr int32_t kRefreshedRequests = 128;
constexpr int64_t kRefreshEvery = 32;  // calls
// With so short a hit a request is compared with those before it, over as many tokens.
constexpr int32_t kInBatchTokens = 32;

}  // namespace

SglangQueue::SglangQueue(const SglangConfig& config, SglangRequestPool* requests, RadixTree* tree)
    : requests_(*requests),
      tree_(*tree),
      radix_(!config.disable_radix_cache),
      lpm_(radix_ && config.schedule_policy == SchedulePolicy::kLpm),
      page_size_(config.page_size),
      heads_(kInBatchTokens) {}

void SglangQueue::NameHead(const Request& request, int32_t slot) {
  if (!lpm_) return;
  Request head;
  int32_t left = kInBatchTokens;
  for (const PrefixSegment& segment : request.prefix) {
    if (left == 0) break;
    head.prefix.push_back({segment.segment, std::min(segment.length, left)});
    left -= head.prefix.back().length;
  }
  if (left == 0) requests_[slot].head = heads_.MakeChain(head, 1).runs.front().node;
}

void SglangQueue::Order() {
  if (slots_.empty() || !radix_) return;
  if (lpm_ && size() <= kLpmLongestQueue) {
    SortByPrefix();
  } else if (fcfs_calls_++ % kRefreshEvery == 0) {
    RefreshHead();
  }
}

// From the last to the first: the head of the queue ends up youngest.
void SglangQueue::RefreshHead() {
  for (size_t i = std::min<size_t>(slots_.size(), kRefreshedRequests); i-- > 0;) {
    const SglangRequest& r = requests_[slots_[i]];
    tree_.Match(r.chain, r.num_tokens() / page_size_);
  }
}

void SglangQueue::SortByPrefix() {
  ranked_.clear();
  seen_heads_.clear();
  for (const int32_t slot : slots_) {
    const SglangRequest& r = requests_[slot];
    const int32_t pages = tree_.Match(r.chain, r.num_tokens() / page_size_).pages;
    Ranked ranked{slot, std::min(pages * page_size_, r.num_tokens() - 1), /*last=*/false};
    if (ranked.hit_tokens <= kInBatchTokens && r.head >= 0) {
      ranked.last = std::find(seen_heads_.begin(), seen_heads_.end(), r.head) != seen_heads_.end();
      if (!ranked.last) seen_heads_.push_back(r.head);
    }
    ranked_.push_back(ranked);
  }
  std::stable_sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
    return a.last != b.last ? b.last : !a.last && a.hit_tokens > b.hit_tokens;
  });
  for (size_t i = 0; i < ranked_.size(); ++i) slots_[i] = ranked_[i].slot;
}

void SglangQueue::PopFront(size_t count) {
  slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace batchvar
