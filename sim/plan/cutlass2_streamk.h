// Stream-K as CUTLASS 2.x's thread-block swizzle decides it (7107b055, 2026-08-20), in plain
// numbers: which output tiles are shared, by how many blocks, and where each block's K range lies.
// Words and orders: gemm_stream_k2.h. The goldens hold every number of Cutlass2StreamK.
//
// The shared tiles come first in raster order. Their K iterations, laid end to end, are one line,
// cut into equal regions, and each region into blocks; a region's first blocks are one iteration
// longer where the iterations do not divide.
#ifndef BATCHVAR_SIM_PLAN_CUTLASS2_STREAMK_H_
#define BATCHVAR_SIM_PLAN_CUTLASS2_STREAMK_H_

#include <cstdint>

namespace batchvar {

struct Cutlass2Problem {
  int64_t m_tiles = 0;
  int64_t n_tiles = 0;
  int64_t iters_per_tile = 0;  // K tiles
  int32_t splits = 1;          // > 1: every tile is shared by that many blocks
  int32_t occupancy = 1;       // blocks of the kernel that fit on one SM
  int32_t sm_count = 1;
  bool data_parallel = false;  // upstream: a load-balancing width of one SM
  int64_t tiles() const { return m_tiles * n_tiles; }
};

struct Cutlass2StreamK {
  int64_t dp_tiles = 0;  // one block each
  int64_t sk_tiles = 0;
  int64_t sk_blocks = 0;
  int64_t sk_waves = 0;
  int64_t regions = 0;  // one of all shared tiles, or one per tile: then it is split-K
  int64_t blocks_per_region = 0;
  int64_t big_blocks_per_region = 0;
  int64_t iters_per_region = 0;
  int64_t iters_per_normal_block = 0;
  int64_t reduction_blocks = 0;  // of a separate reduction wave; the order of the sum is the same
  bool cohort_raster = false;    // tiles are walked in cohorts of 8 x 4
};

Cutlass2StreamK DecideCutlass2StreamK(const Cutlass2Problem& problem);

// What sharing `sk_tiles` among `blocks` blocks saves against a block per tile, in iterations of
// one SM: the quantity that upstream maximises. Negative: it costs more than it saves.
int64_t Cutlass2Saving(int64_t sk_tiles, int64_t iters_per_tile, int64_t sm_count, int64_t blocks);

// The iteration of the line at which a block begins; `block` in [0, sk_blocks], the last one being
// the line's end.
int64_t Cutlass2BlockBegin(const Cutlass2StreamK& decision, int64_t block);

struct TileCoordinate {
  int64_t m = 0;
  int64_t n = 0;
};
// Where the tile with this raster index lies in the output.
TileCoordinate Cutlass2TileAt(const Cutlass2Problem& problem, const Cutlass2StreamK& decision,
                              int64_t tile);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_CUTLASS2_STREAMK_H_
