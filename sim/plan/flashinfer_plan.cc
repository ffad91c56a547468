#include "sim/plan/flashinfer_plan.h"

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

constexpr int64_t kMinChunk = 128;        // KV positions: no chunk is shorter, a page aside
constexpr int64_t kTensorCoreBlocks = 2;  // blocks an SM that the tensor-core plan counts on

int64_t MinPages(int32_t page_size) { return std::max<int64_t>(kMinChunk / page_size, 1); }

// The smallest chunk from `low` to `high` whose work items still fit.
template <typename Fits>
int64_t SmallestChunk(int64_t low, int64_t high, const Fits& fits) {
  while (low < high) {
    const int64_t mid = (low + high) / 2;
    if (fits(mid)) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  return low;
}

// Query tiles of every request and the tile that they were counted in.
struct QueryTiles {
  int32_t cta_tile_q = 0;
  std::vector<int64_t> tiles;
  int64_t launched = 0;
};

QueryTiles TilesOf(const FlashInferPrefillInput& input) {
  const int64_t group = input.q_heads / input.kv_heads;
  const int64_t batch = static_cast<int64_t>(input.q_lens.size());
  const int64_t rows = std::accumulate(input.q_lens.begin(), input.q_lens.end(), int64_t{0});
  QueryTiles out;
  // A captured graph must fit every batch of as many rows, so it takes the tile of the worst one.
  const int64_t packed = input.cuda_graph ? (rows - batch + 1) * group : rows * group / batch;
  out.cta_tile_q = FlashInferCtaTileQ(packed, input.head_dim);
  for (const int64_t q_len : input.q_lens) {
    out.tiles.push_back(CeilDiv(q_len * group, out.cta_tile_q));
    out.launched += out.tiles.back();
  }
  if (input.cuda_graph) out.launched = CeilDiv(rows * group, out.cta_tile_q) + batch - 1;
  return out;
}

}  // namespace

FlashInferDecodePlan PlanFlashInferDecode(const FlashInferDecodeInput& input) {
  BV_CHECK(!input.pages.empty() && input.page_size >= 1);
  const auto items_at = [&input](int64_t chunk) {
    int64_t items = 0;
    for (const int64_t pages : input.pages) items += CeilDiv(std::max<int64_t>(pages, 1), chunk);
    return items;
  };
  const int64_t batch = static_cast<int64_t>(input.pages.size());
  const int64_t longest = *std::max_element(input.pages.begin(), input.pages.end());
  FlashInferDecodePlan plan;
  if (batch * input.kv_heads >= input.max_grid) {
    plan.pages_per_chunk = longest;
    plan.work = batch;
    return plan;
  }
  plan.pages_per_chunk = SmallestChunk(MinPages(input.page_size), longest, [&](int64_t chunk) {
    return items_at(chunk) * input.kv_heads <= input.max_grid;
  });
  plan.work = items_at(plan.pages_per_chunk);
  plan.split = plan.work != batch || input.cuda_graph;
  return plan;
}

int32_t FlashInferCtaTileQ(int64_t packed, int32_t head_dim) {
  if (packed > 64 && head_dim < 256) return 128;
  return packed > 16 ? 64 : 16;
}

FlashInferPrefillPlan PlanFlashInferPrefill(const FlashInferPrefillInput& input) {
  BV_CHECK(!input.q_lens.empty() && input.q_lens.size() == input.kv_pages.size());
  BV_CHECK(input.kv_heads >= 1 && input.q_heads % input.kv_heads == 0 && input.page_size >= 1);
  const int64_t max_work = kTensorCoreBlocks * input.sm_count / input.kv_heads;
  const QueryTiles q = TilesOf(input);
  std::vector<int64_t> pages = input.kv_pages;
  if (input.window_left >= 0) {
    const int64_t seen = CeilDiv(input.window_left + q.cta_tile_q, input.page_size);
    for (int64_t& count : pages) count = std::min(count, seen);
  }
  const auto work_at = [&](int64_t chunk) {
    int64_t work = 0;
    for (size_t i = 0; i < pages.size(); ++i) {
      work += q.tiles[i] * CeilDiv(std::max<int64_t>(pages[i], 1), chunk);
    }
    return work;
  };
  const int64_t longest = std::max<int64_t>(1, *std::max_element(pages.begin(), pages.end()));
  FlashInferPrefillPlan plan;
  plan.cta_tile_q = q.cta_tile_q;
  if (input.disable_split) {
    plan.chunk_pages = 0;
  } else if (input.fixed_split_pages > 0) {
    plan.chunk_pages = input.fixed_split_pages;
    plan.split = longest > plan.chunk_pages;
  } else {
    plan.chunk_pages = SmallestChunk(MinPages(input.page_size), longest,
                                     [&](int64_t chunk) { return work_at(chunk) <= max_work; });
    plan.split = input.cuda_graph || plan.chunk_pages < longest;
  }
  plan.work = work_at(input.disable_split ? longest : plan.chunk_pages);
  plan.padded = input.cuda_graph ? std::max(max_work, q.launched) : plan.work;
  return plan;
}

int32_t FlashInferWarpTileKv(int32_t cta_tile_q, int32_t head_dim, int32_t compute_capability) {
  // Shared memory of an SM: CUDA C++ programming guide, table of compute capabilities.
  int64_t smem = 228 * 1024;
  if (compute_capability == 80) smem = 164 * 1024;
  if (compute_capability == 86 || compute_capability == 89) smem = 100 * 1024;
  if (compute_capability >= 120) smem = 100 * 1024;
  const int64_t warps_kv = cta_tile_q > 16 ? 1 : 4;
  const int64_t mma_q = cta_tile_q > 64 ? 2 : 1;
  const int64_t q_bytes = int64_t{cta_tile_q} * head_dim * 2;
  const int64_t kv_bytes = int64_t{2} * head_dim * 16 * warps_kv * 2;  // K and V, one MMA a warp
  const int64_t blocks = smem >= 2 * (q_bytes + kv_bytes) ? 2 : 1;
  const int64_t fits = std::min((smem / blocks - q_bytes) / kv_bytes, 8 / mma_q);
  int32_t mma_kv = 8;
  while (mma_kv > 1 && mma_kv > fits) mma_kv /= 2;
  return 16 * mma_kv;
}

}  // namespace batchvar
