#include "sim/plan/cutlass3_streamk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/rng.h"

namespace batchvar {
namespace {

Cutlass3Problem Tiles(int64_t m_tiles, int64_t n_tiles, int64_t k_tiles, int32_t sm_count = 132) {
  Cutlass3Problem problem;
  problem.m_tiles = m_tiles;
  problem.n_tiles = n_tiles;
  problem.k_tiles = k_tiles;
  problem.sm_count = sm_count;
  return problem;
}

TEST(Cutlass3StreamK, OneSmCountSplitsAnotherStreams) {
  const Cutlass3StreamK stream = DecideCutlass3StreamK(Tiles(1, 32, 64, 132));
  EXPECT_EQ(stream.decomposition, Decomposition::kStreamK);
  EXPECT_EQ(stream.sk_units, 132);
  EXPECT_EQ(stream.k_tiles_per_unit, 15);
  EXPECT_EQ(stream.big_units, 68);
  const Cutlass3StreamK split = DecideCutlass3StreamK(Tiles(1, 32, 64, 128));
  EXPECT_EQ(split.decomposition, Decomposition::kSplitK);
  EXPECT_EQ(split.splits, 4);
  EXPECT_EQ(split.k_tiles_per_unit, 16);
}

TEST(Cutlass3StreamK, TailOfHalfAWaveStaysDataParallel) {
  EXPECT_EQ(DecideCutlass3StreamK(Tiles(1, 132 + 66, 64)).decomposition,
            Decomposition::kDataParallel);
  EXPECT_EQ(DecideCutlass3StreamK(Tiles(1, 132 + 65, 64)).decomposition, Decomposition::kStreamK);
  Cutlass3Problem forced = Tiles(1, 132 + 66, 64);
  forced.mode = StreamKMode::kStreamK;
  EXPECT_EQ(DecideCutlass3StreamK(forced).decomposition, Decomposition::kStreamK);
  forced.mode = StreamKMode::kDataParallel;
  EXPECT_EQ(DecideCutlass3StreamK(forced).decomposition, Decomposition::kDataParallel);
}

TEST(Cutlass3StreamK, FullWavesAndShortSumsAreNotShared) {
  EXPECT_EQ(DecideCutlass3StreamK(Tiles(1, 1188, 64)).units, 1188);
  EXPECT_EQ(DecideCutlass3StreamK(Tiles(1, 32, 8)).decomposition, Decomposition::kDataParallel);
  EXPECT_NE(DecideCutlass3StreamK(Tiles(1, 32, 9)).decomposition, Decomposition::kDataParallel);
}

TEST(Cutlass3StreamK, LastFullWaveIsSharedWithThePartialOne) {
  const Cutlass3StreamK decision = DecideCutlass3StreamK(Tiles(9, 32, 64));  // 2 x 132 + 24
  EXPECT_EQ(decision.sk_tiles, 132 + 24);
  EXPECT_EQ(decision.units, 132 + 132);
  EXPECT_EQ(decision.groups, 6);  // the most of up to 8 that divides 132 units and 156 tiles
}

TEST(Cutlass3StreamK, SplitsAreLimitedBySmsAndKTiles) {
  Cutlass3Problem problem = Tiles(1, 4, 64, 20);
  problem.splits = 100;
  EXPECT_EQ(DecideCutlass3StreamK(problem).splits, 20);
  problem.k_tiles = 7;
  EXPECT_EQ(DecideCutlass3StreamK(problem).splits, 7);
  problem.splits = 4;
  const Cutlass3StreamK uneven = DecideCutlass3StreamK(problem);
  EXPECT_EQ(uneven.k_tiles_per_unit, 1);
  EXPECT_EQ(uneven.big_units, 3);
}

TEST(Cutlass3CtasPerWave, ClustersLeaveSmsOver) {
  Cutlass3Problem problem = Tiles(8, 8, 8);
  EXPECT_EQ(Cutlass3CtasPerWave(problem, true), 132);
  problem.cluster_m = 2;
  EXPECT_EQ(Cutlass3CtasPerWave(problem, true), 132);  // 7 GPCs of 18 and 6 more
  problem.cluster_n = 2;
  EXPECT_EQ(Cutlass3CtasPerWave(problem, true), 7 * 16 + 4);
  problem.sm_count = 114;
  EXPECT_EQ(Cutlass3CtasPerWave(problem, false), 6 * 16 + 4);
  problem.sm_count = 10;
  EXPECT_EQ(Cutlass3CtasPerWave(problem, true), 10);
}

Cutlass3Problem RandomProblem(RandomStream* random) {
  const auto pick = [random](uint64_t below) {
    return static_cast<int64_t>(random->NextBelow(below)) + 1;
  };
  Cutlass3Problem problem = Tiles(pick(24), pick(60), pick(120), static_cast<int32_t>(pick(150)));
  problem.cluster_m = int32_t{1} << random->NextBelow(2);
  problem.cluster_n = int32_t{1} << random->NextBelow(2);
  problem.sm_count = std::max(problem.sm_count, problem.cluster_m * problem.cluster_n);
  problem.max_swizzle = int32_t{1} << random->NextBelow(4);
  problem.mode = random->NextBelow(3) == 0 ? StreamKMode::kStreamK : StreamKMode::kHeuristic;
  return problem;
}

// Upstream moves both ends of a unit by rules of their own: a unit takes over a start that is less
// than 8 K tiles into a tile, and sheds one that is less than 8 before its end; ends the other way
// round. Written from that description, apart from Cutlass3Line.
std::pair<int64_t, int64_t> UnitByItself(const Cutlass3Line& line, int64_t unit) {
  const int64_t length = line.cluster_tiles * line.k_tiles;
  const int64_t per_unit = length / line.cluster_units;
  const int64_t big = length - per_unit * line.cluster_units;
  int64_t begin = per_unit * unit + (unit < big ? unit : big);
  int64_t count = per_unit + (unit < big ? 1 : 0);
  const int64_t inside = begin % line.k_tiles;
  if (inside < 8) {
    begin -= inside;
    count += inside;
  } else if (inside > line.k_tiles - 8) {
    begin += line.k_tiles - inside;
    count -= line.k_tiles - inside;
  }
  const int64_t end = (begin + count) % line.k_tiles;
  if (end < 8) {
    count -= end;
  } else if (end > line.k_tiles - 8) {
    count += line.k_tiles - end;
  }
  return {begin, begin + count};
}

TEST(Cutlass3StreamK, UnitsCoverTheirLineInPiecesOfEight) {
  RandomStream random(21, "test.cutlass3");
  int streamed = 0;
  for (int i = 0; i < 3000; ++i) {
    const Cutlass3Problem problem = RandomProblem(&random);
    const Cutlass3StreamK decision = DecideCutlass3StreamK(problem);
    if (decision.decomposition != Decomposition::kStreamK) continue;
    ++streamed;
    int64_t clusters = 0;
    for (int64_t group = 0; group < decision.groups; ++group) {
      const Cutlass3Line line = Cutlass3LineOf(problem, decision, group);
      clusters += line.cluster_tiles;
      EXPECT_EQ(line.UnitBegin(0), 0);
      EXPECT_EQ(line.UnitBegin(line.cluster_units), line.cluster_tiles * line.k_tiles);
      for (int64_t unit = 0; unit < line.cluster_units; ++unit) {
        const auto [begin, end] = UnitByItself(line, unit);
        EXPECT_EQ(line.UnitBegin(unit), begin);
        EXPECT_EQ(line.UnitBegin(unit + 1), end);
        EXPECT_LE(begin, end);
        if (begin % line.k_tiles != 0) {
          EXPECT_GE(std::min(end - begin, begin % line.k_tiles), 8);
        }
      }
    }
    EXPECT_EQ(clusters * problem.cluster_size(), decision.sk_tiles);
  }
  EXPECT_GT(streamed, 500);
}

TEST(Cutlass3StreamK, RasterVisitsEveryClusterOnce) {
  RandomStream random(22, "test.cutlass3");
  for (int i = 0; i < 500; ++i) {
    const Cutlass3Problem problem = RandomProblem(&random);
    const Cutlass3StreamK decision = DecideCutlass3StreamK(problem);
    const int64_t clusters = decision.padded_m * decision.padded_n / problem.cluster_size();
    std::set<std::pair<int64_t, int64_t>> places;
    for (int64_t cluster = 0; cluster < clusters; ++cluster) {
      const TileRectangle at = Cutlass3ClusterAt(problem, decision, cluster);
      EXPECT_TRUE(places.emplace(at.m_tiles.begin, at.n_tiles.begin).second);
      EXPECT_LE(at.m_tiles.end, decision.padded_m);
      EXPECT_LE(at.n_tiles.end, decision.padded_n);
      EXPECT_EQ((at.m_tiles.end - at.m_tiles.begin) * (at.n_tiles.end - at.n_tiles.begin),
                problem.cluster_size());
    }
  }
}

TEST(Cutlass3StreamK, RasterWalksAlongTheShorterSide) {
  const Cutlass3Problem wide = Tiles(2, 8, 64);
  const Cutlass3StreamK decision = DecideCutlass3StreamK(wide);
  EXPECT_TRUE(decision.raster_along_m);
  EXPECT_EQ(Cutlass3ClusterAt(wide, decision, 1).m_tiles.begin, 1);
  EXPECT_EQ(Cutlass3ClusterAt(wide, decision, 2).n_tiles.begin, 1);
  const Cutlass3Problem tall = Tiles(8, 2, 64);
  EXPECT_EQ(Cutlass3ClusterAt(tall, DecideCutlass3StreamK(tall), 1).n_tiles.begin, 1);
  // A swizzle of 2 walks two columns at once, and pads an odd one.
  Cutlass3Problem swizzled = Tiles(2, 7, 64);
  swizzled.max_swizzle = 2;
  const Cutlass3StreamK padded = DecideCutlass3StreamK(swizzled);
  EXPECT_EQ(padded.padded_n, 8);
  EXPECT_EQ(Cutlass3ClusterAt(swizzled, padded, 1).n_tiles.begin, 1);
  EXPECT_EQ(Cutlass3ClusterAt(swizzled, padded, 2).m_tiles.begin, 1);
}

}  // namespace
}  // namespace batchvar
