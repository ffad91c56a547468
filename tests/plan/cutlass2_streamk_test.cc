#include "sim/plan/cutlass2_streamk.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "sim/base/rng.h"
#include "sim/plan/k_pieces.h"

namespace batchvar {
namespace {

// N = K = 4096 with tiles of 16 x 128 x 64: 32 columns of tiles, 64 K tiles.
Cutlass2Problem Worked(int64_t m, int32_t sm_count = 132) {
  Cutlass2Problem problem;
  problem.m_tiles = (m + 15) / 16;
  problem.n_tiles = 32;
  problem.iters_per_tile = 64;
  problem.sm_count = sm_count;
  return problem;
}

TEST(Cutlass2StreamK, WorkedRowsOfTheReference) {
  for (const int64_t m : {1, 7, 16}) {
    const Cutlass2StreamK one = DecideCutlass2StreamK(Worked(m));
    EXPECT_EQ(one.regions, 32) << m;
    EXPECT_EQ(one.blocks_per_region, 4);
    EXPECT_EQ(one.iters_per_normal_block, 16);
    EXPECT_EQ(one.big_blocks_per_region, 0);
  }
  for (const int64_t m : {17, 32}) {
    const Cutlass2StreamK two = DecideCutlass2StreamK(Worked(m));
    EXPECT_EQ(two.regions, 64) << m;
    EXPECT_EQ(two.blocks_per_region, 2);
  }
  const Cutlass2StreamK uneven = DecideCutlass2StreamK(Worked(33));
  EXPECT_EQ(uneven.regions, 1);
  EXPECT_EQ(uneven.sk_tiles, 96);
  EXPECT_EQ(uneven.sk_blocks, 132);
  for (const int64_t m : {49, 64}) {
    const Cutlass2StreamK none = DecideCutlass2StreamK(Worked(m));
    EXPECT_EQ(none.sk_blocks, 0) << m;
    EXPECT_EQ(none.dp_tiles, 128);
  }
}

TEST(Cutlass2StreamK, AFullWaveIsNeverShared) {
  Cutlass2Problem problem = Worked(1, 32);
  EXPECT_EQ(DecideCutlass2StreamK(problem).sk_tiles, 0);
  problem.n_tiles = 64;
  EXPECT_EQ(DecideCutlass2StreamK(problem).sk_tiles, 0);
}

TEST(Cutlass2StreamK, SplitsOverrideAndDataParallelForbids) {
  Cutlass2Problem problem = Worked(64);
  problem.splits = 3;
  const Cutlass2StreamK split = DecideCutlass2StreamK(problem);
  EXPECT_EQ(split.dp_tiles, 0);
  EXPECT_EQ(split.regions, 128);
  EXPECT_EQ(split.blocks_per_region, 3);
  EXPECT_EQ(split.big_blocks_per_region, 1);  // 64 = 22 + 21 + 21
  EXPECT_EQ(split.iters_per_normal_block, 21);
  problem = Worked(1);
  problem.data_parallel = true;
  EXPECT_EQ(DecideCutlass2StreamK(problem).sk_blocks, 0);
  // More splits than K tiles: a block per K tile.
  problem = Worked(1);
  problem.iters_per_tile = 3;
  problem.splits = 8;
  EXPECT_EQ(DecideCutlass2StreamK(problem).blocks_per_region, 3);
}

TEST(Cutlass2StreamK, OccupancyLeavesRoomForTheLastWave) {
  // 160 tiles on 132 SMs: with two blocks an SM the 28 tiles of the second wave are shared; with
  // one, the whole last full wave would have to be shared too.
  Cutlass2Problem problem = Worked(80);
  problem.occupancy = 2;
  const Cutlass2StreamK two = DecideCutlass2StreamK(problem);
  EXPECT_EQ(two.dp_tiles, 132);
  EXPECT_EQ(two.sk_tiles, 28);
  EXPECT_EQ(two.regions, 28);
  EXPECT_EQ(two.reduction_blocks, 4 * 28);
  problem.occupancy = 1;
  const Cutlass2StreamK one = DecideCutlass2StreamK(problem);
  EXPECT_EQ(one.sk_tiles, 160);
  EXPECT_EQ(one.reduction_blocks, 0);
}

TEST(Cutlass2Saving, WorkedByHand) {
  // 128 blocks for 32 tiles of 64: 16 iterations instead of 64, aligned, 4 peers, one wave:
  // 64 - 16 - (2 + 2 * 4).
  EXPECT_EQ(Cutlass2Saving(32, 64, 132, 128), 38);
  // 132 blocks straddle: ceil(2048 / 132) = 16, 6 peers: int(2 + 0.02 * 6 * 16 + 12) = 15.
  EXPECT_EQ(Cutlass2Saving(32, 64, 132, 132), 33);
  EXPECT_LT(Cutlass2Saving(128, 64, 132, 132), 0);
}

Cutlass2Problem RandomProblem(RandomStream* random) {
  const auto pick = [random](uint64_t below) {
    return static_cast<int64_t>(random->NextBelow(below)) + 1;
  };
  Cutlass2Problem problem;
  problem.m_tiles = pick(40);
  problem.n_tiles = pick(60);
  problem.iters_per_tile = pick(300);
  problem.sm_count = static_cast<int32_t>(pick(160));
  problem.occupancy = static_cast<int32_t>(pick(3));
  problem.splits = random->NextBelow(4) == 0 ? static_cast<int32_t>(pick(9)) : 1;
  return problem;
}

TEST(Cutlass2StreamK, BlocksCutTheLineWithoutGapsAndDifferByOne) {
  RandomStream random(11, "test.cutlass2");
  for (int i = 0; i < 3000; ++i) {
    const Cutlass2Problem problem = RandomProblem(&random);
    const Cutlass2StreamK decision = DecideCutlass2StreamK(problem);
    EXPECT_EQ(decision.dp_tiles + decision.sk_tiles, problem.tiles());
    if (decision.sk_blocks == 0) continue;
    EXPECT_EQ(decision.regions * decision.blocks_per_region, decision.sk_blocks);
    EXPECT_EQ(Cutlass2BlockBegin(decision, 0), 0);
    EXPECT_EQ(Cutlass2BlockBegin(decision, decision.sk_blocks),
              decision.sk_tiles * problem.iters_per_tile);
    for (int64_t block = 0; block < decision.sk_blocks; ++block) {
      const int64_t length =
          Cutlass2BlockBegin(decision, block + 1) - Cutlass2BlockBegin(decision, block);
      const bool big = block % decision.blocks_per_region < decision.big_blocks_per_region;
      EXPECT_EQ(length, decision.iters_per_normal_block + (big ? 1 : 0));
    }
  }
}

TEST(Cutlass2StreamK, EveryTileHasAPlaceOfItsOwn) {
  RandomStream random(12, "test.cutlass2");
  int cohorts = 0;
  for (int i = 0; i < 800; ++i) {
    Cutlass2Problem problem = RandomProblem(&random);
    problem.sm_count = static_cast<int32_t>(random.NextBelow(60)) + 2;
    const Cutlass2StreamK decision = DecideCutlass2StreamK(problem);
    cohorts += decision.cohort_raster ? 1 : 0;
    // In cohorts, indices run over padded cohorts; the shared tiles lie inside all the same.
    const int64_t indices = decision.cohort_raster ? decision.sk_tiles : problem.tiles();
    std::set<std::pair<int64_t, int64_t>> places;
    for (int64_t tile = 0; tile < indices; ++tile) {
      const TileCoordinate at = Cutlass2TileAt(problem, decision, tile);
      EXPECT_TRUE(at.m >= 0 && at.m < problem.m_tiles && at.n >= 0 && at.n < problem.n_tiles);
      EXPECT_TRUE(places.emplace(at.m, at.n).second);
    }
  }
  EXPECT_GT(cohorts, 20);
}

TEST(Cutlass2StreamK, RasterRunsAlongTheShorterSide) {
  Cutlass2Problem problem;
  problem.m_tiles = 2;
  problem.n_tiles = 3;
  const Cutlass2StreamK plain;
  EXPECT_EQ(Cutlass2TileAt(problem, plain, 1).m, 1);
  EXPECT_EQ(Cutlass2TileAt(problem, plain, 2).n, 1);
  std::swap(problem.m_tiles, problem.n_tiles);
  EXPECT_EQ(Cutlass2TileAt(problem, plain, 1).n, 1);
  EXPECT_EQ(Cutlass2TileAt(problem, plain, 2).m, 1);
  Cutlass2StreamK cohorts;
  cohorts.cohort_raster = true;
  problem.m_tiles = problem.n_tiles = 16;
  EXPECT_EQ(Cutlass2TileAt(problem, cohorts, 5).m, 1);   // 4 columns to a row of a cohort
  EXPECT_EQ(Cutlass2TileAt(problem, cohorts, 32).n, 4);  // the next cohort, to the right
  EXPECT_EQ(Cutlass2TileAt(problem, cohorts, 128).m, 8);
}

}  // namespace
}  // namespace batchvar
