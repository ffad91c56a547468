#include "sim/plan/cutlass3_streamk.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

// All from CUTLASS 7107b055, tile_scheduler_params.h.
constexpr int64_t kMinKTilesPerUnit = 8;
constexpr int64_t kMaxGroups = 8;
constexpr int64_t kSmsPerGpc = 18;  // of a full GH100

int64_t RoundUp(int64_t value, int64_t multiple) { return CeilDiv(value, multiple) * multiple; }
int64_t RoundDown(int64_t value, int64_t multiple) { return value / multiple * multiple; }

int32_t LogSwizzle(int64_t blocks_m, int64_t blocks_n, int32_t max_swizzle) {
  const int64_t shorter = std::min(blocks_m, blocks_n);
  if (max_swizzle >= 8 && shorter >= 6) return 3;
  if (max_swizzle >= 4 && shorter >= 3) return 2;
  if (max_swizzle >= 2 && shorter >= 2) return 1;
  return 0;
}

// Data-parallel is a split of 1.
void SetSplit(int64_t splits, Cutlass3StreamK* decision) {
  decision->decomposition = splits > 1 ? Decomposition::kSplitK : Decomposition::kDataParallel;
  decision->splits = splits;
  decision->sk_tiles = 0;
  decision->sk_units = 0;
  decision->groups = 1;
  decision->big_units = decision->k_tiles % splits;
  decision->units = decision->padded_m * decision->padded_n;
  decision->k_tiles_per_unit = decision->k_tiles / splits;
}

// Tiles that stream-K shares: all of them, or those of the last full wave and of the partial one.
int64_t SharedTiles(const Cutlass3Problem& problem, const Cutlass3StreamK& decision) {
  const int64_t tiles = decision.padded_m * decision.padded_n;
  const int64_t wave = decision.ctas_per_wave;
  const int64_t full_waves = tiles / wave;
  if (problem.mode == StreamKMode::kDataParallel) return 0;
  if (tiles % wave == 0 || problem.k_tiles <= kMinKTilesPerUnit) return 0;
  if (problem.mode == StreamKMode::kHeuristic && 2 * (tiles - full_waves * wave) >= wave) return 0;
  const int64_t data_parallel_waves = full_waves > 1 ? full_waves - 1 : 0;
  return RoundDown(tiles - data_parallel_waves * wave, problem.cluster_size());
}

// The most groups, up to 8 and to the clusters along the raster, that divide units and tiles and
// leave units long enough; else the most that divide the units.
int64_t ChooseGroups(const Cutlass3Problem& problem, const Cutlass3StreamK& decision,
                     int64_t sk_tiles, int64_t sk_units) {
  const int64_t size = problem.cluster_size();
  const int64_t cluster_tiles = sk_tiles / size;
  const int64_t cluster_units = sk_units / size;
  const int64_t along = decision.raster_along_m ? decision.padded_m / problem.cluster_m
                                                : decision.padded_n / problem.cluster_n;
  const auto valid = [&](int64_t groups) {
    const int64_t k_tiles = cluster_tiles / groups * size * problem.k_tiles;
    return cluster_units % groups == 0 && k_tiles / (sk_units / groups) >= kMinKTilesPerUnit;
  };
  int64_t fallback = 1;
  for (int64_t groups = std::min(along, kMaxGroups); groups > 1; --groups) {
    if (!valid(groups)) continue;
    if (cluster_tiles % groups == 0) return groups;
    if (fallback == 1) fallback = groups;
  }
  return fallback;
}

void SetStreamK(const Cutlass3Problem& problem, int64_t sk_tiles, int64_t sk_units,
                Cutlass3StreamK* decision) {
  const int64_t size = problem.cluster_size();
  const int64_t tiles = decision->padded_m * decision->padded_n;
  decision->decomposition = Decomposition::kStreamK;
  decision->splits = 1;
  decision->sk_tiles = sk_tiles;
  decision->sk_units = sk_units;
  decision->groups = ChooseGroups(problem, *decision, sk_tiles, sk_units);
  const int64_t k_tiles_per_group = problem.k_tiles * (sk_tiles / size / decision->groups * size);
  decision->k_tiles_per_unit = k_tiles_per_group / (sk_units / decision->groups);
  decision->big_units = k_tiles_per_group % sk_units / size;
  decision->units = tiles - sk_tiles + sk_units;
}

// Upstream moves an edge that is less than 8 K tiles away from a tile's edge onto it.
int64_t MovedToTileEdge(int64_t at, int64_t k_tiles) {
  const int64_t inside = at % k_tiles;
  if (inside < kMinKTilesPerUnit) return at - inside;
  if (inside > k_tiles - kMinKTilesPerUnit) return at - inside + k_tiles;
  return at;
}

}  // namespace

int64_t Cutlass3CtasPerWave(const Cutlass3Problem& problem, bool raster_along_m) {
  const int64_t sms = problem.sm_count;
  const int64_t size = problem.cluster_size();
  if (size == 1) return sms;
  const int64_t gpcs = sms < kSmsPerGpc ? 1 : sms / kSmsPerGpc;
  const int64_t left_over = sms < kSmsPerGpc ? 0 : sms % kSmsPerGpc;
  const int64_t in_clusters = gpcs * RoundDown(kSmsPerGpc, size) + RoundDown(left_over, size);
  return RoundDown(std::min(sms, in_clusters),
                   raster_along_m ? problem.cluster_n : problem.cluster_m);
}

Cutlass3StreamK DecideCutlass3StreamK(const Cutlass3Problem& problem) {
  BV_CHECK(problem.m_tiles >= 1 && problem.n_tiles >= 1 && problem.k_tiles >= 1);
  BV_CHECK(problem.sm_count >= 1 && problem.splits >= 1);
  Cutlass3StreamK decision;
  decision.k_tiles = problem.k_tiles;
  decision.blocks_m = RoundUp(problem.m_tiles, problem.cluster_m);
  decision.blocks_n = RoundUp(problem.n_tiles, problem.cluster_n);
  decision.log_swizzle = LogSwizzle(decision.blocks_m, decision.blocks_n, problem.max_swizzle);
  const int64_t swizzle = int64_t{1} << decision.log_swizzle;
  decision.padded_m = RoundUp(decision.blocks_m, swizzle * problem.cluster_m);
  decision.padded_n = RoundUp(decision.blocks_n, swizzle * problem.cluster_n);
  decision.raster_along_m = decision.padded_n > decision.padded_m;
  decision.ctas_per_wave = Cutlass3CtasPerWave(problem, decision.raster_along_m);
  const bool heuristic = problem.mode == StreamKMode::kHeuristic;
  if (problem.mode == StreamKMode::kSplitK || (heuristic && problem.splits > 1)) {
    SetSplit(std::min({int64_t{problem.splits}, int64_t{problem.sm_count}, problem.k_tiles}),
             &decision);
    return decision;
  }
  const int64_t size = problem.cluster_size();
  const int64_t sk_tiles = SharedTiles(problem, decision);
  const int64_t sk_units =
      std::min(RoundDown(decision.ctas_per_wave, size),
               RoundDown(problem.k_tiles * sk_tiles / kMinKTilesPerUnit, size));
  if (sk_tiles == 0 || sk_units == 0) {
    SetSplit(1, &decision);
  } else if (heuristic && sk_units > sk_tiles && sk_units % sk_tiles == 0) {
    SetSplit(sk_units / sk_tiles, &decision);
  } else {
    SetStreamK(problem, sk_tiles, sk_units, &decision);
  }
  return decision;
}

int64_t Cutlass3Line::UnitBegin(int64_t unit) const {
  const int64_t length = cluster_tiles * k_tiles;
  const int64_t begin = length / cluster_units * unit + std::min(unit, length % cluster_units);
  return MovedToTileEdge(begin, k_tiles);
}

Cutlass3Line Cutlass3LineOf(const Cutlass3Problem& problem, const Cutlass3StreamK& decision,
                            int64_t group) {
  const int64_t size = problem.cluster_size();
  const int64_t cluster_tiles = decision.sk_tiles / size;
  Cutlass3Line line;
  line.k_tiles = problem.k_tiles;
  line.cluster_tiles =
      cluster_tiles / decision.groups + (group < cluster_tiles % decision.groups ? 1 : 0);
  line.cluster_units = decision.sk_units / size / decision.groups;
  return line;
}

TileRectangle Cutlass3ClusterAt(const Cutlass3Problem& problem, const Cutlass3StreamK& decision,
                                int64_t cluster) {
  // The raster runs along the major dimension; a swizzle of 2^s walks 2^s lines of it at once.
  const int64_t offset = cluster & ((int64_t{1} << decision.log_swizzle) - 1);
  const int64_t rest = cluster >> decision.log_swizzle;
  const int64_t along = decision.raster_along_m ? decision.padded_m / problem.cluster_m
                                                : decision.padded_n / problem.cluster_n;
  const int64_t major = rest % along;
  const int64_t minor = ((rest / along) << decision.log_swizzle) + offset;
  const int64_t m = (decision.raster_along_m ? major : minor) * problem.cluster_m;
  const int64_t n = (decision.raster_along_m ? minor : major) * problem.cluster_n;
  return {{m, m + problem.cluster_m}, {n, n + problem.cluster_n}};
}

}  // namespace batchvar
