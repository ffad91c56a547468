#include "sim/plan/gemm_stream_k2.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/k_pieces.h"
#include "sim/plan/plan_words.h"
#include "sim/plan/tile_map.h"

namespace batchvar {
namespace {

// A separate reduction wave adds the partial sums in the same order as the turnstile, so both have
// one name: their bits are equal.
constexpr Combine kCombine = Combine::kTurnstile;

std::string Str(int64_t value) { return std::to_string(value); }

void RejectDataParallel(const Cutlass2Problem& problem, const Cutlass2StreamK& decision,
                        GemmPlan* plan) {
  const int64_t saving = Cutlass2Saving(decision.sk_tiles, problem.iters_per_tile, problem.sm_count,
                                        decision.sk_blocks);
  plan->rejected.push_back(
      {"data_parallel", problem.splits > 1
                            ? "splits = " + Str(problem.splits) + " was asked for"
                            : "sharing " + CountWords(decision.sk_tiles, "tile") + " among " +
                                  CountWords(decision.sk_blocks, "block") + " saves " +
                                  CountWords(saving, "iteration") + " of an SM"});
}

// The neighbouring numbers of blocks, where the heuristic looked at them.
void RejectNeighbours(const Cutlass2Problem& problem, const Cutlass2StreamK& decision,
                      GemmPlan* plan) {
  if (problem.splits > 1) return;
  const auto saving = [&](int64_t blocks) {
    return Cutlass2Saving(decision.sk_tiles, problem.iters_per_tile, problem.sm_count, blocks);
  };
  const int64_t best = saving(decision.sk_blocks);
  for (const int64_t blocks : {decision.sk_blocks - 1, decision.sk_blocks + 1}) {
    if (blocks < 1) continue;
    const std::string candidate = CountWords(blocks, "block") + " for the shared tiles";
    const int64_t other = saving(blocks);
    if (blocks > problem.sm_count * int64_t{problem.occupancy}) {
      plan->rejected.push_back({candidate, "at most " + CountWords(problem.occupancy, "block") +
                                               " on each of " + Str(problem.sm_count) + " SMs"});
    } else if (other < best) {
      plan->rejected.push_back(
          {candidate, "saves " + CountWords(other, "iteration") + " of an SM, not " + Str(best)});
    } else if (other == best && blocks < decision.sk_blocks) {
      plan->rejected.push_back({candidate, "saves as much, and the most blocks win a tie"});
    }
  }
}

void ExplainDataParallel(const Cutlass2Problem& problem, const GemmPlan& plan,
                         std::vector<std::string>* words) {
  const int64_t tiles = problem.tiles();
  words->push_back(WavesWords(plan.decision, plan.sm_count));
  if (problem.data_parallel) {
    words->push_back("mode data_parallel: no tile is shared");
  } else if (tiles % problem.sm_count == 0) {
    words->push_back("the last wave is full: nothing to share out");
  } else {
    words->push_back("sharing the last wave's tiles would cost more than it saves");
  }
  words->push_back(PieceCountWords(plan));
}

std::string SharesWords(const Cutlass2Problem& problem, const Cutlass2StreamK& decision) {
  if (problem.splits > 1) return "splits = " + Str(problem.splits) + ": every tile is shared";
  std::string words = CountWords(problem.tiles(), "tile") + " on " + Str(problem.sm_count) +
                      " SMs: the last wave is not full, so ";
  if (decision.dp_tiles == 0) return words + "all tiles are shared";
  return words + CountWords(decision.sk_tiles, "tile") + " are shared and " +
         Str(decision.dp_tiles) + " have a block each";
}

std::string BlocksWords(const Cutlass2Problem& problem, const Cutlass2StreamK& decision) {
  const int64_t longer = decision.big_blocks_per_region;
  std::string each = Str(decision.iters_per_normal_block);
  if (longer > 0) each += " or " + Str(decision.iters_per_normal_block + 1);
  if (decision.regions > 1 || decision.sk_tiles == 1) {
    return CountWords(decision.regions, "region") + " of one tile x " +
           CountWords(decision.blocks_per_region, "block") + ": split-K, " + each + " of " +
           Str(problem.iters_per_tile) + " K tiles a block";
  }
  return "stream-K: " + CountWords(decision.sk_blocks, "block") + " walk over " +
         CountWords(decision.sk_tiles, "tile") + ", " + each + " K tiles each" +
         (longer > 0 || decision.sk_blocks % decision.sk_tiles != 0 ? " (uneven)" : "");
}

}  // namespace

GemmStreamK2::GemmStreamK2(const GemmPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.generation == 2 && spec.occupancy >= 1 && spec.splits >= 1);
  BV_CHECK(spec.stream_k_mode != StreamKMode::kStreamK);  // 2.x cannot be forced to stream-K
  BV_CHECK(spec.splits == 1 || spec.stream_k_mode != StreamKMode::kDataParallel);
}

Cutlass2Problem GemmStreamK2::ProblemOf(const GemmShape& shape, const DeviceSpec& device) const {
  const Tile tile = TileOf(spec_, shape.dtype);
  Cutlass2Problem problem;
  problem.m_tiles = CeilDiv(shape.m, tile.m);
  problem.n_tiles = CeilDiv(shape.n, tile.n);
  problem.iters_per_tile = CeilDiv(shape.k, tile.k);
  problem.splits = spec_.splits;
  problem.occupancy = spec_.occupancy;
  problem.sm_count = device.sm_count;
  // splits = 1 in mode split_k is no split at all.
  problem.data_parallel = spec_.stream_k_mode != StreamKMode::kHeuristic && spec_.splits == 1;
  return problem;
}

GemmDecision GemmStreamK2::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  GemmDecision decision = OnePassDecision(shape, TileOf(spec_, shape.dtype), device);
  const Cutlass2StreamK shares = DecideCutlass2StreamK(ProblemOf(shape, device));
  if (shares.sk_blocks == 0) return decision;
  decision.split_k = MostPiecesOfLine(shares.sk_blocks, decision.k_tiles, [&shares](int64_t block) {
    return Cutlass2BlockBegin(shares, block);
  });
  decision.combine = decision.split_k > 1 ? kCombine : Combine::kNone;
  const bool alike = shares.dp_tiles == 0 && shares.regions == shares.sk_tiles;
  decision.decomposition = alike ? Decomposition::kSplitK : Decomposition::kStreamK;
  decision.sk_tiles = alike ? 0 : shares.sk_tiles;
  decision.sk_units = alike ? 0 : shares.sk_blocks;
  decision.k_tiles_per_split =
      shares.iters_per_normal_block + (shares.big_blocks_per_region > 0 ? 1 : 0);
  CountWaves(shares.sk_blocks + shares.dp_tiles, device.sm_count, &decision);
  return decision;
}

std::vector<TileGroup> GemmStreamK2::TileMap(const GemmShape& shape, const GemmDecision& decision,
                                             const DeviceSpec& device) const {
  const Cutlass2Problem problem = ProblemOf(shape, device);
  const Cutlass2StreamK shares = DecideCutlass2StreamK(problem);
  Order one_pass = MmaOrder(shape, device);
  one_pass.pieces = {{0, shape.k}};
  TileMapBuilder map(decision.m_blocks, decision.n_blocks, std::move(one_pass));
  if (shares.sk_blocks > 0) {
    std::vector<int64_t> edges;
    for (int64_t block = 0; block <= shares.sk_blocks; ++block) {
      edges.push_back(Cutlass2BlockBegin(shares, block));
    }
    const auto tiles = PiecesOfLine(edges, decision.k_tiles, decision.tile.k, shape.k);
    for (size_t tile = 0; tile < tiles.size(); ++tile) {
      const TileCoordinate at = Cutlass2TileAt(problem, shares, static_cast<int64_t>(tile));
      map.Set(at.m, at.n, tiles[tile], kCombine);
    }
  }
  return map.Build();
}

void GemmStreamK2::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const Cutlass2Problem problem = ProblemOf(plan->shape, device);
  const Cutlass2StreamK shares = DecideCutlass2StreamK(problem);
  std::vector<std::string>& words = plan->explain;
  words = GridWords(plan->shape, plan->decision);
  if (shares.sk_blocks == 0) {
    ExplainDataParallel(problem, *plan, &words);
    const std::string reason = problem.data_parallel ? "the mode forbids it" : words[2];
    plan->rejected.push_back({"stream_k", reason});
    return;
  }
  words.push_back(SharesWords(problem, shares));
  words.push_back(BlocksWords(problem, shares));
  words.push_back(PieceCountWords(*plan));
  words.push_back(TurnstileWords());
  if (shares.reduction_blocks > 0) {
    words.push_back(CountWords(shares.reduction_blocks, "block") +
                    " of a separate wave add the partial sums, in the same order");
  }
  RejectDataParallel(problem, shares, plan);
  RejectNeighbours(problem, shares, plan);
}

const char* GemmStreamK2::name() const { return PolicyName(GemmPolicyKind::kStreamK); }

PolicySource GemmStreamK2::source() const {
  return {"CUTLASS", "7107b055, 2.x stream-K swizzle", "2026-08-20"};
}

}  // namespace batchvar
