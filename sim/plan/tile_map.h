// From "tile (m, n) has order number i" to the few rectangles of equal orders that a plan lists.
// For GEMM policies that cut K differently from tile to tile.
#ifndef BATCHVAR_SIM_PLAN_TILE_MAP_H_
#define BATCHVAR_SIM_PLAN_TILE_MAP_H_

#include <cstdint>
#include <map>
#include <vector>

#include "sim/plan/plan.h"

namespace batchvar {

class TileMapBuilder {
 public:
  // Every tile has the order of `rest` until Set() says otherwise.
  TileMapBuilder(int64_t m_blocks, int64_t n_blocks, Order rest);

  // The tile's K is cut into `pieces`: the order of `rest` with these, combined by `combine` when
  // there are several.
  void Set(int64_t m_tile, int64_t n_tile, const std::vector<Range>& pieces, Combine combine);

  // Neighbours with equal orders merged: along a row of tiles, then rows below each other.
  std::vector<TileGroup> Build() const;

 private:
  struct Run {
    Range n_tiles;
    int32_t order = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };
  std::vector<Run> RunsOfRow(int64_t m_tile) const;

  int64_t m_blocks_;
  int64_t n_blocks_;
  std::vector<Order> orders_;
  std::map<std::vector<int64_t>, int32_t> number_of_;  // by the edges of the pieces
  std::vector<int32_t> order_of_tile_;                 // row by row
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_TILE_MAP_H_
