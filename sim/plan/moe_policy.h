// Mixture-of-experts GEMMs. vLLM's fused kernel takes its tile from the tokens of the whole step,
// not of one expert, and never splits K: the tile changes with the batch, the order does not.
#ifndef BATCHVAR_SIM_PLAN_MOE_POLICY_H_
#define BATCHVAR_SIM_PLAN_MOE_POLICY_H_

#include <cstdint>

#include "sim/plan/device_spec.h"
#include "sim/plan/plan.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

// The default configuration for 16-bit types where no tuned table is at hand (vLLM 0.32.0,
// 2026-10: fused_moe.py, get_default_config).
struct MoeTile {
  Tile tile;
  int32_t group_m = 1;  // raster order of tiles: no effect on sums
  int32_t split_k = 1;
  int32_t num_warps = 0;
  int32_t num_stages = 0;
};
MoeTile VllmMoeTile(int64_t tokens, int64_t experts);

// The order of one output element of an expert's GEMM over `k`: one accumulator, whatever the tile.
Order MoeOrder(const MoePolicySpec& spec, int64_t k, DType dtype, const DeviceSpec& device);
PolicySource MoeSource(const MoePolicySpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_MOE_POLICY_H_
