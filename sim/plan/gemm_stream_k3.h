// stream_k, generation 3: CUTLASS 3.x's persistent scheduler for Hopper. Decision in
// cutlass3_streamk.h; here the map from output tiles to pieces of K, and the words. Use it through
// gemm_policy.h; formulae: docs/policies.md.
#ifndef BATCHVAR_SIM_PLAN_GEMM_STREAM_K3_H_
#define BATCHVAR_SIM_PLAN_GEMM_STREAM_K3_H_

#include <string>
#include <vector>

#include "sim/plan/cutlass3_streamk.h"
#include "sim/plan/gemm_policy.h"

namespace batchvar {

class GemmStreamK3 final : public GemmPolicy {
 public:
  explicit GemmStreamK3(const GemmPolicySpec& spec);
  std::string Missing(const GemmShape& shape, const DeviceSpec& device) const override;
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;

 protected:
  std::vector<TileGroup> TileMap(const GemmShape& shape, const GemmDecision& decision,
                                 const DeviceSpec& device) const override;

 private:
  Cutlass3Problem ProblemOf(const GemmShape& shape, const DeviceSpec& device) const;
  GemmPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_STREAM_K3_H_
