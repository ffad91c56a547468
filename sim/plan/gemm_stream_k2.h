// stream_k, generation 2: CUTLASS 2.x. Decision in cutlass2_streamk.h; here the map from output
// tiles to pieces of K, and the words. Use it through gemm_policy.h; formulae: docs/policies.md.
#ifndef BATCHVAR_SIM_PLAN_GEMM_STREAM_K2_H_
#define BATCHVAR_SIM_PLAN_GEMM_STREAM_K2_H_

#include <vector>

#include "sim/plan/cutlass2_streamk.h"
#include "sim/plan/gemm_policy.h"

namespace batchvar {

class GemmStreamK2 final : public GemmPolicy {
 public:
  explicit GemmStreamK2(const GemmPolicySpec& spec);
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;

 protected:
  std::vector<TileGroup> TileMap(const GemmShape& shape, const GemmDecision& decision,
                                 const DeviceSpec& device) const override;

 private:
  Cutlass2Problem ProblemOf(const GemmShape& shape, const DeviceSpec& device) const;
  GemmPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_STREAM_K2_H_
