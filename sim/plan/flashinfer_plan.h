// FlashInfer's plans on plain numbers: how many pages of KV one work item takes.
//
// flashinfer fb28d724 (2026-08-22): include/flashinfer/attention/scheduler.cuh, and for the KV tile
// of the tensor-core kernel attention/prefill.cuh.
#ifndef BATCHVAR_SIM_PLAN_FLASHINFER_PLAN_H_
#define BATCHVAR_SIM_PLAN_FLASHINFER_PLAN_H_

#include <cstdint>
#include <vector>

namespace batchvar {

// The CUDA-core decode kernel: one block per request, KV head and chunk.
struct FlashInferDecodeInput {
  int64_t max_grid = 1;  // blocks that run at once: SMs * blocks per SM
  int64_t kv_heads = 1;
  int32_t page_size = 16;
  bool cuda_graph = false;
  std::vector<int64_t> pages;  // of KV, per request
};
struct FlashInferDecodePlan {
  bool split = false;
  int64_t pages_per_chunk = 1;  // unsplit: the longest request's pages
  int64_t work = 0;             // (request, chunk) items
};
FlashInferDecodePlan PlanFlashInferDecode(const FlashInferDecodeInput& input);

// The tensor-core kernels: prefill, and decode with `use_tensor_cores`.
struct FlashInferPrefillInput {
  int32_t sm_count = 1;
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  int32_t head_dim = 128;
  int32_t page_size = 16;
  bool cuda_graph = false;
  int64_t window_left = -1;       // < 0: no sliding window
  int64_t fixed_split_pages = 0;  // > 0: pages of a chunk, not searched for
  bool disable_split = false;
  std::vector<int64_t> q_lens;
  std::vector<int64_t> kv_pages;
};
struct FlashInferPrefillPlan {
  bool split = false;
  int64_t work = 0;    // (request, query tile, chunk) items
  int64_t padded = 0;  // work items that are launched
  int32_t cta_tile_q = 0;
  int64_t chunk_pages = 0;  // 0 where splitting is disabled
  // False: more work than the captured grid has, upstream refuses the plan.
  bool Fits() const { return work <= padded; }
};
FlashInferPrefillPlan PlanFlashInferPrefill(const FlashInferPrefillInput& input);

// Query rows of a tile for `packed` = query tokens * group.
int32_t FlashInferCtaTileQ(int64_t packed, int32_t head_dim);
// KV positions of one inner step of one warp of the tensor-core kernel, for 16-bit elements. With a
// query tile of 16 four warps share a tile along KV; with more, one warp walks all of it.
int32_t FlashInferWarpTileKv(int32_t cta_tile_q, int32_t head_dim, int32_t compute_capability);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_FLASHINFER_PLAN_H_
