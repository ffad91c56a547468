// Stream-K as CUTLASS 3.x's persistent tile scheduler for Hopper decides it (7107b055, 2026-08-20),
// in plain numbers: split-K, stream-K or data-parallel, the units of work, and where each unit's K
// range lies. Words and orders: gemm_stream_k3.h. The goldens hold the numbers of Cutlass3StreamK.
//
// Work comes in units of one CTA; the CTAs of a cluster share their K range. Shared tiles come
// first in raster order and are dealt out in turn to `groups`; each group's tiles, laid end to end,
// are one line of K tiles, cut into the group's units.
#ifndef BATCHVAR_SIM_PLAN_CUTLASS3_STREAMK_H_
#define BATCHVAR_SIM_PLAN_CUTLASS3_STREAMK_H_

#include <cstdint>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

struct Cutlass3Problem {
  int64_t m_tiles = 0;
  int64_t n_tiles = 0;
  int64_t k_tiles = 0;
  int32_t cluster_m = 1;
  int32_t cluster_n = 1;
  int32_t max_swizzle = 1;
  int32_t sm_count = 1;
  int32_t splits = 1;
  StreamKMode mode = StreamKMode::kHeuristic;
  int64_t cluster_size() const { return int64_t{cluster_m} * cluster_n; }
};

struct Cutlass3StreamK {
  Decomposition decomposition = Decomposition::kDataParallel;
  int64_t blocks_m = 0;  // tiles, padded to whole clusters
  int64_t blocks_n = 0;
  int64_t padded_m = 0;  // and to whole swizzles: what the scheduler walks
  int64_t padded_n = 0;
  int64_t k_tiles = 0;
  int64_t splits = 1;  // split-K
  int64_t sk_tiles = 0;
  int64_t sk_units = 0;
  int64_t groups = 1;
  // Units (of a cluster each in stream-K, of a split in split-K) with one K tile more, where all
  // groups are alike.
  int64_t big_units = 0;
  int64_t units = 0;  // split-K: of one split
  int64_t k_tiles_per_unit = 0;
  int64_t ctas_per_wave = 0;
  int32_t log_swizzle = 0;
  bool raster_along_m = false;
};

Cutlass3StreamK DecideCutlass3StreamK(const Cutlass3Problem& problem);

// CTAs that run at once: SMs, less those that clusters leave over.
int64_t Cutlass3CtasPerWave(const Cutlass3Problem& problem, bool raster_along_m);

// The line of one group in K tiles of one cluster: clusters of tiles, clusters of units, and the K
// tile at which a unit begins, moved so that no piece is shorter than 8 K tiles. Stream-K only.
struct Cutlass3Line {
  int64_t cluster_tiles = 0;
  int64_t cluster_units = 0;
  int64_t k_tiles = 0;                    // of a tile
  int64_t UnitBegin(int64_t unit) const;  // unit in [0, cluster_units], the last one the line's end
};
Cutlass3Line Cutlass3LineOf(const Cutlass3Problem& problem, const Cutlass3StreamK& decision,
                            int64_t group);

// The output tiles of the cluster with this raster index; it may lie partly or wholly outside of
// the output, where tiles are padding.
struct TileRectangle {
  Range m_tiles;
  Range n_tiles;
};
TileRectangle Cutlass3ClusterAt(const Cutlass3Problem& problem, const Cutlass3StreamK& decision,
                                int64_t cluster);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_CUTLASS3_STREAMK_H_
