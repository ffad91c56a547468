// Token ids for a traced prompt. A trace says how long prompts are and which text they share, not
// what it was: every segment of text gets seeded tokens, so requests that share a prefix share
// them.
#ifndef BATCHVAR_KERNELS_EXPERIMENT_TRACE_PROMPT_H_
#define BATCHVAR_KERNELS_EXPERIMENT_TRACE_PROMPT_H_

#include <cstdint>
#include <vector>

#include "sim/serving/request.h"

namespace batchvar {

// request.prompt_tokens ids below `vocab_size`, uniform. Token i of a segment is a function of
// (seed, segment, i); what no segment covers belongs to the request's id.
std::vector<int64_t> TracePrompt(const Request& request, int64_t vocab_size, uint64_t seed);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_TRACE_PROMPT_H_
