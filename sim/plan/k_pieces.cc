#include "sim/plan/k_pieces.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {

std::vector<Range> EqualPieces(int64_t k, int64_t k_per_piece) {
  std::vector<Range> pieces;
  pieces.reserve(static_cast<size_t>(CeilDiv(k, k_per_piece)));
  for (int64_t begin = 0; begin < k; begin += k_per_piece) {
    pieces.push_back({begin, std::min(begin + k_per_piece, k)});
  }
  return pieces;
}

std::vector<Range> BalancedPieces(int64_t k, int32_t tile_k, int64_t pieces) {
  const int64_t k_tiles = CeilDiv(k, tile_k);
  BV_CHECK(pieces >= 1 && pieces <= k_tiles);
  const int64_t longer = k_tiles % pieces;
  std::vector<Range> cut;
  cut.reserve(static_cast<size_t>(pieces));
  int64_t begin = 0;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t tiles = k_tiles / pieces + (piece < longer ? 1 : 0);
    const int64_t end = std::min(begin + tiles * tile_k, k);
    cut.push_back({begin, end});
    begin = end;
  }
  return cut;
}

std::vector<std::vector<Range>> PiecesOfLine(const std::vector<int64_t>& edges, int64_t k_tiles,
                                             int32_t tile_k, int64_t k) {
  BV_CHECK(!edges.empty() && edges.front() == 0 && edges.back() % k_tiles == 0);
  std::vector<std::vector<Range>> tiles(static_cast<size_t>(edges.back() / k_tiles));
  for (size_t unit = 0; unit + 1 < edges.size(); ++unit) {
    BV_CHECK(edges[unit] <= edges[unit + 1]);
    for (int64_t at = edges[unit]; at < edges[unit + 1];) {
      const int64_t tile = at / k_tiles;
      const int64_t end = std::min(edges[unit + 1], (tile + 1) * k_tiles);
      tiles[static_cast<size_t>(tile)].push_back(
          {(at - tile * k_tiles) * tile_k, std::min((end - tile * k_tiles) * tile_k, k)});
      at = end;
    }
  }
  return tiles;
}

}  // namespace batchvar
