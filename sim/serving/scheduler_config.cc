#include "sim/serving/scheduler_config.h"

#include <algorithm>

namespace batchvar {
namespace {

// SGLang keeps so many tokens of a request's length for itself (max_req_len and max_req_input_len
// of its model worker, 0.5.x, read 2026-11-30).
constexpr int32_t kSglangReservedTokens = 6;

}  // namespace

int32_t PromptLimit(const SchedulerConfig& config) {
  if (config.policy != SchedulerPolicy::kSglang) return config.max_model_len;
  const SglangConfig& sglang = config.sglang;
  const int32_t longest = std::min(config.max_model_len, sglang.max_total_tokens);
  // A prompt that fills the pool but for a page would wait for ever, there and here.
  return std::min(longest - kSglangReservedTokens, sglang.max_total_tokens - sglang.page_size);
}

int32_t AskedOutputs(const SchedulerConfig& config, const Request& request) {
  if (request.max_tokens > 0) return request.max_tokens;
  return config.output_ends_by == OutputEndsBy::kEos ? config.max_model_len - request.prompt_tokens
                                                     : request.output_tokens;
}

}  // namespace batchvar
