#include "sim/plan/fa_splits.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

constexpr float kAlmostFull = 0.8f;      // from this share of the SMs on nothing is split
constexpr double kGoodEnough = 0.85;     // a double: the product with a float32 is taken in double
constexpr int64_t kMaxSplits = 128;      // both generations
constexpr int32_t kFa2BlockM = 64;       // of the split kernel
constexpr int64_t kFa3FewBlocks = 4;     // KV blocks that are never split
constexpr int64_t kL2Bytes = 50 << 20;   // what FA3 takes the L2 cache of any device to be
constexpr float kFa3SmMargin = 1.1f;     // blocks_per_sm leaves a tenth of room
constexpr int64_t kBytesPerElement = 2;  // 16-bit inputs only

// Share of the last wave of `blocks * splits` that does work; 1 when waves are full.
float Efficiency(int64_t blocks, int64_t splits, int64_t slots) {
  const float waves = static_cast<float>(blocks * splits) / static_cast<float>(slots);
  return waves / std::ceil(waves);
}

bool AlmostFull(int64_t blocks, int64_t slots) {
  return static_cast<float>(blocks) >= kAlmostFull * static_cast<float>(slots);
}

// The smallest count in [1, max_splits] that passes `eligible` and is nearly as good as the best.
template <typename Eligible>
int32_t SmallestGoodSplit(int64_t blocks, int64_t slots, int64_t max_splits,
                          const Eligible& eligible) {
  float best = 0.0f;
  for (int64_t splits = 1; splits <= max_splits; ++splits) {
    if (eligible(splits)) best = std::max(best, Efficiency(blocks, splits, slots));
  }
  for (int64_t splits = 1; splits <= max_splits; ++splits) {
    if (!eligible(splits)) continue;
    if (static_cast<double>(Efficiency(blocks, splits, slots)) >= kGoodEnough * best) {
      return static_cast<int32_t>(splits);
    }
  }
  return 1;
}

}  // namespace

int32_t Fa2NumSplits(int64_t blocks, int64_t sm_slots, int64_t n_blocks, int64_t max_splits) {
  if (AlmostFull(blocks, sm_slots)) return 1;
  return SmallestGoodSplit(
      blocks, sm_slots, std::min({max_splits, sm_slots, n_blocks}), [n_blocks](int64_t splits) {
        return splits == 1 || CeilDiv(n_blocks, splits) != CeilDiv(n_blocks, splits - 1);
      });
}

int32_t Fa2BlockN(int32_t head_dim, bool split) {
  if (!split) return head_dim <= 64 ? 128 : 64;
  if (head_dim <= 64) return 256;
  return head_dim <= 128 ? 128 : 64;
}

Fa2Decode PlanFa2Decode(const Fa2Shape& shape, int32_t sm_count, int32_t forced_splits) {
  BV_CHECK(shape.kv_heads >= 1 && shape.q_heads % shape.kv_heads == 0);
  Fa2Decode plan;
  plan.gqa_swapped = shape.q_len == 1 && shape.q_heads > shape.kv_heads;
  const int64_t heads = plan.gqa_swapped ? shape.kv_heads : shape.q_heads;
  const int64_t q_rows = plan.gqa_swapped ? shape.q_heads / shape.kv_heads : shape.q_len;
  plan.heuristic_block_n = Fa2BlockN(shape.head_dim, /*split=*/true);
  plan.n_blocks = CeilDiv(shape.max_kv_len, plan.heuristic_block_n);
  plan.m_blocks = CeilDiv(q_rows, kFa2BlockM);
  plan.blocks = shape.batch * heads * plan.m_blocks;
  plan.num_splits = forced_splits > 0 ? forced_splits
                                      : Fa2NumSplits(plan.blocks, int64_t{2} * sm_count,
                                                     plan.n_blocks, kMaxSplits);
  plan.kernel_block_m = kFa2BlockM;
  plan.kernel_block_n = Fa2BlockN(shape.head_dim, plan.num_splits > 1);
  plan.blocks_per_split = CeilDiv(CeilDiv(shape.max_kv_len, plan.kernel_block_n), plan.num_splits);
  return plan;
}

int32_t Fa3NumSplits(const Fa3SplitInput& input) {
  if (AlmostFull(input.total_m_blocks, input.sm_count)) {
    // Long KV that falls out of L2 is worth reading in parts, if it is read often enough.
    const bool too_long = input.kv_head_bytes > kL2Bytes &&
                          input.m_blocks >= int64_t{2} * input.sm_count && !input.causal_or_local;
    if (!too_long) return 1;
    return static_cast<int32_t>(std::min(CeilDiv(input.kv_head_bytes, kL2Bytes), input.max_splits));
  }
  if (input.n_blocks <= kFa3FewBlocks) return 1;
  const int64_t cap = std::min({input.max_splits, int64_t{input.sm_count}, input.n_blocks});
  return SmallestGoodSplit(input.total_m_blocks, input.sm_count, cap, [](int64_t) { return true; });
}

Fa3Tile Fa3TileSm90(int32_t head_dim, int32_t head_dim_v, bool causal, bool local,
                    bool paged_non_tma) {
  const bool narrow = local || paged_non_tma;
  if (head_dim <= 64) {
    if (head_dim_v == 512) return {64, 64};
    if (head_dim_v == 256) return {128, 96};
    return {192, causal || narrow ? 128 : 192};
  }
  if (head_dim <= 96) return {192, narrow ? 128 : 144};
  if (head_dim <= 128) return {128, causal || narrow ? 128 : 176};
  if (head_dim <= 192) return {128, narrow ? 96 : (head_dim_v <= 128 ? 128 : 112)};
  return {128, local ? 64 : 80};
}

Fa3Static PlanFa3Static(const Fa3Shape& shape, int32_t sm_count, int32_t forced_splits) {
  BV_CHECK(shape.kv_heads >= 1 && shape.q_heads % shape.kv_heads == 0);
  const int64_t group = shape.q_heads / shape.kv_heads;
  const int64_t q_rows = shape.max_q_len * group;
  const auto tile_for = [&shape](bool paged_non_tma) {
    return Fa3TileSm90(shape.head_dim, shape.head_dim, shape.causal, /*local=*/false,
                       paged_non_tma);
  };
  // TMA reads pages that are whole KV blocks, and only for more rows than one tile has.
  Fa3Static plan;
  plan.tile = tile_for(false);
  if (shape.page_size > 0) {
    const bool tma = shape.page_size % plan.tile.block_n == 0 && q_rows > plan.tile.block_m;
    plan.tile = tile_for(!tma);
  }
  plan.n_blocks = CeilDiv(shape.max_kv_len, plan.tile.block_n);
  plan.m_blocks = CeilDiv(q_rows, plan.tile.block_m);
  plan.total_m_blocks = (shape.varlen ? 1 : shape.batch) * shape.kv_heads * plan.m_blocks;
  const int64_t kv_head_bytes = shape.max_kv_len * 2 * shape.head_dim * kBytesPerElement;
  plan.num_splits = forced_splits > 0
                        ? forced_splits
                        : Fa3NumSplits({plan.total_m_blocks, sm_count, plan.n_blocks, plan.m_blocks,
                                        kv_head_bytes, shape.causal, kMaxSplits});
  return plan;
}

int64_t Fa3BlocksPerSm(int64_t total_blocks, int32_t kv_heads, int32_t sm_count) {
  const float wanted = static_cast<float>(total_blocks) * kFa3SmMargin *
                       static_cast<float>(kv_heads) / static_cast<float>(sm_count);
  return static_cast<int64_t>(std::ceil(wanted));
}

Fa3Dynamic PlanFa3Dynamic(const std::vector<int64_t>& q_lens, const std::vector<int64_t>& kv_lens,
                          Fa3Shape shape, int32_t sm_count, int32_t forced_splits) {
  BV_CHECK(!q_lens.empty() && q_lens.size() == kv_lens.size());
  const int64_t group = shape.q_heads / shape.kv_heads;
  shape.batch = static_cast<int64_t>(q_lens.size());
  shape.max_q_len = *std::max_element(q_lens.begin(), q_lens.end());
  shape.max_kv_len = *std::max_element(kv_lens.begin(), kv_lens.end());
  shape.varlen = true;
  Fa3Dynamic plan;
  plan.upper = PlanFa3Static(shape, sm_count, forced_splits);
  plan.num_splits.assign(q_lens.size(), 1);
  if (plan.upper.num_splits == 1 || shape.batch > kFa3MaxDynamicBatch) {
    plan.upper.num_splits = 1;
    return plan;
  }
  const Fa3Tile tile = plan.upper.tile;
  int64_t total = 0;
  for (size_t i = 0; i < q_lens.size(); ++i) {
    total += CeilDiv(q_lens[i] * group, tile.block_m) * CeilDiv(kv_lens[i], tile.block_n);
  }
  plan.blocks_per_sm = Fa3BlocksPerSm(total, shape.kv_heads, sm_count);
  for (size_t i = 0; i < q_lens.size(); ++i) {
    const int64_t wanted = CeilDiv(CeilDiv(kv_lens[i], tile.block_n), plan.blocks_per_sm);
    plan.num_splits[i] = static_cast<int32_t>(
        std::max<int64_t>(1, std::min<int64_t>(wanted, plan.upper.num_splits)));
  }
  return plan;
}

}  // namespace batchvar
