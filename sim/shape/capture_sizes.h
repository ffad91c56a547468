// CUDA-graph capture sizes: the M that GEMMs really see. A step of T tokens is padded to the
// smallest captured size >= T; above the largest it runs eagerly with M = T.
// Mirrors vLLM (config/vllm.py and cudagraph dispatch), versions in CaptureRule, read 2026-11-29.
#ifndef BATCHVAR_SIM_SHAPE_CAPTURE_SIZES_H_
#define BATCHVAR_SIM_SHAPE_CAPTURE_SIZES_H_

#include <cstdint>
#include <vector>

namespace batchvar {

enum class CaptureRule : uint8_t {
  kVllm092,  // {1,2,4} + 8..512 step 8, whatever max_num_seqs
  kVllm011,  // {1,2,4} + 8..min(2*max_num_seqs, 512) step 8
  kVllm012,  // {1,2,4} + 8..248 step 8 + 256..min(2*max_num_seqs, 512) step 16
  kVllm032,  // as 0.12; 1024 on Blackwell; plus max_num_batched_tokens and max_num_seqs themselves
};

// Ascending, without duplicates. `compute_capability` is 10 * major + minor (H100: 90).
std::vector<int32_t> CaptureSizes(CaptureRule rule, int32_t max_num_seqs,
                                  int32_t max_num_batched_tokens, int32_t compute_capability);

// How a step's M becomes the M that GEMMs see. `sizes` empty means exact (no graphs).
class Padding {
 public:
  Padding() = default;
  explicit Padding(std::vector<int32_t> ascending_sizes);
  // Padded M of the body's token-wise ops. O(1).
  int64_t PaddedM(int64_t m) const;
  const std::vector<int32_t>& sizes() const { return sizes_; }

 private:
  std::vector<int32_t> sizes_;
  std::vector<int32_t> padded_;  // padded_[m] for m in [0, largest size]
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SHAPE_CAPTURE_SIZES_H_
