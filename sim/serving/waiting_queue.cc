#include "sim/serving/waiting_queue.h"

#include <algorithm>

#include "sim/base/check.h"

namespace batchvar {

int32_t WaitingQueue::Head() const {
  BV_CHECK(!empty());
  return by_priority_ ? std::get<3>(*ordered_.begin()) : fifo_.front();
}

void WaitingQueue::PopHead() {
  BV_CHECK(!empty());
  if (by_priority_) {
    ordered_.erase(ordered_.begin());
  } else {
    fifo_.pop_front();
  }
}

void WaitingQueue::PushArrival(int32_t slot, const Sequence& sequence) {
  if (by_priority_) {
    ordered_.insert(KeyOf(slot, sequence));
  } else {
    fifo_.push_back(slot);
  }
}

void WaitingQueue::PushFront(int32_t slot, const Sequence& sequence) {
  if (by_priority_) {
    ordered_.insert(KeyOf(slot, sequence));
  } else {
    fifo_.push_front(slot);
  }
}

void WaitingQueue::Remove(int32_t slot, const Sequence& sequence) {
  if (by_priority_) {
    BV_CHECK(ordered_.erase(KeyOf(slot, sequence)) == 1);
    return;
  }
  const auto found = std::find(fifo_.begin(), fifo_.end(), slot);
  BV_CHECK(found != fifo_.end());
  fifo_.erase(found);
}

}  // namespace batchvar
