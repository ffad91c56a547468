// Scheduler settings, under the names that each engine's users paste. Defaults are those of the
// engine's server on an H100: vLLM 0.32, SGLang 0.5.23 (both 2026-10). sim/config resolves `auto`
// before a scheduler sees this.
#ifndef BATCHVAR_SIM_SERVING_SCHEDULER_CONFIG_H_
#define BATCHVAR_SIM_SERVING_SCHEDULER_CONFIG_H_

#include <cstdint>

#include "sim/serving/request.h"

namespace batchvar {

enum class SchedulerPolicy : uint8_t { kVllmV1, kStatic, kOrca, kSglang };
enum class QueuePriority : uint8_t { kFcfs, kPriority };
enum class OutputEndsBy : uint8_t {
  kEos,    // the trace's output length is a stop token the scheduler cannot foresee
  kLength  // max_tokens: the scheduler knows the last token in advance
};

// SGLang's `schedule_policy`: the order of its waiting queue.
enum class SchedulePolicy : uint8_t {
  kFcfs,
  kLpm  // longest prefix match first
};

// Of the attention backends only flashinfer makes deterministic mode align chunks (0.5.23).
enum class SglangBackend : uint8_t { kFlashinfer, kFa3, kTriton };

// Keys of policy sglang, under SGLang's names.
struct SglangConfig {
  int32_t page_size = 1;
  int32_t max_total_tokens = 0;         // resolved: tokens of the KV pool, whole pages
  int32_t chunked_prefill_size = 8192;  // whole pages; -1: prompts are never cut
  int32_t max_prefill_tokens = 16384;
  int32_t max_running_requests = 0;  // resolved; at most half of max_total_tokens
  int32_t prefill_max_requests = 0;  // 0: no limit
  bool enable_mixed_chunk = false;
  SchedulePolicy schedule_policy = SchedulePolicy::kFcfs;
  bool disable_radix_cache = false;
  double schedule_conservativeness = 1.0;
  bool disable_overlap_schedule = false;
  bool enable_deterministic_inference = false;
  SglangBackend attention_backend = SglangBackend::kFlashinfer;  // of prefill
  int32_t flashinfer_prefill_split_tile_size = 4096;
  bool ignore_eos = false;  // of all requests

  // Deterministic mode: the length of a prompt's first chunk is a multiple of it; 0: of nothing.
  int32_t TruncationAlignSize() const {
    const bool aligns = attention_backend == SglangBackend::kFlashinfer;
    return enable_deterministic_inference && aligns ? flashinfer_prefill_split_tile_size : 0;
  }
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
  SglangConfig sglang;  // policy sglang reads this, max_model_len (its context_length) and
                        // output_ends_by, and nothing else
  // Not a key of files: set where an attention policy looks at StepBatch::shared_prefix.
  bool report_shared_prefix = false;
};

// Prompts of so many tokens or more are turned away when they arrive.
int32_t PromptLimit(const SchedulerConfig& config);
// The outputs after which the engine is told that the request ends, whatever its text is; not yet
// cut to what the engine holds.
int32_t AskedOutputs(const SchedulerConfig& config, const Request& request);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SCHEDULER_CONFIG_H_
