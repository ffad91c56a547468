#include "sim/plan/gemm_batch_invariant.h"

#include <algorithm>
#include <string>

#include "sim/base/check.h"
#include "sim/plan/gemm_table.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

constexpr int32_t kTallestFreeTile = 128;  // rows; this project's choice

// The fewest rows among tile_m, 2 tile_m, 4 tile_m, ... that hold M, up to 128.
int32_t FreeTileRows(int32_t tile_m, int64_t m) {
  int32_t rows = tile_m;
  while (rows < m && rows * 2 <= kTallestFreeTile) rows *= 2;
  return rows;
}

std::string TileWords(const Tile& tile) {
  return std::to_string(tile.m) + " x " + std::to_string(tile.n) + " x " + std::to_string(tile.k);
}

}  // namespace

GemmBatchInvariant::GemmBatchInvariant(const GemmPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.variant != InvariantVariant::kSglang);
}

int32_t GemmBatchInvariant::ListedBlockK(const GemmShape& shape, const DeviceSpec& device) const {
  if (spec_.variant != InvariantVariant::kVllm || spec_.block_k_table == nullptr) return 0;
  return spec_.block_k_table->Find(device.compute_capability, shape.n, shape.k);
}

Tile GemmBatchInvariant::TileFor(const GemmShape& shape, const DeviceSpec& device) const {
  Tile tile = TileOf(spec_, shape.dtype);
  if (spec_.variant == InvariantVariant::kFreeTile) tile.m = FreeTileRows(tile.m, shape.m);
  const int32_t block_k = ListedBlockK(shape, device);
  if (block_k > 0) tile.k = block_k;
  return tile;
}

GemmDecision GemmBatchInvariant::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  return OnePassDecision(shape, TileFor(shape, device), device);
}

void GemmBatchInvariant::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const GemmDecision& decision = plan->decision;
  const int64_t idle = device.sm_count - decision.ctas;
  plan->explain = GridWords(plan->shape, decision);
  plan->explain.push_back(WavesWords(decision, device.sm_count));
  plan->explain.push_back("K = " + std::to_string(plan->shape.k) +
                          " is summed in one pass, ascending, into one fp32 accumulator");
  if (spec_.variant == InvariantVariant::kFreeTile) {
    plan->explain.push_back("the tile, " + TileWords(decision.tile) +
                            ", follows M, but the pass does not, so every M shares one class");
  } else {
    plan->explain.push_back("tile and pass are the same for every M, so every M shares one class");
  }
  if (spec_.variant == InvariantVariant::kVllm) {
    const bool listed = ListedBlockK(plan->shape, device) > 0;
    plan->explain.push_back("BLOCK_K = " + std::to_string(decision.tile.k) +
                            (listed ? " from the table for this N and K" : ", the default"));
  }
  if (idle > 0) {
    plan->explain.push_back("the price: " + CountWords(idle, "SM") +
                            " that a split could have used");
  }
  const int64_t fits = idle > 0 ? device.sm_count / decision.ctas : 1;
  const std::string fill =
      fits > 1 ? "it would fill the device, but how many pieces fit" : "whether a split pays";
  plan->rejected.push_back({"split_k = " + std::to_string(fits > 1 ? fits : 2),
                            fill + " depends on the blocks, so the order would depend on M"});
}

const char* GemmBatchInvariant::name() const { return PolicyName(GemmPolicyKind::kBatchInvariant); }

PolicySource GemmBatchInvariant::source() const {
  switch (spec_.variant) {
    case InvariantVariant::kFreeTile: return {"batchvar", "free_tile 1", "2026-11-29"};
    case InvariantVariant::kVllm: return {"vLLM", "0.32.0, batch-invariant matmul", "2026-10"};
    default: return {"batch_invariant_ops", "f22b1fbe", "2025-11-03"};
  }
}

}  // namespace batchvar
