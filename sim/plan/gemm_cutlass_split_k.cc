#include "sim/plan/gemm_cutlass_split_k.h"

#include <algorithm>
#include <string>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

GemmPolicySpec TextbookWithTileOf(const GemmPolicySpec& spec) {
  GemmPolicySpec textbook = spec;
  textbook.kind = GemmPolicyKind::kTextbook;
  return textbook;
}

// Whole K tiles of every piece but the last in parallel mode; 0 when there are fewer than pieces,
// and then the last piece is all of K.
int64_t ParallelTilesPerPiece(const GemmShape& shape, int32_t tile_k, int64_t splits) {
  return shape.k / tile_k / splits;
}

std::string CombineWords(const GemmDecision& decision) {
  switch (decision.combine) {
    case Combine::kSerial16bit:
      return "serial: each piece adds itself to the 16-bit output of the pieces before it, which "
             "is "
             "rounded again every time";
    case Combine::kSerialFp32:
      return "parallel: fp32 partial sums are added in ascending order of K by a second kernel, "
             "rounded once";
    default: return "one piece: nothing to combine";
  }
}

}  // namespace

GemmCutlassSplitK::GemmCutlassSplitK(const GemmPolicySpec& spec)
    : spec_(spec), textbook_(TextbookWithTileOf(spec)) {
  BV_CHECK(spec.split_k >= 0);
}

int64_t GemmCutlassSplitK::Wanted(const GemmShape& shape, const DeviceSpec& device) const {
  return spec_.split_k > 0 ? spec_.split_k : textbook_.Decide(shape, device).split_k;
}

GemmDecision GemmCutlassSplitK::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  GemmDecision decision = OnePassDecision(shape, TileOf(spec_, shape.dtype), device);
  const int64_t wanted = Wanted(shape, device);
  if (spec_.split_k_mode == SplitKMode::kSerial) {
    SplitEvenly(CeilDiv(decision.k_tiles, wanted), Combine::kSerial16bit, device, &decision);
    return decision;
  }
  const int64_t tiles = ParallelTilesPerPiece(shape, decision.tile.k, wanted);
  if (wanted == 1 || tiles == 0) return decision;
  decision.decomposition = Decomposition::kSplitK;
  decision.combine = Combine::kSerialFp32;
  decision.split_k = static_cast<int32_t>(wanted);
  decision.k_tiles_per_split = tiles;
  CountWaves(decision.m_blocks * decision.n_blocks * wanted, device.sm_count, &decision);
  return decision;
}

std::vector<TileGroup> GemmCutlassSplitK::TileMap(const GemmShape& shape,
                                                  const GemmDecision& decision,
                                                  const DeviceSpec& device) const {
  std::vector<TileGroup> map = GemmPolicy::TileMap(shape, decision, device);
  std::vector<Range>& pieces = map.front().order.pieces;
  if (static_cast<int64_t>(pieces.size()) > decision.split_k) {
    pieces.resize(static_cast<size_t>(decision.split_k));  // parallel: the last one takes the rest
    pieces.back().end = shape.k;
  }
  return map;
}

void GemmCutlassSplitK::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const GemmDecision& decision = plan->decision;
  const int64_t wanted = Wanted(plan->shape, device);
  std::vector<std::string>& words = plan->explain;
  words = GridWords(plan->shape, decision);
  if (spec_.split_k > 0) {
    words.push_back("split_k = " + std::to_string(wanted) + " is given, whatever M");
  } else {
    words.push_back("textbook's fill rule asks for split_k = " + std::to_string(wanted));
    plan->rejected = textbook_.PlanWithWords(plan->shape, device).rejected;
  }
  if (decision.split_k != wanted) {
    words.push_back(CountWords(decision.k_tiles, "K tile") + " make only " +
                    CountWords(decision.split_k, "piece"));
  }
  words.push_back(PieceCountWords(*plan));
  words.push_back(CombineWords(decision));
  words.push_back(WavesWords(decision, device.sm_count));
  const bool serial = spec_.split_k_mode == SplitKMode::kSerial;
  plan->rejected.push_back({serial ? "parallel" : "serial",
                            "the mode is given; the other one cuts K elsewhere and keeps partial "
                            "sums in another type"});
}

const char* GemmCutlassSplitK::name() const { return PolicyName(GemmPolicyKind::kCutlassSplitK); }

PolicySource GemmCutlassSplitK::source() const {
  return {"CUTLASS", "7107b055, 2.x split-K", "2026-08-20"};
}

}  // namespace batchvar
