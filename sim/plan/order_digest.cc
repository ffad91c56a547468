#include "sim/plan/order_digest.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr std::string_view kForm = "batchvar.class.1";
constexpr uint8_t kUniform = 'u';
constexpr uint8_t kMap = 'm';
constexpr uint8_t kSliced =
    128;                         // added to the combine byte: slice_k and instr_k follow the pieces
constexpr uint8_t kWalked = 64;  // added to the combine byte of an order with a longer form

// A stretch of columns with one order.
struct Strip {
  Range columns;
  const Order* order = nullptr;
  bool SameAs(const Strip& other) const {
    return columns == other.columns && *order == *other.order;
  }
};

// A stretch of rows that all see the same strips.
struct Band {
  Range rows;
  std::vector<Strip> strips;  // ascending
};

void AddOrder(const Order& order, Sha256* sha) {
  const bool sliced = order.slice_k > 1 || order.instr_k != 0;
  const bool walked = order.descending || order.combine_lanes > 0;
  const int longer = (sliced ? kSliced : 0) + (walked ? kWalked : 0);
  sha->UpdateU8(static_cast<uint8_t>(order.arithmetic))
      .UpdateU8(static_cast<uint8_t>(static_cast<int>(order.combine) + longer))
      .UpdateU8(static_cast<uint8_t>(order.partial))
      .UpdateU8(static_cast<uint8_t>(order.output))
      .UpdateI64(order.block)
      .UpdateI64(static_cast<int64_t>(order.pieces.size()));
  for (const Range& piece : order.pieces) sha->UpdateI64(piece.begin).UpdateI64(piece.end);
  if (sliced) sha->UpdateI64(order.slice_k).UpdateI64(order.instr_k);
  if (walked) sha->UpdateU8(order.descending ? 1 : 0).UpdateI64(order.combine_lanes);
}

// The strips of one tile row, in tiles, neighbours with equal orders not yet merged.
std::vector<Strip> StripsAt(const std::vector<TileGroup>& groups, int64_t m_tile) {
  std::vector<Strip> strips;
  for (const TileGroup& group : groups) {
    if (group.m_tiles.begin <= m_tile && m_tile < group.m_tiles.end) {
      strips.push_back({group.n_tiles, &group.order});
    }
  }
  std::sort(strips.begin(), strips.end(),
            [](const Strip& a, const Strip& b) { return a.columns.begin < b.columns.begin; });
  return strips;
}

// Ascending rows at which the strips can change.
std::vector<int64_t> RowEdges(const std::vector<TileGroup>& groups) {
  std::vector<int64_t> edges;
  for (const TileGroup& group : groups) {
    edges.push_back(group.m_tiles.begin);
    edges.push_back(group.m_tiles.end);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

// Tiles to elements, neighbours with equal orders merged.
std::vector<Strip> MergedStrips(const std::vector<Strip>& strips, int64_t tile_n, int64_t n) {
  std::vector<Strip> merged;
  for (const Strip& strip : strips) {
    const Range columns = {strip.columns.begin * tile_n, std::min(strip.columns.end * tile_n, n)};
    if (!merged.empty() && *merged.back().order == *strip.order) {
      merged.back().columns.end = columns.end;
    } else {
      merged.push_back({columns, strip.order});
    }
  }
  return merged;
}

std::vector<Strip> MergedStripsOfRow(const GemmPlan& plan, int64_t row) {
  BV_CHECK(row >= 0 && row < plan.shape.m);
  const Tile& tile = plan.decision.tile;
  std::vector<Strip> strips =
      MergedStrips(StripsAt(plan.tiles, row / tile.m), tile.n, plan.shape.n);
  BV_CHECK(!strips.empty());
  return strips;
}

bool SameStrips(const std::vector<Strip>& a, const std::vector<Strip>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Strip& x, const Strip& y) { return x.SameAs(y); });
}

// The map from elements to orders in the one form that does not depend on tiles or on how a policy
// grouped them: the fewest bands, each with the fewest strips.
std::vector<Band> BandsOf(const GemmPlan& plan) {
  const Tile& tile = plan.decision.tile;
  const std::vector<int64_t> edges = RowEdges(plan.tiles);
  std::vector<Band> bands;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    const Range rows = {edges[i] * tile.m, std::min(edges[i + 1] * tile.m, plan.shape.m)};
    std::vector<Strip> strips = MergedStrips(StripsAt(plan.tiles, edges[i]), tile.n, plan.shape.n);
    if (!bands.empty() && SameStrips(bands.back().strips, strips)) {
      bands.back().rows.end = rows.end;
    } else {
      bands.push_back({rows, std::move(strips)});
    }
  }
  return bands;
}

Digest DigestOfBands(const std::vector<Band>& bands) {
  Sha256 sha;
  sha.Update(kForm).UpdateU8(kMap);
  int64_t groups = 0;
  for (const Band& band : bands) groups += static_cast<int64_t>(band.strips.size());
  sha.UpdateI64(groups);
  for (const Band& band : bands) {
    for (const Strip& strip : band.strips) {
      sha.UpdateI64(band.rows.begin).UpdateI64(band.rows.end);
      sha.UpdateI64(strip.columns.begin).UpdateI64(strip.columns.end);
      AddOrder(*strip.order, &sha);
    }
  }
  return sha.FinishDigest();
}

}  // namespace

Digest ClassOfOrder(const Order& order) {
  Sha256 sha;
  sha.Update(kForm).UpdateU8(kUniform);
  AddOrder(order, &sha);
  return sha.FinishDigest();
}

Digest ClassOfPlan(const GemmPlan& plan) {
  BV_CHECK(!plan.tiles.empty());
  const Order& first = plan.tiles.front().order;
  const bool uniform =
      std::all_of(plan.tiles.begin(), plan.tiles.end(),
                  [&first](const TileGroup& group) { return group.order == first; });
  return uniform ? ClassOfOrder(first) : DigestOfBands(BandsOf(plan));
}

Digest ClassOfRow(const GemmPlan& plan, int64_t row) {
  std::vector<Strip> strips = MergedStripsOfRow(plan, row);
  if (strips.size() == 1) return ClassOfOrder(*strips.front().order);
  return DigestOfBands({{{0, 1}, std::move(strips)}});
}

std::vector<OrderStrip> StripsOfRow(const GemmPlan& plan, int64_t row) {
  std::vector<OrderStrip> strips;
  for (const Strip& strip : MergedStripsOfRow(plan, row)) {
    strips.push_back({strip.columns, *strip.order});
  }
  return strips;
}

Digest ClassOfStrips(const std::vector<OrderStrip>& strips) {
  BV_CHECK(!strips.empty());
  std::vector<Strip> merged;
  for (const OrderStrip& strip : strips) {
    if (!merged.empty() && *merged.back().order == strip.order) {
      merged.back().columns.end = strip.columns.end;
    } else {
      merged.push_back({strip.columns, &strip.order});
    }
  }
  if (merged.size() == 1) return ClassOfOrder(*merged.front().order);
  return DigestOfBands({{{0, 1}, std::move(merged)}});
}

bool CoversOnce(const Order& order, int64_t extent) {
  std::vector<Range> pieces = order.pieces;
  std::sort(pieces.begin(), pieces.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t covered = 0;
  for (const Range& piece : pieces) {
    if (piece.begin != covered || piece.end <= piece.begin) return false;
    covered = piece.end;
  }
  return covered == extent;
}

bool IsComplete(const GemmPlan& plan) {
  for (const TileGroup& group : plan.tiles) {
    const bool inside = group.m_tiles.begin >= 0 && group.m_tiles.end <= plan.decision.m_blocks;
    if (!inside || group.m_tiles.begin >= group.m_tiles.end) return false;
    if (!CoversOnce(group.order, plan.shape.k)) return false;
  }
  const std::vector<int64_t> edges = RowEdges(plan.tiles);
  if (edges.empty() || edges.front() != 0 || edges.back() != plan.decision.m_blocks) return false;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    int64_t covered = 0;
    for (const Strip& strip : StripsAt(plan.tiles, edges[i])) {
      if (strip.columns.begin != covered || strip.columns.end <= covered) return false;
      covered = strip.columns.end;
    }
    if (covered != plan.decision.n_blocks) return false;
  }
  return true;
}

}  // namespace batchvar
