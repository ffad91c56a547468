// The textbook's policy: fill the device once, then stop. Use it through gemm_policy.h.
// Formula and worked examples: docs/policies.md.
#ifndef BATCHVAR_SIM_PLAN_GEMM_TEXTBOOK_H_
#define BATCHVAR_SIM_PLAN_GEMM_TEXTBOOK_H_

#include "sim/plan/gemm_policy.h"

namespace batchvar {

class GemmTextbook final : public GemmPolicy {
 public:
  explicit GemmTextbook(const GemmPolicySpec& spec);
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;

 private:
  GemmPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_TEXTBOOK_H_
