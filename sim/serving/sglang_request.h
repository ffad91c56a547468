// A request inside sglang: its counters and what it holds. Names are those of docs/scheduler.md.
#ifndef BATCHVAR_SIM_SERVING_SGLANG_REQUEST_H_
#define BATCHVAR_SIM_SERVING_SGLANG_REQUEST_H_

#include <cstdint>
#include <vector>

#include "sim/serving/prefix_chain.h"
#include "sim/serving/radix_tree.h"
#include "sim/serving/slot_pool.h"

namespace batchvar {

struct SglangRequest {
  int32_t request = 0;  // index in the run
  int32_t prompt_tokens = 0;
  int32_t num_outputs = 0;  // known to the scheduler
  int32_t stop_after = 0;   // outputs after which its stop token comes, foreseen or not
  int32_t max_new = 0;      // outputs after which the scheduler knows that it ends
  int32_t whole = 0;        // outputs of a request that nothing cut short
  bool ignore_eos = false;

  int32_t prefix = 0;   // tokens in KV before the next extend
  int32_t end = 0;      // where that extend stops
  int32_t kv = 0;       // tokens with KV of their own
  int32_t in_tree = 0;  // leading ones of them that the radix tree owns, whole pages
  RadixTree::Node locked = RadixTree::kRoot;

  int32_t middle_chunks = 0;  // chunks in flight that will give no token
  int32_t in_flight = 0;      // rows whose results are not applied yet
  bool has_row = false;       // a row of the table of running requests
  bool finished = false;
  bool retracted = false;  // and not admitted again
  int64_t head = -1;       // name of its first tokens, for lpm; -1: nobody shares them
  PrefixChain chain;

  int32_t num_tokens() const { return prompt_tokens + num_outputs; }
  void Recycle() { *this = SglangRequest{}; }
};

using SglangRequestPool = SlotPool<SglangRequest>;

// A batch in SGLang's sense: requests in order and a flag that travels with them.
struct SglangBatch {
  std::vector<int32_t> slots;
  bool full = false;  // nobody is looked at until it shrinks
};

// A batch that ran and whose results are not applied yet.
struct SglangStep {
  std::vector<int32_t> slots;
  size_t num_prefill = 0;  // rows before it are prefill rows, the others decode
};

enum class SglangMode : uint8_t { kIdle, kExtend, kMixed, kDecode };

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SGLANG_REQUEST_H_
