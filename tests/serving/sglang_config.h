// Settings of sglang for tests: ample and plain.
#ifndef BATCHVAR_TESTS_SERVING_SGLANG_CONFIG_H_
#define BATCHVAR_TESTS_SERVING_SGLANG_CONFIG_H_

#include "sim/serving/scheduler_config.h"

namespace batchvar {

// Without overlap; the scheduler knows where every request ends.
inline SchedulerConfig PlainSglang() {
  SchedulerConfig config;
  config.policy = SchedulerPolicy::kSglang;
  config.max_model_len = 8192;
  config.output_ends_by = OutputEndsBy::kLength;
  config.sglang.max_total_tokens = 60000;
  config.sglang.chunked_prefill_size = 2048;
  config.sglang.max_running_requests = 64;
  config.sglang.disable_overlap_schedule = true;
  return config;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_SERVING_SGLANG_CONFIG_H_
