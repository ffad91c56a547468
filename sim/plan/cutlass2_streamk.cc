#include "sim/plan/cutlass2_streamk.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

// All from CUTLASS 7107b055, threadblock_swizzle_streamk.h.
constexpr int64_t kMinItersPerBlock = 2;
constexpr float kSkewCost = 0.02f;  // per peer and iteration when blocks do not align with tiles
constexpr float kWaveCost = 2.0f;
constexpr float kPeerCost = 2.0f;
constexpr int64_t kCohortM = 8;
constexpr int64_t kCohortN = 4;
constexpr int64_t kCohortWaves = 2;  // of data-parallel blocks, at least
constexpr float kCohortEfficiency = 0.85f;
// Accumulator fragments of a block's epilogue, one reduction block each: 4 in every kernel of the
// goldens. Upstream takes it from the kernel's type.
constexpr int64_t kAccumulatorFragments = 4;

struct BlockChoice {
  int64_t blocks = 0;
  bool pays = false;
};

// The last number of blocks among those with the largest saving.
BlockChoice ChooseBlocks(const Cutlass2Problem& problem, int64_t sk_tiles, int64_t max_occupancy,
                         bool partial_wave) {
  const int64_t sms = problem.sm_count;
  const int64_t fewest = partial_wave ? std::min(sms, sk_tiles + 1) : sms;
  const int64_t most =
      std::min(sms * max_occupancy, sk_tiles * problem.iters_per_tile / kMinItersPerBlock);
  BlockChoice choice;
  int64_t best = INT64_MIN;
  for (int64_t blocks = fewest; blocks <= most; ++blocks) {
    const int64_t saving = Cutlass2Saving(sk_tiles, problem.iters_per_tile, sms, blocks);
    if (saving >= best) {
      best = saving;
      choice.blocks = blocks;
    }
  }
  choice.pays = best >= 0;
  return choice;
}

struct Shares {
  int64_t sk_tiles = 0;
  int64_t sk_blocks = 0;
};

// Upstream's three cases: fill the device's occupancy with the partial wave; or only the last
// place of an SM; or share the last full wave and the partial wave.
Shares ChooseShares(const Cutlass2Problem& problem) {
  const int64_t sms = problem.sm_count;
  const int64_t occupancy = problem.occupancy;
  const int64_t full_waves = problem.tiles() / sms;
  const int64_t partial = problem.tiles() - full_waves * sms;
  if (partial == 0) return {};
  if (full_waves < occupancy) {
    const BlockChoice choice = ChooseBlocks(problem, partial, occupancy - full_waves, true);
    return choice.pays ? Shares{partial, choice.blocks} : Shares{};
  }
  if (occupancy > 1 && full_waves % occupancy == occupancy - 1) {
    const BlockChoice choice = ChooseBlocks(problem, partial, 1, true);
    if (choice.pays) return {partial, choice.blocks};
  }
  const int64_t free = occupancy - (full_waves - 1) % occupancy;
  const BlockChoice choice = ChooseBlocks(problem, partial + sms, free, false);
  return choice.pays ? Shares{partial + sms, choice.blocks} : Shares{};
}

// Tiles are walked in cohorts when there are many data-parallel ones and none of the shared ones
// would lie in a cohort that sticks out of the output.
bool UsesCohorts(const Cutlass2Problem& problem, const Cutlass2StreamK& decision) {
  const int64_t cohorts_m = CeilDiv(problem.m_tiles, kCohortM);
  const int64_t cohorts_n = CeilDiv(problem.n_tiles, kCohortN);
  if (decision.sk_tiles > 0) {
    const int64_t last_cohort = (decision.sk_tiles - 1) / (kCohortM * kCohortN);
    const int64_t last_m = last_cohort / cohorts_n;
    const int64_t last_n = last_m > 0 ? cohorts_n - 1 : last_cohort % cohorts_n;
    if ((last_m + 1) * kCohortM >= problem.m_tiles) return false;
    if ((last_n + 1) * kCohortN >= problem.n_tiles) return false;
  }
  const int64_t device_blocks = int64_t{problem.sm_count} * problem.occupancy;
  const float efficiency = static_cast<float>(decision.dp_tiles) /
                           static_cast<float>(cohorts_m * cohorts_n * kCohortM * kCohortN);
  return decision.dp_tiles >= device_blocks * kCohortWaves && efficiency > kCohortEfficiency;
}

}  // namespace

int64_t Cutlass2Saving(int64_t sk_tiles, int64_t iters_per_tile, int64_t sm_count, int64_t blocks) {
  const int64_t sk_iters = sk_tiles * iters_per_tile;
  const int64_t waves = CeilDiv(blocks, sm_count);
  const int64_t iters = CeilDiv(sk_iters, blocks) * waves;
  int64_t peers = CeilDiv(blocks, sk_tiles) + 1;  // one more, as blocks straddle tile edges
  float skew = kSkewCost * static_cast<float>(peers) * static_cast<float>(iters);
  if (blocks % sk_tiles == 0) {
    peers = blocks / sk_tiles;
    skew = 0.0f;
  }
  // float, and truncated, as upstream.
  const float fixup =
      kWaveCost * static_cast<float>(waves) + skew + kPeerCost * static_cast<float>(peers);
  const int64_t data_parallel_iters = iters_per_tile * CeilDiv(sk_tiles, sm_count);
  return data_parallel_iters - iters - static_cast<int64_t>(fixup);
}

Cutlass2StreamK DecideCutlass2StreamK(const Cutlass2Problem& problem) {
  BV_CHECK(problem.tiles() >= 1 && problem.iters_per_tile >= 1);
  BV_CHECK(problem.sm_count >= 1 && problem.occupancy >= 1 && problem.splits >= 1);
  Shares shares;
  if (problem.splits > 1) {
    shares = {problem.tiles(), problem.tiles() * problem.splits};
  } else if (problem.sm_count > 1 && !problem.data_parallel) {
    shares = ChooseShares(problem);
  }
  Cutlass2StreamK decision;
  decision.sk_tiles = shares.sk_tiles;
  decision.dp_tiles = problem.tiles() - shares.sk_tiles;
  if (shares.sk_blocks > 0) {
    decision.sk_waves = CeilDiv(shares.sk_blocks, problem.sm_count);
    const int64_t iters = shares.sk_tiles * problem.iters_per_tile;
    decision.sk_blocks = std::min(shares.sk_blocks, iters);
    decision.iters_per_normal_block = iters / decision.sk_blocks;
    const bool aligned =
        decision.sk_blocks > shares.sk_tiles && decision.sk_blocks % shares.sk_tiles == 0;
    decision.regions = aligned ? shares.sk_tiles : 1;
    decision.blocks_per_region = decision.sk_blocks / decision.regions;
    decision.big_blocks_per_region = iters % decision.sk_blocks / decision.regions;
    decision.iters_per_region = iters / decision.regions;
    if (decision.sk_waves < problem.occupancy && decision.sk_blocks > 2 * shares.sk_tiles) {
      decision.reduction_blocks = shares.sk_tiles * kAccumulatorFragments;
    }
  }
  decision.cohort_raster = UsesCohorts(problem, decision);
  return decision;
}

int64_t Cutlass2BlockBegin(const Cutlass2StreamK& decision, int64_t block) {
  const int64_t region = block / decision.blocks_per_region;
  const int64_t in_region = block % decision.blocks_per_region;
  return region * decision.iters_per_region + in_region * decision.iters_per_normal_block +
         std::min(in_region, decision.big_blocks_per_region);
}

TileCoordinate Cutlass2TileAt(const Cutlass2Problem& problem, const Cutlass2StreamK& decision,
                              int64_t tile) {
  if (decision.cohort_raster) {
    const int64_t cohorts_n = CeilDiv(problem.n_tiles, kCohortN);
    const int64_t cohort = tile / (kCohortM * kCohortN);
    const int64_t inside = tile % (kCohortM * kCohortN);
    return {cohort / cohorts_n * kCohortM + inside / kCohortN,
            cohort % cohorts_n * kCohortN + inside % kCohortN};
  }
  if (problem.m_tiles < problem.n_tiles) return {tile % problem.m_tiles, tile / problem.m_tiles};
  return {tile / problem.n_tiles, tile % problem.n_tiles};
}

}  // namespace batchvar
