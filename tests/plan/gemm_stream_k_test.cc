// The policy stream_k on top of both generations' decisions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/base/rng.h"
#include "sim/base/time.h"
#include "sim/plan/cutlass2_streamk.h"
#include "sim/plan/cutlass3_streamk.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

GemmPolicySpec Spec(int32_t generation, int32_t tile_m = 0) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kStreamK);
  spec.generation = generation;
  spec.tile_m = tile_m;
  return spec;
}

GemmPlan PlanOf(const GemmPolicySpec& spec, int64_t m, int32_t sm_count = 132, int64_t n = 4096,
                int64_t k = 4096) {
  return MakeGemmPolicy(spec)->PlanWithWords({m, n, k}, Device(sm_count));
}

// The pieces of one output tile.
const std::vector<Range>& PiecesAt(const GemmPlan& plan, int64_t m, int64_t n) {
  for (const TileGroup& group : plan.tiles) {
    if (group.m_tiles.begin <= m && m < group.m_tiles.end && group.n_tiles.begin <= n &&
        n < group.n_tiles.end) {
      return group.order.pieces;
    }
  }
  ADD_FAILURE() << "no tile " << m << ", " << n;
  return plan.tiles.front().order.pieces;
}

TEST(GemmStreamK3, SmCountDecidesBetweenStreamAndSplit) {
  const GemmPlan stream = PlanOf(Spec(3), 1, 132);
  EXPECT_EQ(stream.decision.decomposition, Decomposition::kStreamK);
  EXPECT_EQ(stream.decision.sk_units, 132);
  EXPECT_EQ(stream.decision.sk_tiles, 32);
  EXPECT_EQ(stream.decision.ctas, 132);
  EXPECT_EQ(stream.decision.combine, Combine::kTurnstile);
  EXPECT_GT(stream.tiles.size(), 1u);
  EXPECT_THAT(stream.explain, Contains("132 units are not a multiple of 32 tiles: no split-K, so "
                                       "units cross from tile to tile"));
  EXPECT_THAT(stream.explain,
              Contains("stream-K: 132 units of 15 or 16 K tiles walk over 32 tiles of 64"));
  EXPECT_THAT(stream.rejected[0].candidate, "split_k = 4");
  EXPECT_THAT(stream.rejected[0].reason, HasSubstr("4 x 32 = 128 units"));

  const GemmPlan split = PlanOf(Spec(3), 1, 128);
  EXPECT_EQ(split.decision.decomposition, Decomposition::kSplitK);
  EXPECT_EQ(split.decision.split_k, 4);
  EXPECT_THAT(split.explain, Contains("128 units are exactly 4 for each of 32 tiles: split-K 4"));
  EXPECT_THAT(split.tiles[0].order.pieces,
              ElementsAre(Range{0, 1024}, Range{1024, 2048}, Range{2048, 3072}, Range{3072, 4096}));
  EXPECT_NE(split.klass, stream.klass);
}

TEST(GemmStreamK3, WorkedMapOf32Tiles) {
  // The first 68 of 132 units have 16 K tiles: 17 tiles of 4 units each, then 15 K tiles a unit.
  const GemmPlan plan = PlanOf(Spec(3), 1, 132);
  EXPECT_THAT(PiecesAt(plan, 0, 0),
              ElementsAre(Range{0, 1024}, Range{1024, 2048}, Range{2048, 3072}, Range{3072, 4096}));
  // Unit 72 would begin at K tile 60 of tile 17, less than 8 from its end: the piece before grows.
  EXPECT_THAT(PiecesAt(plan, 0, 17),
              ElementsAre(Range{0, 960}, Range{960, 1920}, Range{1920, 2880}, Range{2880, 4096}));
  EXPECT_THAT(PiecesAt(plan, 0, 18), ElementsAre(Range{0, 704}, Range{704, 1664}, Range{1664, 2624},
                                                 Range{2624, 3584}, Range{3584, 4096}));
}

TEST(GemmStreamK3, ARowsClassDependsOnItsPlace) {
  // 9 x 32 tiles, 156 of them shared in 6 groups: rows of tiles differ in their cuts.
  const GemmPlan plan = PlanOf(Spec(3), 1152);
  EXPECT_NE(ClassOfRow(plan, 0), ClassOfRow(plan, 1151));
  EXPECT_EQ(ClassOfRow(plan, 0), ClassOfRow(plan, 127));
}

TEST(GemmStreamK3, ClusterLargerThanTheDeviceIsMissing) {
  GemmPolicySpec spec = Spec(3);
  spec.cluster_m = 4;
  EXPECT_THAT(MakeGemmPolicy(spec)->Missing({1, 64, 64}, Device(2)), HasSubstr("cluster of 4"));
  EXPECT_EQ(MakeGemmPolicy(spec)->Missing({1, 64, 64}, Device(4)), "");
}

TEST(GemmStreamK2, WorkedRowsOfTheReference) {
  const GemmPolicySpec spec = Spec(2, 16);
  const GemmPlan one = PlanOf(spec, 1);
  EXPECT_EQ(one.decision.split_k, 4);
  EXPECT_EQ(one.decision.ctas, 128);
  EXPECT_THAT(one.explain,
              Contains("32 regions of one tile x 4 blocks: split-K, 16 of 64 K tiles a block"));
  EXPECT_EQ(PlanOf(spec, 16).klass, one.klass);
  const GemmPlan two = PlanOf(spec, 17);
  EXPECT_EQ(two.decision.split_k, 2);
  EXPECT_EQ(PlanOf(spec, 32).klass, two.klass);
  const GemmPlan uneven = PlanOf(spec, 33);
  EXPECT_EQ(uneven.decision.decomposition, Decomposition::kStreamK);
  EXPECT_EQ(uneven.decision.sk_units, 132);
  EXPECT_EQ(uneven.decision.sk_tiles, 96);
  EXPECT_THAT(uneven.explain, Contains(HasSubstr("132 blocks walk over 96 tiles")));
  for (const int64_t m : {49, 64}) {
    const GemmPlan none = PlanOf(spec, m);
    EXPECT_EQ(none.decision.decomposition, Decomposition::kDataParallel) << m;
    EXPECT_EQ(none.tiles.size(), 1u);
    EXPECT_EQ(none.tiles[0].order.combine, Combine::kNone);
  }
}

TEST(GemmStreamK2, RejectsTheNeighboursThatItTried) {
  const GemmPlan plan = PlanOf(Spec(2, 16), 1);
  ASSERT_EQ(plan.rejected.size(), 3u);
  EXPECT_EQ(plan.rejected[0].candidate, "data_parallel");
  EXPECT_EQ(plan.rejected[1].candidate, "127 blocks for the shared tiles");
  EXPECT_EQ(plan.rejected[1].reason, "saves 34 iterations of an SM, not 38");
  EXPECT_EQ(plan.rejected[2].candidate, "129 blocks for the shared tiles");
}

TEST(GemmStreamK2, ModesForbidOrForce) {
  GemmPolicySpec spec = Spec(2, 16);
  spec.stream_k_mode = StreamKMode::kDataParallel;
  EXPECT_EQ(PlanOf(spec, 1).decision.split_k, 1);
  spec.stream_k_mode = StreamKMode::kSplitK;
  EXPECT_EQ(PlanOf(spec, 1).decision.split_k, 1);
  spec.splits = 3;
  EXPECT_EQ(PlanOf(spec, 1).decision.split_k, 3);
}

// Which block sums each K tile of each tile, written down one iteration at a time.
using Owners = std::vector<std::vector<int64_t>>;

void ExpectPiecesOfOwners(const std::vector<int64_t>& owners, int32_t tile_k, int64_t k,
                          const std::vector<Range>& pieces) {
  std::vector<Range> wanted;
  for (size_t i = 0; i < owners.size(); ++i) {
    const Range here = {static_cast<int64_t>(i) * tile_k,
                        std::min((static_cast<int64_t>(i) + 1) * tile_k, k)};
    if (i > 0 && owners[i] == owners[i - 1]) {
      wanted.back().end = here.end;
    } else {
      wanted.push_back(here);
    }
  }
  EXPECT_EQ(pieces, wanted);
}

TEST(GemmStreamK2, MapIsWhatBlocksWalkOver) {
  RandomStream random(41, "test.streamk2");
  for (int i = 0; i < 300; ++i) {
    GemmPolicySpec spec = Spec(2, 16);
    spec.occupancy = static_cast<int32_t>(random.NextBelow(2)) + 1;
    const GemmShape shape = {static_cast<int64_t>(random.NextBelow(300)) + 1,
                             static_cast<int64_t>(random.NextBelow(4000)) + 1,
                             static_cast<int64_t>(random.NextBelow(8000)) + 1};
    const DeviceSpec device = Device(static_cast<int32_t>(random.NextBelow(140)) + 2);
    const GemmPlan plan = MakeGemmPolicy(spec)->Plan(shape, device);
    Cutlass2Problem problem;
    problem.m_tiles = plan.decision.m_blocks;
    problem.n_tiles = plan.decision.n_blocks;
    problem.iters_per_tile = plan.decision.k_tiles;
    problem.occupancy = spec.occupancy;
    problem.sm_count = device.sm_count;
    const Cutlass2StreamK shares = DecideCutlass2StreamK(problem);
    Owners owners(static_cast<size_t>(shares.sk_tiles),
                  std::vector<int64_t>(static_cast<size_t>(plan.decision.k_tiles)));
    for (int64_t block = 0; block < shares.sk_blocks; ++block) {
      const int64_t end = Cutlass2BlockBegin(shares, block + 1);
      for (int64_t at = Cutlass2BlockBegin(shares, block); at < end; ++at) {
        owners[static_cast<size_t>(at / plan.decision.k_tiles)]
              [static_cast<size_t>(at % plan.decision.k_tiles)] = block;
      }
    }
    for (int64_t tile = 0; tile < shares.sk_tiles; ++tile) {
      const TileCoordinate at = Cutlass2TileAt(problem, shares, tile);
      ExpectPiecesOfOwners(owners[static_cast<size_t>(tile)], 64, shape.k,
                           PiecesAt(plan, at.m, at.n));
    }
  }
}

TEST(GemmStreamK3, ClustersAndSwizzlesChangeNoSumOfATileTheyPad) {
  RandomStream random(42, "test.streamk3");
  for (int i = 0; i < 300; ++i) {
    GemmPolicySpec spec = Spec(3);
    spec.cluster_m = int32_t{1} << random.NextBelow(2);
    spec.cluster_n = int32_t{1} << random.NextBelow(2);
    spec.max_swizzle = int32_t{1} << random.NextBelow(4);
    spec.stream_k_mode = StreamKMode::kStreamK;
    const GemmShape shape = {static_cast<int64_t>(random.NextBelow(3000)) + 1,
                             static_cast<int64_t>(random.NextBelow(4000)) + 1,
                             static_cast<int64_t>(random.NextBelow(8000)) + 1};
    const DeviceSpec device = Device(static_cast<int32_t>(random.NextBelow(140)) + 4);
    const GemmPlan plan = MakeGemmPolicy(spec)->Plan(shape, device);
    for (const TileGroup& group : plan.tiles) {
      for (const Range& piece : group.order.pieces) {
        // No piece is shorter than 8 K tiles, but where K itself ends.
        EXPECT_TRUE(piece.end - piece.begin >= 8 * 64 || piece.end == shape.k);
      }
      const bool several = group.order.pieces.size() > 1;
      EXPECT_EQ(group.order.combine, several ? Combine::kTurnstile : Combine::kNone);
    }
  }
}

}  // namespace
}  // namespace batchvar
