// Pieces of K and the merging of tiles that policies build their maps from.
#include "sim/plan/tile_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/base/rng.h"
#include "sim/plan/k_pieces.h"
#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

using testing::ElementsAre;

TEST(EqualPieces, LastOneIsShorter) {
  EXPECT_THAT(EqualPieces(10, 4), ElementsAre(Range{0, 4}, Range{4, 8}, Range{8, 10}));
  EXPECT_THAT(EqualPieces(4, 9), ElementsAre(Range{0, 4}));
}

TEST(BalancedPieces, FirstOnesAreLonger) {
  EXPECT_THAT(BalancedPieces(640, 64, 4),
              ElementsAre(Range{0, 192}, Range{192, 384}, Range{384, 512}, Range{512, 640}));
  EXPECT_THAT(BalancedPieces(100, 64, 2), ElementsAre(Range{0, 64}, Range{64, 100}));
  EXPECT_THAT(BalancedPieces(100, 64, 1), ElementsAre(Range{0, 100}));
}

TEST(PiecesOfLine, CutsTilesWhereUnitsEnd) {
  // Two tiles of 4 K tiles of 10; K = 35, so the last K tile is half full. One unit is empty.
  const auto tiles = PiecesOfLine({0, 3, 3, 6, 8}, 4, 10, 35);
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_THAT(tiles[0], ElementsAre(Range{0, 30}, Range{30, 35}));
  EXPECT_THAT(tiles[1], ElementsAre(Range{0, 20}, Range{20, 35}));
}

TEST(PiecesOfLine, MostPiecesAgreesWithThePieces) {
  RandomStream random(31, "test.line");
  for (int i = 0; i < 2000; ++i) {
    const int64_t k_tiles = static_cast<int64_t>(random.NextBelow(20)) + 1;
    const int64_t length = k_tiles * (static_cast<int64_t>(random.NextBelow(6)) + 1);
    std::vector<int64_t> edges = {0, length};
    for (uint64_t unit = random.NextBelow(15); unit > 0; --unit) {
      edges.push_back(static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(length) + 1)));
    }
    std::sort(edges.begin(), edges.end());
    size_t most = 0;
    for (const auto& pieces : PiecesOfLine(edges, k_tiles, 1, k_tiles)) {
      Order order;
      order.pieces = pieces;
      EXPECT_TRUE(CoversOnce(order, k_tiles));
      most = std::max(most, pieces.size());
    }
    const auto edge_at = [&edges](int64_t unit) { return edges[static_cast<size_t>(unit)]; };
    const int64_t units = static_cast<int64_t>(edges.size()) - 1;
    EXPECT_EQ(MostPiecesOfLine(units, k_tiles, edge_at), static_cast<int32_t>(most));
  }
}

Order OnePass(int64_t k) {
  Order order;
  order.pieces = {{0, k}};
  return order;
}

TEST(TileMapBuilder, MergesEqualNeighbours) {
  TileMapBuilder map(3, 4, OnePass(128));
  const std::vector<Range> halves = {{0, 64}, {64, 128}};
  for (int64_t m = 0; m < 2; ++m) {
    for (int64_t n = 1; n < 3; ++n) map.Set(m, n, halves, Combine::kTurnstile);
  }
  const std::vector<TileGroup> groups = map.Build();
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].m_tiles, (Range{0, 2}));
  EXPECT_EQ(groups[0].n_tiles, (Range{0, 1}));
  EXPECT_EQ(groups[0].order.combine, Combine::kNone);
  EXPECT_EQ(groups[1].n_tiles, (Range{1, 3}));
  EXPECT_EQ(groups[1].order.combine, Combine::kTurnstile);
  EXPECT_EQ(groups[1].order.pieces, halves);
  EXPECT_EQ(groups[3].m_tiles, (Range{2, 3}));
  EXPECT_EQ(groups[3].n_tiles, (Range{0, 4}));
}

TEST(TileMapBuilder, OnePieceIsTheRest) {
  TileMapBuilder map(2, 2, OnePass(128));
  map.Set(1, 1, {{0, 128}}, Combine::kTurnstile);
  EXPECT_EQ(map.Build().size(), 1u);
}

TEST(TileMapBuilder, RandomMapsKeepEveryTile) {
  RandomStream random(32, "test.map");
  for (int i = 0; i < 300; ++i) {
    const int64_t m_blocks = static_cast<int64_t>(random.NextBelow(9)) + 1;
    const int64_t n_blocks = static_cast<int64_t>(random.NextBelow(9)) + 1;
    GemmPlan plan;
    plan.shape = {m_blocks, n_blocks, 8};
    plan.decision.tile = {1, 1, 1};
    plan.decision.m_blocks = m_blocks;
    plan.decision.n_blocks = n_blocks;
    TileMapBuilder map(m_blocks, n_blocks, OnePass(8));
    std::vector<int64_t> cut(static_cast<size_t>(m_blocks * n_blocks), 0);
    for (size_t tile = 0; tile < cut.size(); ++tile) {
      cut[tile] = static_cast<int64_t>(random.NextBelow(3));
      if (cut[tile] == 0) continue;
      const int64_t m = static_cast<int64_t>(tile) / n_blocks;
      map.Set(m, static_cast<int64_t>(tile) % n_blocks, {{0, cut[tile]}, {cut[tile], 8}},
              Combine::kTurnstile);
    }
    plan.tiles = map.Build();
    EXPECT_TRUE(IsComplete(plan));
    for (const TileGroup& group : plan.tiles) {
      for (int64_t m = group.m_tiles.begin; m < group.m_tiles.end; ++m) {
        for (int64_t n = group.n_tiles.begin; n < group.n_tiles.end; ++n) {
          const int64_t wanted = cut[static_cast<size_t>(m * n_blocks + n)];
          EXPECT_EQ(group.order.pieces.front().end, wanted == 0 ? 8 : wanted);
        }
      }
    }
  }
}

}  // namespace
}  // namespace batchvar
