#include "sim/plan/gemm_stream_k3.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/k_pieces.h"
#include "sim/plan/plan_words.h"
#include "sim/plan/tile_map.h"

namespace batchvar {
namespace {

constexpr Combine kCombine = Combine::kTurnstile;

std::string Str(int64_t value) { return std::to_string(value); }

bool IsPowerOfTwo(int32_t value) { return value > 0 && std::has_single_bit(uint32_t(value)); }

int32_t MostPieces(const Cutlass3Problem& problem, const Cutlass3StreamK& units) {
  int32_t most = 1;
  // Groups differ in length only, between those with one tile more and the others.
  for (const int64_t group : {int64_t{0}, units.groups - 1}) {
    const Cutlass3Line line = Cutlass3LineOf(problem, units, group);
    most = std::max(most, MostPiecesOfLine(line.cluster_units, line.k_tiles,
                                           [&line](int64_t unit) { return line.UnitBegin(unit); }));
  }
  return most;
}

// Gives every tile of the cluster that lies inside the output these pieces.
void SetCluster(const TileRectangle& cluster, const GemmDecision& decision,
                const std::vector<Range>& pieces, TileMapBuilder* map) {
  const int64_t m_end = std::min(cluster.m_tiles.end, decision.m_blocks);
  const int64_t n_end = std::min(cluster.n_tiles.end, decision.n_blocks);
  for (int64_t m = cluster.m_tiles.begin; m < m_end; ++m) {
    for (int64_t n = cluster.n_tiles.begin; n < n_end; ++n) map->Set(m, n, pieces, kCombine);
  }
}

// "32 tiles would keep 32 of a wave's 132 CTAs busy", "288 tiles are 2 full waves of 132 and 24
// more".
std::string TilesWords(const Cutlass3StreamK& units, int64_t tiles) {
  const int64_t wave = units.ctas_per_wave;
  std::string words = CountWords(tiles, "tile");
  if (tiles < wave) {
    return words + " would keep " + Str(tiles) + " of a wave's " + Str(wave) + " CTAs busy";
  }
  words += " are " + CountWords(tiles / wave, "full wave") + " of " + Str(wave);
  if (tiles % wave != 0) words += " and " + Str(tiles % wave) + " more";
  return words;
}

std::string WhyNotDataParallel(const Cutlass3StreamK& units, int64_t tiles) {
  const int64_t tail = tiles % units.ctas_per_wave;
  if (tail == 0) return "its last wave would be full, but the mode decides";
  return "its last wave would keep only " + Str(tail) + " of " + Str(units.ctas_per_wave) +
         " CTAs busy";
}

// Why no tile is shared.
std::string WhyDataParallel(const Cutlass3Problem& problem, const Cutlass3StreamK& units,
                            int64_t tiles) {
  const int64_t wave = units.ctas_per_wave;
  const int64_t tail = tiles % wave;
  if (problem.mode == StreamKMode::kDataParallel) return "the mode is data_parallel";
  if (problem.mode == StreamKMode::kSplitK || problem.splits > 1)
    return "a split of 1 is asked for";
  if (tail == 0) return "the last wave is full";
  if (problem.k_tiles <= 8) {
    return CountWords(problem.k_tiles, "K tile") +
           " are too few to share: 8 at least stay together";
  }
  if (problem.mode == StreamKMode::kHeuristic && 2 * tail >= wave) {
    return "the last wave is at least half full: " + Str(tail) + " of " + Str(wave);
  }
  return "the shared K tiles are too few for one cluster of units";
}

std::string UnitsWords(const Cutlass3Problem& problem, const Cutlass3StreamK& units) {
  std::string words =
      "stream-K: " + CountWords(units.sk_units, "unit") + " of " + Str(units.k_tiles_per_unit);
  const Cutlass3Line line = Cutlass3LineOf(problem, units, 0);
  if (line.cluster_tiles * line.k_tiles % line.cluster_units != 0) {
    words += " or " + Str(units.k_tiles_per_unit + 1);
  }
  words +=
      " K tiles walk over " + CountWords(units.sk_tiles, "tile") + " of " + Str(problem.k_tiles);
  if (units.groups > 1) words += ", in " + Str(units.groups) + " groups";
  return words;
}

void ExplainStreamK(const Cutlass3Problem& problem, const Cutlass3StreamK& units, GemmPlan* plan) {
  const int64_t tiles = units.padded_m * units.padded_n;
  const int64_t fits = units.sk_units / units.sk_tiles;
  std::vector<std::string>& words = plan->explain;
  if (units.sk_tiles < tiles) {
    words.push_back("the first " + Str(units.sk_tiles) + " tiles of the raster are shared, " +
                    Str(tiles - units.sk_tiles) + " have a unit each");
  }
  if (problem.mode == StreamKMode::kStreamK) {
    words.push_back("the mode is stream_k");
  } else {
    words.push_back(Str(units.sk_units) + " units are not a multiple of " + Str(units.sk_tiles) +
                    " tiles: no split-K, so units cross from tile to tile");
  }
  words.push_back(UnitsWords(problem, units));
  words.push_back("unit edges less than 8 K tiles from a tile's edge are moved onto it");
  words.push_back(PieceCountWords(*plan));
  words.push_back(TurnstileWords());
  if (fits >= 1) {
    const int64_t split = std::max<int64_t>(2, fits);
    plan->rejected.push_back({"split_k = " + Str(split), Str(split) + " x " + Str(units.sk_tiles) +
                                                             " = " + Str(split * units.sk_tiles) +
                                                             " units are not the wave's " +
                                                             Str(units.sk_units)});
  }
  plan->rejected.push_back({"data_parallel", WhyNotDataParallel(units, tiles)});
}

void ExplainSplitK(const Cutlass3Problem& problem, const Cutlass3StreamK& units, GemmPlan* plan) {
  const int64_t tiles = units.padded_m * units.padded_n;
  std::vector<std::string>& words = plan->explain;
  if (problem.splits > 1 || problem.mode == StreamKMode::kSplitK) {
    words.push_back("splits = " + Str(problem.splits) + " is asked for: split-K " +
                    Str(units.splits) +
                    (units.splits < problem.splits ? ", the most that SMs and K tiles allow" : ""));
    plan->rejected.push_back({"stream_k", "splits = " + Str(problem.splits) + " is asked for"});
  } else {
    words.push_back(Str(units.splits * tiles) + " units are exactly " + Str(units.splits) +
                    " for each of " + Str(tiles) + " tiles: split-K " + Str(units.splits));
    plan->rejected.push_back(
        {"stream_k", "units that divide evenly over tiles need not cross from tile to tile"});
  }
  words.push_back(PieceCountWords(*plan));
  words.push_back(TurnstileWords());
  plan->rejected.push_back({"data_parallel", WhyNotDataParallel(units, tiles)});
}

}  // namespace

GemmStreamK3::GemmStreamK3(const GemmPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.generation == 3 && spec.splits >= 1 && spec.max_swizzle >= 1);
  BV_CHECK(IsPowerOfTwo(spec.cluster_m) && IsPowerOfTwo(spec.cluster_n));
  // As upstream's can_implement().
  BV_CHECK(spec.splits == 1 || spec.stream_k_mode == StreamKMode::kHeuristic ||
           spec.stream_k_mode == StreamKMode::kSplitK);
}

Cutlass3Problem GemmStreamK3::ProblemOf(const GemmShape& shape, const DeviceSpec& device) const {
  const Tile tile = TileOf(spec_, shape.dtype);
  Cutlass3Problem problem;
  problem.m_tiles = CeilDiv(shape.m, tile.m);
  problem.n_tiles = CeilDiv(shape.n, tile.n);
  problem.k_tiles = CeilDiv(shape.k, tile.k);
  problem.cluster_m = spec_.cluster_m;
  problem.cluster_n = spec_.cluster_n;
  problem.max_swizzle = spec_.max_swizzle;
  problem.sm_count = device.sm_count;
  problem.splits = spec_.splits;
  problem.mode = spec_.stream_k_mode;
  return problem;
}

std::string GemmStreamK3::Missing(const GemmShape&, const DeviceSpec& device) const {
  const int64_t cluster = int64_t{spec_.cluster_m} * spec_.cluster_n;
  if (cluster <= device.sm_count) return {};
  return "stream_k: a cluster of " + Str(cluster) + " CTAs does not fit on " +
         CountWords(device.sm_count, "SM");
}

GemmDecision GemmStreamK3::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  GemmDecision decision = OnePassDecision(shape, TileOf(spec_, shape.dtype), device);
  const Cutlass3Problem problem = ProblemOf(shape, device);
  const Cutlass3StreamK units = DecideCutlass3StreamK(problem);
  decision.decomposition = units.decomposition;
  if (units.decomposition == Decomposition::kStreamK) {
    decision.sk_tiles = units.sk_tiles;
    decision.sk_units = units.sk_units;
    decision.split_k = MostPieces(problem, units);
    decision.k_tiles_per_split = units.k_tiles_per_unit + 1;
  } else {
    decision.split_k = static_cast<int32_t>(units.splits);
    decision.k_tiles_per_split = CeilDiv(decision.k_tiles, units.splits);
  }
  decision.combine = decision.split_k > 1 ? kCombine : Combine::kNone;
  CountWaves(units.units * units.splits, units.ctas_per_wave, &decision);
  return decision;
}

std::vector<TileGroup> GemmStreamK3::TileMap(const GemmShape& shape, const GemmDecision& decision,
                                             const DeviceSpec& device) const {
  const Cutlass3Problem problem = ProblemOf(shape, device);
  const Cutlass3StreamK units = DecideCutlass3StreamK(problem);
  Order order = MmaOrder(shape, device);
  if (units.decomposition != Decomposition::kStreamK) {
    order.combine = decision.combine;
    order.pieces = BalancedPieces(shape.k, decision.tile.k, units.splits);
    return {{{0, decision.m_blocks}, {0, decision.n_blocks}, std::move(order)}};
  }
  order.pieces = {{0, shape.k}};
  TileMapBuilder map(decision.m_blocks, decision.n_blocks, std::move(order));
  for (int64_t group = 0; group < units.groups; ++group) {
    const Cutlass3Line line = Cutlass3LineOf(problem, units, group);
    std::vector<int64_t> edges;
    for (int64_t unit = 0; unit <= line.cluster_units; ++unit) {
      edges.push_back(line.UnitBegin(unit));
    }
    const auto clusters = PiecesOfLine(edges, decision.k_tiles, decision.tile.k, shape.k);
    for (size_t i = 0; i < clusters.size(); ++i) {
      const int64_t cluster = static_cast<int64_t>(i) * units.groups + group;
      SetCluster(Cutlass3ClusterAt(problem, units, cluster), decision, clusters[i], &map);
    }
  }
  return map.Build();
}

void GemmStreamK3::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const Cutlass3Problem problem = ProblemOf(plan->shape, device);
  const Cutlass3StreamK units = DecideCutlass3StreamK(problem);
  const int64_t tiles = units.padded_m * units.padded_n;
  std::vector<std::string>& words = plan->explain;
  words = GridWords(plan->shape, plan->decision);
  if (tiles != plan->decision.m_blocks * plan->decision.n_blocks) {
    words.push_back("padded to whole clusters and swizzles: " + Str(units.padded_m) + " x " +
                    Str(units.padded_n) + " = " + CountWords(tiles, "tile"));
  }
  words.push_back(TilesWords(units, tiles));
  if (units.decomposition == Decomposition::kStreamK) return ExplainStreamK(problem, units, plan);
  if (units.decomposition == Decomposition::kSplitK) return ExplainSplitK(problem, units, plan);
  const std::string reason = WhyDataParallel(problem, units, tiles);
  words.push_back(reason + ": no tile is shared");
  words.push_back(PieceCountWords(*plan));
  plan->rejected.push_back({"stream_k", reason});
}

const char* GemmStreamK3::name() const { return PolicyName(GemmPolicyKind::kStreamK); }

PolicySource GemmStreamK3::source() const {
  return {"CUTLASS", "7107b055, 3.x stream-K scheduler", "2026-08-20"};
}

}  // namespace batchvar
