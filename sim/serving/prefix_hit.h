// Where KV that a request found in the prefix cache came from. Contents are equal whoever computed
// them, bits are not: they are those of the step in which the block was filled.
#ifndef BATCHVAR_SIM_SERVING_PREFIX_HIT_H_
#define BATCHVAR_SIM_SERVING_PREFIX_HIT_H_

#include <cstdint>

namespace batchvar {

// A request in one of its passes: pass 0 until its first preemption, pass 1 until the next.
struct KvProducer {
  int32_t request = -1;  // index in the run
  int32_t pass = 0;
  friend bool operator==(const KvProducer&, const KvProducer&) = default;
};

// Tokens [begin, end) of `request`, whole blocks, that it took over when it was admitted in `pass`.
// The hits of one admission are adjacent, ascend, and begin with token 0.
struct PrefixHit {
  int32_t request = 0;
  int32_t pass = 0;
  int32_t begin = 0;
  int32_t end = 0;
  KvProducer producer;
  friend bool operator==(const PrefixHit&, const PrefixHit&) = default;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_PREFIX_HIT_H_
