// One pass over K for every M, so that all M share one class, whatever the tile. Variants:
//
//   one_tile   the tile keys, for every M
//   free_tile  tile rows grow with M: the order does not depend on them
//   vllm       as one_tile, with BLOCK_K from a table by (architecture, N, K)
//
// sglang is gemm_sglang_invariant.h. Use it through gemm_policy.h.
#ifndef BATCHVAR_SIM_PLAN_GEMM_BATCH_INVARIANT_H_
#define BATCHVAR_SIM_PLAN_GEMM_BATCH_INVARIANT_H_

#include "sim/plan/gemm_policy.h"

namespace batchvar {

class GemmBatchInvariant final : public GemmPolicy {
 public:
  explicit GemmBatchInvariant(const GemmPolicySpec& spec);
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;

 private:
  Tile TileFor(const GemmShape& shape, const DeviceSpec& device) const;
  // BLOCK_K of the vllm variant's table; 0 without such a row, and in the other variants.
  int32_t ListedBlockK(const GemmShape& shape, const DeviceSpec& device) const;
  GemmPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_BATCH_INVARIANT_H_
