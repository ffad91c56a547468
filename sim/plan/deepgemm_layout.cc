#include "sim/plan/deepgemm_layout.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

// All from DeepGEMM 54e22612, heuristics/sm90.hpp and sm100.hpp.
constexpr int64_t kSharedMemory = 232448;  // bytes of one SM that a block may use
constexpr int64_t kElementBytes = 2;
constexpr int32_t kBlockK = 64;  // 128 bytes
constexpr int64_t kSm90MaxStages = 16;
constexpr int64_t kSm90MinStages = 3;
constexpr int64_t kSm90MinStagesSmall = 4;  // of blocks below
constexpr int64_t kSm90SmallBlock = 128 * 192;
constexpr int64_t kSm90Align = 1024;  // of the output tile in shared memory
constexpr int64_t kWgmmaM = 64;
constexpr int64_t kL1BytesPerCycle = 128;  // of one SM
constexpr double kL2BytesPerCycleOfSm = 64.0;
constexpr double kL2BytesPerCycle = 8e6 / 1.3e3;  // of the device: 8 TB/s at 1.3 GHz
constexpr int64_t kSm100MaxStages = 32;
constexpr int64_t kSm100Barriers = kSm100MaxStages * 8 * 3 + 2 * 8 * 3 + 8;
constexpr int64_t kSm100TmemPointer = 4;
constexpr int64_t kSm100StoreStages = 2;
constexpr int32_t kSwappedBlockN = 128;
constexpr int32_t kUmmaStep = 16;
constexpr int32_t kSmallK = 256;  // from which wide blocks are allowed

void CountBlocks(const DeepGemmProblem& problem, DeepGemmLayout* layout) {
  layout->blocks = CeilDiv(problem.m, layout->block_m) * CeilDiv(problem.n, layout->block_n);
  layout->waves = CeilDiv(layout->blocks, problem.sm_count);
  layout->last_wave_blocks = layout->blocks - (layout->waves - 1) * problem.sm_count;
}

int32_t Sm90Stages(int64_t block_m, int64_t block_n) {
  const int64_t output = CeilDiv(block_m * block_n * kElementBytes, kSm90Align) * kSm90Align;
  const int64_t barriers = kSm90MaxStages * 8 * 2;
  const int64_t stage = (block_m + block_n) * kBlockK * kElementBytes;
  return static_cast<int32_t>(
      std::min(kSm90MaxStages, (kSharedMemory - output - barriers) / stage));
}

// Modelled cycles: the slower of L1 and L2 traffic, stretched by how empty the last wave is. The
// efficiency and the division by it are float, as upstream.
int64_t Sm90Cycles(const DeepGemmProblem& problem, const DeepGemmLayout& layout) {
  if (layout.cluster_size() > 1 && layout.waves <= 1) return INT64_MAX;
  const int64_t bm = layout.block_m;
  const int64_t bn = layout.block_n;
  const int64_t k = problem.k;
  const int64_t l2_rate =
      static_cast<int64_t>(std::min(kL2BytesPerCycleOfSm * problem.sm_count, kL2BytesPerCycle));
  const int64_t l1_rate = kL1BytesPerCycle * problem.sm_count;
  const int64_t output = bm * bn * kElementBytes;
  const int64_t l2 = k * (bm / layout.cluster_n + bn / layout.cluster_m) * kElementBytes + output;
  const int64_t l1 =
      k * (bm + bn) * kElementBytes + k * (std::max(kWgmmaM, bm) + bn) * kElementBytes + 2 * output;
  const int64_t cycles = std::max(l1 * layout.blocks / l1_rate, l2 * layout.blocks / l2_rate);
  const float efficiency =
      static_cast<float>(layout.blocks) / static_cast<float>(layout.waves * problem.sm_count);
  return static_cast<int64_t>(static_cast<float>(cycles) / efficiency);
}

template <typename Visit>
void ForEachSm90(const DeepGemmProblem& problem, const Visit& visit) {
  // 16 and 32 keep short inputs inside the tensor; 256 is for 16-bit outputs.
  const std::array<int32_t, 5> block_ms = {64, 128, problem.m <= 16 ? 16 : 0,
                                           problem.m <= 32 ? 32 : 0, 256};
  constexpr std::array<std::array<int32_t, 2>, 3> kClusters = {{{1, 1}, {1, 2}, {2, 1}}};
  for (const auto& [cluster_m, cluster_n] : kClusters) {
    if (problem.sm_count % (cluster_m * cluster_n) != 0) continue;
    for (const int32_t block_m : block_ms) {
      for (int32_t block_n = 16; block_m > 0 && block_n <= 256; block_n += 16) {
        if (block_m > 128 && block_n > 128) continue;  // registers
        const int32_t stages = Sm90Stages(block_m, block_n);
        if (stages < kSm90MinStages) continue;
        if (block_m * block_n < kSm90SmallBlock && stages < kSm90MinStagesSmall) continue;
        DeepGemmLayout layout;
        layout.block_m = block_m;
        layout.block_n = block_n;
        layout.block_k = kBlockK;
        layout.cluster_m = cluster_m;
        layout.cluster_n = cluster_n;
        layout.stages = stages;
        CountBlocks(problem, &layout);
        layout.cycles = Sm90Cycles(problem, layout);
        visit(layout);
      }
    }
  }
}

// Bytes of the widest swizzle that divides a row of the output block.
int64_t SwizzleBytes(int64_t block_n) {
  for (const int64_t bytes : {128, 64, 32}) {
    if (block_n * kElementBytes % bytes == 0) return bytes;
  }
  return 16;
}

int32_t Sm100Stages(const DeepGemmLayout& layout) {
  const int64_t store_m = layout.swap_ab ? kUmmaStep : std::min(128, layout.block_m);
  const int64_t store_row =
      layout.swap_ab ? layout.block_n * kElementBytes : SwizzleBytes(layout.block_n);
  const int64_t output = store_m * store_row * kSm100StoreStages;
  const int64_t loaded = layout.block_m / layout.cluster_n + layout.block_n / layout.cluster_m;
  const int64_t stage = loaded * kBlockK * kElementBytes;
  return static_cast<int32_t>(std::min(
      kSm100MaxStages, (kSharedMemory - output - kSm100Barriers - kSm100TmemPointer) / stage));
}

// One cluster of one half: every legal pair of blocks.
template <typename Visit>
void ForEachSm100Block(const DeepGemmProblem& problem, const DeepGemmLayout& start,
                       const Visit& visit) {
  const int32_t tall = problem.m <= 32 ? 32 : problem.m <= 64 ? 64 : 128;
  const int32_t first_m = start.swap_ab ? kUmmaStep : tall;
  const int32_t last_m = start.swap_ab ? 256 : tall;
  const int32_t first_n = start.swap_ab ? kSwappedBlockN : 16;
  const int32_t last_n = start.swap_ab ? kSwappedBlockN : problem.k <= kSmallK ? 128 : 256;
  for (int32_t block_m = first_m; block_m <= last_m; block_m += kUmmaStep) {
    if (block_m / start.cluster_n % 8 != 0) continue;
    if (CeilDiv(problem.m, block_m) % start.cluster_m != 0) continue;
    // 16, then multiples of 32.
    for (int32_t block_n = first_n; block_n <= last_n; block_n += block_n == 16 ? 16 : 32) {
      if (block_n / start.cluster_m % 8 != 0) continue;
      if (CeilDiv(problem.n, block_n) % start.cluster_n != 0) continue;
      DeepGemmLayout layout = start;
      layout.block_m = block_m;
      layout.block_n = block_n;
      layout.block_k = kBlockK;
      layout.stages = Sm100Stages(layout);
      CountBlocks(problem, &layout);
      visit(layout);
    }
  }
}

template <typename Visit>
void ForEachSm100(const DeepGemmProblem& problem, const Visit& visit) {
  // Clusters share B in the plain form and A in the swapped one.
  for (const bool swap_ab : {false, true}) {
    for (const int32_t cluster : {1, 2}) {
      if (problem.sm_count % cluster != 0) continue;
      DeepGemmLayout start;
      start.swap_ab = swap_ab;
      (swap_ab ? start.cluster_n : start.cluster_m) = cluster;
      ForEachSm100Block(problem, start, visit);
    }
  }
}

template <typename Visit>
void ForEachLayout(DeepGemmArch arch, const DeepGemmProblem& problem, const Visit& visit) {
  BV_CHECK(arch != DeepGemmArch::kAuto);
  if (arch == DeepGemmArch::kSm90) {
    ForEachSm90(problem, visit);
  } else {
    ForEachSm100(problem, visit);
  }
}

}  // namespace

bool DeepGemmBeats(DeepGemmArch arch, const DeepGemmLayout& a, const DeepGemmLayout& b) {
  if (arch == DeepGemmArch::kSm90) return a.cycles < b.cycles;
  // Ascending: one wave first, then clusters, few waves, a full last wave, small blocks.
  const auto rank = [](const DeepGemmLayout& x) {
    return std::tuple(x.waves != 1, -x.cluster_size(), x.waves, -x.last_wave_blocks,
                      x.block_m + x.block_n, x.block_m * x.block_n);
  };
  return rank(a) < rank(b);
}

DeepGemmLayout ChooseDeepGemmLayout(DeepGemmArch arch, const DeepGemmProblem& problem) {
  DeepGemmLayout best;
  ForEachLayout(arch, problem, [&](const DeepGemmLayout& layout) {
    if (best.block_m == 0 || DeepGemmBeats(arch, layout, best)) best = layout;
  });
  BV_CHECK(best.block_m > 0);
  return best;
}

std::vector<DeepGemmLayout> DeepGemmLayouts(DeepGemmArch arch, const DeepGemmProblem& problem) {
  std::vector<DeepGemmLayout> layouts;
  ForEachLayout(arch, problem,
                [&layouts](const DeepGemmLayout& layout) { layouts.push_back(layout); });
  return layouts;
}

}  // namespace batchvar
