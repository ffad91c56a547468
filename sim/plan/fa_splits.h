// How many pieces FlashAttention-2 and -3 cut KV into, on plain numbers. Types matter: upstream
// compares float32 efficiencies with a double factor of 0.85, and so does this.
//
// flash-attention 0251105a (2026-08-15): csrc/flash_attn/flash_api.cpp, hopper/heuristics.h,
// hopper/tile_size.h, hopper/flash_prepare_scheduler.cu.
#ifndef BATCHVAR_SIM_PLAN_FA_SPLITS_H_
#define BATCHVAR_SIM_PLAN_FA_SPLITS_H_

#include <cstdint>
#include <vector>

namespace batchvar {

// FA2. `blocks` = batch * heads * m blocks; `sm_slots` = 2 * SMs. The smallest count that gives
// another piece length than one less and is at least 0.85 as efficient as the best.
int32_t Fa2NumSplits(int64_t blocks, int64_t sm_slots, int64_t n_blocks, int64_t max_splits);

// A decode of FA2 (one query token a request, or `q_len` for all of them).
struct Fa2Decode {
  bool gqa_swapped = false;  // query heads that share a KV head became query rows
  int32_t heuristic_block_n = 0;
  int64_t n_blocks = 0;
  int64_t m_blocks = 0;
  int64_t blocks = 0;  // batch * heads * m blocks
  int32_t num_splits = 1;
  int32_t kernel_block_m = 0;
  int32_t kernel_block_n = 0;    // of the kernel that runs: narrower where nothing is split
  int64_t blocks_per_split = 0;  // of a request with max_kv_len, in kernel_block_n
};
struct Fa2Shape {
  int64_t batch = 1;
  int64_t q_len = 1;
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  int32_t head_dim = 128;
  int64_t max_kv_len = 1;
};
// forced_splits 0: the heuristic.
Fa2Decode PlanFa2Decode(const Fa2Shape& shape, int32_t sm_count, int32_t forced_splits);
int32_t Fa2BlockN(int32_t head_dim, bool split);

// FA3. No test for equal piece lengths, one block an SM, and never a split at 4 KV blocks or fewer.
struct Fa3SplitInput {
  int64_t total_m_blocks = 1;
  int32_t sm_count = 1;
  int64_t n_blocks = 1;
  int64_t m_blocks = 1;
  int64_t kv_head_bytes = 0;
  bool causal_or_local = true;
  int64_t max_splits = 128;
};
int32_t Fa3NumSplits(const Fa3SplitInput& input);

struct Fa3Tile {
  int32_t block_m = 0;
  int32_t block_n = 0;
};
// The forward tile on SM90 for 16-bit inputs. `paged_non_tma`: KV pages read without TMA.
Fa3Tile Fa3TileSm90(int32_t head_dim, int32_t head_dim_v, bool causal, bool local,
                    bool paged_non_tma);

// What the static heuristic looks at; page_size 0: KV is not paged.
struct Fa3Shape {
  int64_t batch = 1;
  int64_t max_q_len = 1;
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  int32_t head_dim = 128;
  int64_t max_kv_len = 1;
  int32_t page_size = 16;
  bool causal = true;
  bool varlen = true;  // pretend a batch of one, then count per request: Fa3BlocksPerSm
};
struct Fa3Static {
  Fa3Tile tile;
  int64_t n_blocks = 0;
  int64_t m_blocks = 0;
  int64_t total_m_blocks = 0;
  int32_t num_splits = 1;
};
Fa3Static PlanFa3Static(const Fa3Shape& shape, int32_t sm_count, int32_t forced_splits);

// KV blocks that one SM should take, over the blocks of the whole step: ceil(total * 1.1f * heads /
// SMs) in float32. Upstream is device code built with fast-math, so a quotient that is a whole
// number may be one off on a GPU.
int64_t Fa3BlocksPerSm(int64_t total_blocks, int32_t kv_heads, int32_t sm_count);
// Above this many requests the per-request counts are off: nobody is split.
inline constexpr int64_t kFa3MaxDynamicBatch = 992;

// Counts of every request of a varlen step; `blocks_per_sm` is 0 where nothing can be split.
struct Fa3Dynamic {
  Fa3Static upper;
  int64_t blocks_per_sm = 0;
  std::vector<int32_t> num_splits;
};
Fa3Dynamic PlanFa3Dynamic(const std::vector<int64_t>& q_lens, const std::vector<int64_t>& kv_lens,
                          Fa3Shape shape, int32_t sm_count, int32_t forced_splits);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_FA_SPLITS_H_
