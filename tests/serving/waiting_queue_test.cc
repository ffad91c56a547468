#include "sim/serving/waiting_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace batchvar {
namespace {

using testing::ElementsAre;

Sequence Waiting(int32_t priority, int64_t arrival_ns, std::string id) {
  Sequence sequence;
  sequence.priority = priority;
  sequence.arrival_ns = arrival_ns;
  sequence.id = std::move(id);
  return sequence;
}

std::vector<int32_t> Drain(WaitingQueue* queue) {
  std::vector<int32_t> slots;
  while (!queue->empty()) {
    slots.push_back(queue->Head());
    queue->PopHead();
  }
  return slots;
}

TEST(FcfsQueue, FirstComeFirstServed) {
  WaitingQueue queue(QueuePriority::kFcfs);
  EXPECT_TRUE(queue.empty());
  queue.PushArrival(5, Waiting(2, 30, "a"));
  queue.PushArrival(3, Waiting(0, 10, "b"));  // neither priority nor time is looked at
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_THAT(Drain(&queue), ElementsAre(5, 3));
}

TEST(FcfsQueue, PreemptedOnesGoToTheFrontLastVictimFirst) {
  WaitingQueue queue(QueuePriority::kFcfs);
  queue.PushArrival(1, Waiting(0, 0, "a"));
  queue.PushFront(2, Waiting(0, 0, "b"));
  queue.PushFront(3, Waiting(0, 0, "c"));
  EXPECT_THAT(Drain(&queue), ElementsAre(3, 2, 1));
}

TEST(FcfsQueue, RemovesFromTheMiddle) {
  WaitingQueue queue(QueuePriority::kFcfs);
  for (int32_t slot = 0; slot < 4; ++slot) queue.PushArrival(slot, Waiting(0, 0, "x"));
  queue.Remove(2, Waiting(0, 0, "x"));
  EXPECT_THAT(Drain(&queue), ElementsAre(0, 1, 3));
}

TEST(PriorityQueue, SmallerPriorityFirstThenEarlierThenIdAsAString) {
  WaitingQueue queue(QueuePriority::kPriority);
  queue.PushArrival(0, Waiting(1, 10, "a"));
  queue.PushArrival(1, Waiting(0, 30, "a"));
  queue.PushArrival(2, Waiting(0, 20, "9"));
  queue.PushArrival(3, Waiting(0, 20, "10"));  // "10" < "9"
  queue.PushArrival(4, Waiting(-1, 99, "a"));
  EXPECT_EQ(queue.size(), 5U);
  EXPECT_THAT(Drain(&queue), ElementsAre(4, 3, 2, 1, 0));
}

TEST(PriorityQueue, PreemptedOnesHaveNoBoost) {
  WaitingQueue queue(QueuePriority::kPriority);
  queue.PushArrival(0, Waiting(0, 10, "a"));
  queue.PushFront(1, Waiting(0, 20, "b"));
  EXPECT_EQ(queue.Head(), 0);
}

TEST(PriorityQueue, RemovesByKey) {
  WaitingQueue queue(QueuePriority::kPriority);
  queue.PushArrival(0, Waiting(0, 10, "a"));
  queue.PushArrival(1, Waiting(0, 20, "b"));
  queue.Remove(0, Waiting(0, 10, "a"));
  EXPECT_THAT(Drain(&queue), ElementsAre(1));
}

TEST(WaitingQueueDeathTest, NoHeadOfAnEmptyQueue) {
  const WaitingQueue queue(QueuePriority::kFcfs);
  EXPECT_DEATH(queue.Head(), "check failed");
}

}  // namespace
}  // namespace batchvar
