// Seeded GEMM policies with parameters and shapes of every kind, for tests of what holds for all.
#ifndef BATCHVAR_TESTS_PLAN_RANDOM_POLICY_H_
#define BATCHVAR_TESTS_PLAN_RANDOM_POLICY_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "sim/base/rng.h"
#include "sim/base/time.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/gemm_table.h"

namespace batchvar {

class RandomPolicy {
 public:
  explicit RandomPolicy(uint64_t seed) : random_(seed, "test.policies") {}

  int64_t Pick(int64_t most) {
    return static_cast<int64_t>(random_.NextBelow(static_cast<uint64_t>(most))) + 1;
  }
  int32_t Small(int64_t most) { return static_cast<int32_t>(Pick(most)); }

  // M up to `most_m`, N and K up to `most`.
  GemmShape Shape(int64_t most_m = 600, int64_t most = 9000) {
    return {Pick(most_m), Pick(most), Pick(most), DType::kBf16};
  }

  GemmPolicySpec Spec(GemmPolicyKind kind, const GemmShape& shape) {
    GemmPolicySpec spec = DefaultGemmPolicy(kind);
    spec.tile_m = Small(256);
    spec.tile_n = Small(256);
    spec.tile_k = Small(128);
    spec.k_min = Small(512);
    spec.max_split = Small(64);
    spec.split_k = Small(12) - 1;
    spec.split_k_mode = Small(2) == 1 ? SplitKMode::kSerial : SplitKMode::kParallel;
    spec.generation = Small(2) + 1;
    spec.occupancy = Small(3);
    spec.cluster_m = Small(2);
    spec.cluster_n = Small(2);
    spec.max_swizzle = 1 << (Small(4) - 1);
    spec.splits = Small(3) == 1 ? Small(9) : 1;
    spec.stream_k_mode = spec.generation == 3 && spec.splits == 1 && Small(2) == 1
                             ? StreamKMode::kStreamK
                             : StreamKMode::kHeuristic;
    spec.m_max = Small(300);
    spec.lanes = 1 << Small(6);
    spec.vector_width = Small(8);
    spec.variant = static_cast<InvariantVariant>(Small(4) - 1);
    if (kind == GemmPolicyKind::kTable || kind == GemmPolicyKind::kNvHeuristics) {
      GemmTableRow row;
      row.tile = {spec.tile_m, spec.tile_n, spec.tile_k};
      row.split_k = static_cast<int32_t>(std::min(Pick(9), CeilDiv(shape.k, row.tile.k)));
      row.slice_k = row.tile.k % 2 == 0 ? Small(2) : 1;  // slices share a tile of K evenly
      auto table = std::make_shared<GemmTable>(PolicySource{});
      table->Add("test", shape, row);
      spec.table = table;
    }
    return spec;
  }

 private:
  RandomStream random_;
};

inline constexpr GemmPolicyKind kGemmPolicyKinds[] = {
    GemmPolicyKind::kTextbook, GemmPolicyKind::kBatchInvariant, GemmPolicyKind::kCutlassSplitK,
    GemmPolicyKind::kStreamK,  GemmPolicyKind::kDeepGemm,       GemmPolicyKind::kGemv,
    GemmPolicyKind::kTable,    GemmPolicyKind::kNvHeuristics};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PLAN_RANDOM_POLICY_H_
