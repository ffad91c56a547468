// A request inside vllm_v1: its token counters and its blocks.
#ifndef BATCHVAR_SIM_SERVING_SEQUENCE_H_
#define BATCHVAR_SIM_SERVING_SEQUENCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/serving/kv_cache.h"
#include "sim/serving/prefix_chain.h"
#include "sim/serving/slot_pool.h"

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
  // Done, and no step in flight names it: its slot may be used again.
  bool CanRecycle() const { return status == SequenceStatus::kFinished && in_flight == 0; }
  void Recycle() {
    std::vector<BlockId> memory = std::move(blocks);  // keeps its capacity
    memory.clear();
    *this = Sequence{};
    blocks = std::move(memory);
  }
};

using SequencePool = SlotPool<Sequence>;

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SEQUENCE_H_
