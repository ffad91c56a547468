#include "sim/plan/triton_splits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "sim/base/check.h"
#include "sim/base/elementary.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

constexpr int64_t kVllmWanted3dPrograms = 128;  // MIN_LAUNCH_GRID_SIZE_2D
constexpr int32_t kVllmTile2d = 32;
constexpr int32_t kVllmTile3d = 16;
constexpr int64_t kMaxCaptureSize = 512;

constexpr int64_t kSglangBlockH = 16;  // query heads that one program of a grouped decode takes
constexpr float kSglangLengthUnit = 64.0f;

// Batch sizes that vLLM captures by default: 1, 2, 4, then by 8 to 256, then by 16.
int64_t NearestCaptureSize(int64_t wanted) {
  int64_t nearest = 1;
  for (int64_t size = 1; size <= kMaxCaptureSize;
       size += size < 4 ? size : (size < 8 ? 4 : (size < 256 ? 8 : 16))) {
    if (std::abs(size - wanted) < std::abs(nearest - wanted)) nearest = size;
  }
  return nearest;
}

// Exact for powers of two, where a quotient of logarithms may not be.
double Log2(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  if (mantissa == 0.5) return exponent - 1;
  return exponent + PortableLog(mantissa) / std::numbers::ln2;
}

}  // namespace

VllmTritonPlan PlanVllmTriton(const VllmTritonInput& input) {
  BV_CHECK(input.kv_heads >= 1 && input.q_heads % input.kv_heads == 0);
  const int32_t group = input.q_heads / input.kv_heads;
  VllmTritonPlan plan;
  plan.seq_threshold_3d = kVllmWanted3dPrograms / input.kv_heads;
  if (input.decode_cudagraph) plan.seq_threshold_3d = NearestCaptureSize(plan.seq_threshold_3d);
  plan.block_m =
      group <= 16 ? 16 : static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(group)));
  plan.block_q = plan.block_m / group;
  plan.three_d =
      input.segments > 1 && input.max_q_len == 1 && input.num_seqs <= plan.seq_threshold_3d;
  plan.segments = plan.three_d ? input.segments : 1;
  plan.tile = plan.three_d ? kVllmTile3d : kVllmTile2d;
  plan.grid_x = input.total_q / plan.block_q + input.num_seqs;
  plan.grid_y = input.kv_heads;
  plan.grid_z = plan.segments;
  return plan;
}

VllmSegments SegmentsOf(int64_t kv_len, int32_t segments, int32_t tile) {
  VllmSegments out;
  out.tiles_per_segment = CeilDiv(kv_len, int64_t{segments} * tile);
  out.active = CeilDiv(kv_len, out.tiles_per_segment * tile);
  return out;
}

SglangChunks PlanSglangTriton(const SglangTritonInput& input) {
  BV_CHECK(!input.kv_lens.empty() && input.kv_heads >= 1 && input.max_splits >= 1);
  const auto [low, high] = std::minmax_element(input.kv_lens.begin(), input.kv_lens.end());
  const int64_t longest = *high;
  // Lengths within a quarter of each other count as equal.
  const int64_t shortest = longest * 8 < *low * 10 ? longest : *low;
  const int64_t by_spread = std::min<int64_t>(CeilDiv(longest, shortest), input.max_splits);

  // Longer contexts want more blocks, so that the number of pieces grows gradually.
  const float scaled = static_cast<float>(longest) / kSglangLengthUnit;
  const float log2 = std::max(static_cast<float>(Log2(scaled)), 1.0f);
  const int64_t wanted = static_cast<int64_t>(static_cast<float>(input.sm_count) * log2);
  const int64_t group = input.q_heads / input.kv_heads;
  const int64_t head_blocks =
      group == 1 ? input.q_heads : CeilDiv(input.q_heads, std::min(kSglangBlockH, group));
  const int64_t grid = static_cast<int64_t>(input.kv_lens.size()) * head_blocks;
  const int64_t by_grid = std::min<int64_t>(CeilDiv(wanted, grid), input.max_splits);
  return {CeilDiv(longest, by_spread), CeilDiv(longest, by_grid)};
}

int64_t SglangNumSplits(const SglangChunks& chunks, int64_t kv_len) {
  return std::max(CeilDiv(kv_len, chunks.by_spread), CeilDiv(kv_len, chunks.by_grid));
}

}  // namespace batchvar
