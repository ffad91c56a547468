// The queue of requests that do not run: a deque (fcfs) or ordered by (priority, arrival, id as a
// string), smaller first. A preempted request goes to the front under fcfs and back to its own
// place under priority (it has no boost, vllm#41951).
#ifndef BATCHVAR_SIM_SERVING_WAITING_QUEUE_H_
#define BATCHVAR_SIM_SERVING_WAITING_QUEUE_H_

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <tuple>

#include "sim/serving/scheduler_config.h"
#include "sim/serving/sequence.h"

namespace batchvar {

class WaitingQueue {
 public:
  explicit WaitingQueue(QueuePriority order) : by_priority_(order == QueuePriority::kPriority) {}

  size_t size() const { return by_priority_ ? ordered_.size() : fifo_.size(); }
  bool empty() const { return size() == 0; }
  int32_t Head() const;
  void PopHead();
  void PushArrival(int32_t slot, const Sequence& sequence);
  // Preempted sequences, and heads that were set aside (last one first).
  void PushFront(int32_t slot, const Sequence& sequence);
  void Remove(int32_t slot, const Sequence& sequence);

 private:
  using Key = std::tuple<int32_t, int64_t, std::string, int32_t>;
  static Key KeyOf(int32_t slot, const Sequence& sequence) {
    return {sequence.priority, sequence.arrival_ns, sequence.id, slot};
  }

  bool by_priority_;
  std::deque<int32_t> fifo_;
  std::set<Key> ordered_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_WAITING_QUEUE_H_
