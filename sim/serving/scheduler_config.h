// Scheduler settings, under the names that vLLM users paste. Defaults are vLLM 0.32's server
// defaults on an H100 (2026-10); sim/config resolves `auto` before a scheduler sees this.
#ifndef BATCHVAR_SIM_SERVING_SCHEDULER_CONFIG_H_
#define BATCHVAR_SIM_SERVING_SCHEDULER_CONFIG_H_

#include <cstdint>

namespace batchvar {

enum class SchedulerPolicy : uint8_t { kVllmV1, kStatic, kOrca };
enum class QueuePriority : uint8_t { kFcfs, kPriority };
enum class OutputEndsBy : uint8_t {
  kEos,    // the trace's output length is a stop token the scheduler cannot foresee
  kLength  // max_tokens: the scheduler knows the last token in advance
};

struct SchedulerConfig {
  SchedulerPolicy policy = SchedulerPolicy::kVllmV1;
  int32_t max_num_batched_tokens = 8192;
  int32_t max_num_seqs = 1024;
  int32_t max_model_len = 0;  // resolved: the model's positions
  int32_t block_size = 16;
  int32_t num_gpu_blocks = 0;  // resolved; block 0 is the null block and never used
  bool enable_chunked_prefill = true;
  int32_t chunk_alignment = 0;  // > 0: a cut falls on a multiple of it (counted from token 0)
  int32_t long_prefill_token_threshold = 0;
  bool long_prefill_token_threshold_adaptive = false;
  bool enable_prefix_caching = true;
  bool async_scheduling = true;
  bool scheduler_reserve_full_isl = true;
  double watermark = 0.0;
  QueuePriority priority = QueuePriority::kFcfs;
  OutputEndsBy output_ends_by = OutputEndsBy::kEos;
  // Not a key of files: set where an attention policy looks at StepBatch::shared_prefix.
  bool report_shared_prefix = false;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SCHEDULER_CONFIG_H_
