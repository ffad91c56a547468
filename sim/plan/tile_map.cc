#include "sim/plan/tile_map.h"

#include <utility>

#include "sim/base/check.h"

namespace batchvar {
namespace {

std::vector<int64_t> EdgesOf(const std::vector<Range>& pieces) {
  std::vector<int64_t> edges;
  edges.reserve(pieces.size() + 1);
  edges.push_back(pieces.front().begin);
  for (const Range& piece : pieces) edges.push_back(piece.end);
  return edges;
}

}  // namespace

TileMapBuilder::TileMapBuilder(int64_t m_blocks, int64_t n_blocks, Order rest)
    : m_blocks_(m_blocks),
      n_blocks_(n_blocks),
      order_of_tile_(static_cast<size_t>(m_blocks * n_blocks), 0) {
  number_of_[EdgesOf(rest.pieces)] = 0;
  orders_.push_back(std::move(rest));
}

void TileMapBuilder::Set(int64_t m_tile, int64_t n_tile, const std::vector<Range>& pieces,
                         Combine combine) {
  BV_CHECK(m_tile >= 0 && m_tile < m_blocks_ && n_tile >= 0 && n_tile < n_blocks_);
  const auto [found, added] =
      number_of_.emplace(EdgesOf(pieces), static_cast<int32_t>(orders_.size()));
  if (added) {
    Order order = orders_.front();
    order.pieces = pieces;
    order.combine = pieces.size() > 1 ? combine : Combine::kNone;
    orders_.push_back(std::move(order));
  }
  order_of_tile_[static_cast<size_t>(m_tile * n_blocks_ + n_tile)] = found->second;
}

std::vector<TileMapBuilder::Run> TileMapBuilder::RunsOfRow(int64_t m_tile) const {
  std::vector<Run> runs;
  for (int64_t n = 0; n < n_blocks_; ++n) {
    const int32_t order = order_of_tile_[static_cast<size_t>(m_tile * n_blocks_ + n)];
    if (!runs.empty() && runs.back().order == order) {
      runs.back().n_tiles.end = n + 1;
    } else {
      runs.push_back({{n, n + 1}, order});
    }
  }
  return runs;
}

std::vector<TileGroup> TileMapBuilder::Build() const {
  std::vector<TileGroup> groups;
  std::vector<Run> above;
  std::vector<size_t> group_above;  // of each run of the row above
  for (int64_t m = 0; m < m_blocks_; ++m) {
    std::vector<Run> runs = RunsOfRow(m);
    std::vector<size_t> group_of;
    size_t i = 0;
    for (const Run& run : runs) {
      while (i < above.size() && above[i].n_tiles.begin < run.n_tiles.begin) ++i;
      if (i < above.size() && above[i] == run) {
        groups[group_above[i]].m_tiles.end = m + 1;
        group_of.push_back(group_above[i]);
      } else {
        group_of.push_back(groups.size());
        groups.push_back({{m, m + 1}, run.n_tiles, orders_[static_cast<size_t>(run.order)]});
      }
    }
    above = std::move(runs);
    group_above = std::move(group_of);
  }
  return groups;
}

}  // namespace batchvar
