// Cuts of K: the pieces whose partial sums are combined, in ascending order. For GEMM policies.
#ifndef BATCHVAR_SIM_PLAN_K_PIECES_H_
#define BATCHVAR_SIM_PLAN_K_PIECES_H_

#include <cstdint>
#include <vector>

#include "sim/numerics/order.h"

namespace batchvar {

// [0, k) in pieces of `k_per_piece`, the last one shorter.
std::vector<Range> EqualPieces(int64_t k, int64_t k_per_piece);

// [0, k) in `pieces` <= ceil(k / tile_k) pieces of whole K tiles: the first ones have one tile more
// where the tiles do not divide. The last tile may be short.
std::vector<Range> BalancedPieces(int64_t k, int32_t tile_k, int64_t pieces);

// Stream-K lays the K tiles of several output tiles end to end, `k_tiles` of each, and cuts that
// line at `edges`: ascending, from 0 to the line's end. Equal neighbours are a unit without work.
// Returns the pieces of each tile in order.
std::vector<std::vector<Range>> PiecesOfLine(const std::vector<int64_t>& edges, int64_t k_tiles,
                                             int32_t tile_k, int64_t k);

// The most pieces that a tile of such a line has, without building it. edge_at(u) for u in
// [0, units] gives the edges.
template <typename EdgeAt>
int32_t MostPiecesOfLine(int64_t units, int64_t k_tiles, const EdgeAt& edge_at) {
  int64_t tile = -1;  // the tile in which the last unit ended
  int32_t here = 0;   // pieces of that tile so far
  int32_t most = 1;
  int64_t begin = edge_at(0);
  for (int64_t unit = 0; unit < units; ++unit) {
    const int64_t end = edge_at(unit + 1);
    if (end == begin) continue;
    here = begin / k_tiles == tile ? here + 1 : 1;
    if (here > most) most = here;
    const int64_t last = (end - 1) / k_tiles;
    if (last != begin / k_tiles) here = 1;
    tile = last;
    begin = end;
  }
  return most;
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_K_PIECES_H_
