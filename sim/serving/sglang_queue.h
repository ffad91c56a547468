// SGLang's waiting queue and the order in which it is looked at (SGLang 0.5.23, SchedulePolicy):
//   fcfs  in order of arrival, retracted requests at the end. Now and then the head of the queue is
//         matched, only so that its prefixes are not dropped.
//   lpm   the longest prefix in the radix tree first; of several that share a beginning which the
//         tree does not have yet, only the first, so that the others hit it later.
#ifndef BATCHVAR_SIM_SERVING_SGLANG_QUEUE_H_
#define BATCHVAR_SIM_SERVING_SGLANG_QUEUE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/radix_tree.h"
#include "sim/serving/request.h"
#include "sim/serving/scheduler_config.h"
#include "sim/serving/sglang_request.h"

namespace batchvar {

class SglangQueue {
 public:
  // The pool and the tree must outlive the queue.
  SglangQueue(const SglangConfig& config, SglangRequestPool* requests, RadixTree* tree);

  // Gives the slot's request its head name. To be called before Push(), once a request.
  void NameHead(const Request& request, int32_t slot);
  void Push(int32_t slot) { slots_.push_back(slot); }
  // Puts the queue into the order of the policy; a call of one planning round.
  void Order();
  void PopFront(size_t count);

  bool empty() const { return slots_.empty(); }
  int32_t size() const { return static_cast<int32_t>(slots_.size()); }
  int32_t operator[](size_t i) const { return slots_[i]; }

 private:
  void RefreshHead();
  void SortByPrefix();

  SglangRequestPool& requests_;
  RadixTree& tree_;
  bool radix_;
  bool lpm_;
  int32_t page_size_;
  std::deque<int32_t> slots_;
  int64_t fcfs_calls_ = 0;
  PrefixTree heads_;

  struct Ranked {
    int32_t slot;
    int32_t hit_tokens;
    bool last;
  };
  std::vector<Ranked> ranked_;  // memory of SortByPrefix
  std::vector<int64_t> seen_heads_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SGLANG_QUEUE_H_
