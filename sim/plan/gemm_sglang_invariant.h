// batch_invariant, variant sglang: SGLang 0.5.23's deterministic matmul, DeepGEMM where it can run
// and the Triton kernel else. Which one depends on N, K, the type and the device, never on M, and
// both sum K in one pass. Use it through gemm_policy.h.
#ifndef BATCHVAR_SIM_PLAN_GEMM_SGLANG_INVARIANT_H_
#define BATCHVAR_SIM_PLAN_GEMM_SGLANG_INVARIANT_H_

#include "sim/plan/gemm_batch_invariant.h"
#include "sim/plan/gemm_deepgemm.h"
#include "sim/plan/gemm_policy.h"

namespace batchvar {

class GemmSglangInvariant final : public GemmPolicy {
 public:
  explicit GemmSglangInvariant(const GemmPolicySpec& spec);
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;
  const GemmPolicy& At(const GemmShape& shape, const DeviceSpec& device) const override;

 private:
  GemmDeepGemm deepgemm_;
  GemmBatchInvariant triton_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_SGLANG_INVARIANT_H_
