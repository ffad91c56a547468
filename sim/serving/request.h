// One request of a run, as a trace or an arrival process gives it.
#ifndef BATCHVAR_SIM_SERVING_REQUEST_H_
#define BATCHVAR_SIM_SERVING_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/time.h"

namespace batchvar {

// `length` tokens of the text called `segment`, from its first token on. Two prompts that begin
// with the same segments share that text, token for token; different segments never share a block.
struct PrefixSegment {
  uint64_t segment = 0;
  int32_t length = 0;
  friend bool operator==(const PrefixSegment&, const PrefixSegment&) = default;
};

struct Request {
  std::string id;             // unique in the run
  TimeNs arrival_ns = 0;      // since the run's origin
  int32_t prompt_tokens = 0;  // >= 1
  int32_t output_tokens = 0;  // >= 1; what the request will generate
  int32_t max_tokens = 0;   // > 0: the limit that the scheduler is told; 0: as output_ends_by says
  int32_t priority = 0;     // smaller first, as in vLLM
  bool ignore_eos = false;  // goes on to its limit whatever it samples (sglang)
  std::string session;      // empty without one
  // The prompt's text, from its first token. Shorter than the prompt: the rest is text that nobody
  // else has. Empty: nothing is shared.
  std::vector<PrefixSegment> prefix;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_REQUEST_H_
