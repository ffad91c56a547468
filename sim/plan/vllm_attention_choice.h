// Two choices of earlier vLLM versions (removed upstream by 0.32), on plain numbers: which paged
// attention kernel a decode step runs, and whether a shared prefix is worth its own pass.
// Sources: csrc/attention/attention_kernels.cu and vllm/_custom_ops.py; v1/attention/backends/
// flash_attn.py, use_cascade_attention. Read 2026-11-29.
#ifndef BATCHVAR_SIM_PLAN_VLLM_ATTENTION_CHOICE_H_
#define BATCHVAR_SIM_PLAN_VLLM_ATTENTION_CHOICE_H_

#include <cstdint>

namespace batchvar {

inline constexpr int64_t kPagedPartition = 512;  // KV positions of one partition of v2

struct PagedChoice {
  bool v2 = false;
  int64_t partitions = 1;  // of the longest sequence
};
PagedChoice ChoosePagedKernel(int64_t max_kv_len, int64_t num_seqs, int64_t q_heads);

struct CascadeInput {
  int64_t common_prefix = 0;
  int64_t num_requests = 1;
  bool all_decode = true;
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  int32_t sm_count = 1;
};
enum class CascadeReason : uint8_t {
  kShortPrefix,  // no
  kFewRequests,  // no
  kNoSplitKv,    // yes: nothing else would keep the device busy
  kFaster,       // yes, by the two times below
  kSlower,       // no
};
struct CascadeChoice {
  bool use = false;
  CascadeReason reason = CascadeReason::kShortPrefix;
  int64_t cascade_time = 0;  // waves * KV tiles, where they were compared
  int64_t flash_decoding_time = 0;
};
CascadeChoice ChooseCascade(const CascadeInput& input);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_VLLM_ATTENTION_CHOICE_H_
