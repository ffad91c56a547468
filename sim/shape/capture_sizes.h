// CUDA-graph capture sizes: the M that GEMMs really see. A step of T tokens is padded to the
// smallest captured size >= T; above the largest it runs eagerly with M = T.
// Mirrors vLLM (config/vllm.py and cudagraph dispatch) and SGLang (server_args.py), versions in
// CaptureRule, read 2026-11-29. vLLM pads every step to one list; SGLang captures decode steps, by
// batch size, and runs prompts eagerly unless it is told to capture those as well.
#ifndef BATCHVAR_SIM_SHAPE_CAPTURE_SIZES_H_
#define BATCHVAR_SIM_SHAPE_CAPTURE_SIZES_H_

#include <cstdint>
#include <vector>

#include "sim/shape/step_batch.h"

namespace batchvar {

enum class CaptureRule : uint8_t {
  kVllm092,  // {1,2,4} + 8..512 step 8, whatever max_num_seqs
  kVllm011,  // {1,2,4} + 8..min(2*max_num_seqs, 512) step 8
  kVllm012,  // {1,2,4} + 8..248 step 8 + 256..min(2*max_num_seqs, 512) step 16
  kVllm032,  // as 0.12; 1024 on Blackwell; plus max_num_batched_tokens and max_num_seqs themselves
  kSglang2025,  // mid-2025: {1,2,4,8} + 16..max step 8
  kSglang0523,  // {1,2,4,8,12} + 16..256 step 8 + 272..496 step 16 + 512..max step 32
};

constexpr bool IsSglang(CaptureRule rule) {
  return rule == CaptureRule::kSglang2025 || rule == CaptureRule::kSglang0523;
}

// vLLM's rules. Ascending, without duplicates. `compute_capability` is 10 * major + minor (H100:
// 90).
std::vector<int32_t> CaptureSizes(CaptureRule rule, int32_t max_num_seqs,
                                  int32_t max_num_batched_tokens, int32_t compute_capability);

// SGLang's rules: batch sizes of captured decode steps, up to `cuda_graph_max_bs`.
std::vector<int32_t> SglangDecodeSizes(CaptureRule rule, int32_t cuda_graph_max_bs);
// Its default of cuda_graph_max_bs by memory and tensor-parallel ranks, 0.5.23.
int32_t SglangLargestBatch(int64_t memory_bytes, int32_t tp);
// Token counts of captured steps with prompts (enable_piecewise_cuda_graph), up to `max_tokens`.
std::vector<int32_t> SglangPrefillSizes(int32_t max_tokens);

// How a step's M becomes the M that GEMMs see. `sizes` empty means exact (no graphs).
class Padding {
 public:
  Padding() = default;
  explicit Padding(std::vector<int32_t> ascending_sizes);
  // Steps in which everybody decodes are padded to the first list, all others to the second.
  static Padding ByPhase(std::vector<int32_t> decode_sizes, std::vector<int32_t> prefill_sizes);

  // Padded M of the body's token-wise ops; `m` without a batch is that of a decode step. O(1), or
  // O(rows) by phase.
  int64_t PaddedM(int64_t m) const { return Lookup(padded_, m); }
  int64_t PaddedM(const StepBatch& batch) const;
  const std::vector<int32_t>& sizes() const { return sizes_; }

 private:
  static int64_t Lookup(const std::vector<int32_t>& padded, int64_t m);

  std::vector<int32_t> sizes_;
  std::vector<int32_t> padded_;  // padded_[m] for m in [0, largest size]
  bool by_phase_ = false;
  std::vector<int32_t> padded_prefill_;  // by phase: the same for steps with prompts
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SHAPE_CAPTURE_SIZES_H_
