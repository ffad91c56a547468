// One tile and one pass over K for every M, so that all M share one class. Use it through
// gemm_policy.h.
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
  GemmPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_BATCH_INVARIANT_H_
