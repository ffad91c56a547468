// DeepGEMM's choice of a layout for a normal BF16 GEMM with BF16 output (54e22612, 2026-06-23), in
// plain numbers. It never splits K: tiles change with M, orders do not. Words: gemm_deepgemm.h. The
// goldens hold every number of DeepGemmLayout but `cycles`.
#ifndef BATCHVAR_SIM_PLAN_DEEPGEMM_LAYOUT_H_
#define BATCHVAR_SIM_PLAN_DEEPGEMM_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "sim/plan/policy_spec.h"

namespace batchvar {

struct DeepGemmProblem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int32_t sm_count = 0;
};

struct DeepGemmLayout {
  bool swap_ab = false;
  int32_t block_m = 0;
  int32_t block_n = 0;
  int32_t block_k = 0;
  int32_t cluster_m = 1;
  int32_t cluster_n = 1;
  int32_t stages = 0;
  int64_t blocks = 0;
  int64_t waves = 0;
  int64_t last_wave_blocks = 0;
  int64_t cycles = 0;  // sm90: the model's cost; INT64_MAX rules a cluster out. sm100: 0
  int32_t cluster_size() const { return cluster_m * cluster_n; }
};

// arch is kSm90 or kSm100. The best layout; of equal ones the first in enumeration order.
DeepGemmLayout ChooseDeepGemmLayout(DeepGemmArch arch, const DeepGemmProblem& problem);

// Every legal layout in enumeration order.
std::vector<DeepGemmLayout> DeepGemmLayouts(DeepGemmArch arch, const DeepGemmProblem& problem);

// Upstream's comparison: whether `a` is strictly better than `b`.
bool DeepGemmBeats(DeepGemmArch arch, const DeepGemmLayout& a, const DeepGemmLayout& b);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_DEEPGEMM_LAYOUT_H_
