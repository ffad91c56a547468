// A request inside a scheduler: its token counters and its blocks. Sequences live in slots that are
// reused when a sequence is done and no step in flight names it any more.
#ifndef BATCHVAR_SIM_SERVING_SEQUENCE_H_
#define BATCHVAR_SIM_SERVING_SEQUENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/check.h"
#include "sim/serving/kv_cache.h"
#include "sim/serving/prefix_chain.h"

namespace batchvar {

enum class SequenceStatus : uint8_t { kWaiting, kRunning, kPreempted, kFinished };

struct Sequence {
  int32_t request = 0;  // index in the run
  SequenceStatus status = SequenceStatus::kWaiting;
  int32_t prompt_tokens = 0;
  int32_t stop_after = 0;    // outputs after which it stops, foreseen or not
  int32_t max_tokens = 0;    // outputs after which the scheduler knows that it stops
  int32_t num_tokens = 0;    // known tokens: prompt + generated
  int32_t num_computed = 0;  // scheduled ones count as computed
  int32_t placeholders = 0;  // async: tokens that are being sampled and not known yet
  int32_t in_flight = 0;     // tokens of steps whose outputs are not applied yet
  int32_t stale = 0;         // those of them that a preemption made worthless
  int32_t num_cached_blocks = 0;
  int32_t pass = 0;  // preemptions so far
  int32_t priority = 0;
  int64_t arrival_ns = 0;
  std::string id;  // priority ties are broken by it, as a string
  std::vector<BlockId> blocks;
  PrefixChain chain;

  int32_t num_known_or_pending() const { return num_tokens + placeholders; }
};

class SequencePool {
 public:
  int32_t Acquire() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<int32_t>(slots_.size()) - 1;
    }
    const int32_t slot = free_.back();
    free_.pop_back();
    std::vector<BlockId> blocks = std::move(slots_[slot].blocks);  // keeps its capacity
    slots_[slot] = Sequence{};
    slots_[slot].blocks = std::move(blocks);
    return slot;
  }
  void Release(int32_t slot) {
    BV_CHECK(slots_[slot].status == SequenceStatus::kFinished && slots_[slot].in_flight == 0);
    BV_CHECK(slots_[slot].blocks.empty());
    free_.push_back(slot);
  }
  Sequence& operator[](int32_t slot) { return slots_[slot]; }
  const Sequence& operator[](int32_t slot) const { return slots_[slot]; }

 private:
  std::vector<Sequence> slots_;
  std::vector<int32_t> free_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SEQUENCE_H_
