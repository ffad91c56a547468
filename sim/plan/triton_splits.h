// KV splits of two Triton decode kernels, on plain numbers: vLLM's unified attention (0.32.0,
// 2026-10: v1/attention/ops/triton_unified_attention.py, backends/triton_attn.py) and SGLang's
// decode attention (0.5.23, 2026-11: layers/attention/triton_backend.py).
#ifndef BATCHVAR_SIM_PLAN_TRITON_SPLITS_H_
#define BATCHVAR_SIM_PLAN_TRITON_SPLITS_H_

#include <cstdint>
#include <vector>

namespace batchvar {

struct VllmTritonInput {
  int64_t num_seqs = 1;
  int64_t max_q_len = 1;
  int64_t total_q = 1;
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  bool decode_cudagraph = false;  // the threshold moves to a captured batch size
  int32_t segments = 16;          // of the 3D kernel; 1: the 2D kernel always
};
struct VllmTritonPlan {
  int64_t seq_threshold_3d = 0;  // up to this many decodes run split
  int32_t block_m = 0;
  int32_t block_q = 0;
  bool three_d = false;
  int32_t segments = 1;
  int32_t tile = 0;  // KV positions of an inner block
  int64_t grid_x = 0, grid_y = 0, grid_z = 0;
};
VllmTritonPlan PlanVllmTriton(const VllmTritonInput& input);

// A request's KV in the 3D kernel: equal runs of tiles, trailing segments empty.
struct VllmSegments {
  int64_t tiles_per_segment = 1;
  int64_t active = 1;
};
VllmSegments SegmentsOf(int64_t kv_len, int32_t segments, int32_t tile);

struct SglangTritonInput {
  std::vector<int64_t> kv_lens;
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  int32_t max_splits = 8;
  int32_t sm_count = 1;
};
// A request has max(ceil(len / by_spread), ceil(len / by_grid)) pieces: one chunk follows from how
// uneven the lengths are, the other from how many blocks the device wants. Upstream takes log2 on
// the GPU, where it is approximate; this one is right to the last bit but one.
struct SglangChunks {
  int64_t by_spread = 1;
  int64_t by_grid = 1;
};
SglangChunks PlanSglangTriton(const SglangTritonInput& input);
int64_t SglangNumSplits(const SglangChunks& chunks, int64_t kv_len);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_TRITON_SPLITS_H_
