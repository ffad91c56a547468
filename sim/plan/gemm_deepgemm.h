// deepgemm: DeepGEMM's BF16 GEMM, one pass over K in every layout. The layout is chosen in
// deepgemm_layout.h. Use it through gemm_policy.h; rules and worked examples: docs/policies.md.
#ifndef BATCHVAR_SIM_PLAN_GEMM_DEEPGEMM_H_
#define BATCHVAR_SIM_PLAN_GEMM_DEEPGEMM_H_

#include <string>

#include "sim/plan/gemm_policy.h"

namespace batchvar {

class GemmDeepGemm final : public GemmPolicy {
 public:
  explicit GemmDeepGemm(const GemmPolicySpec& spec);
  std::string Missing(const GemmShape& shape, const DeviceSpec& device) const override;
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;
  // Whether nothing is Missing().
  bool CanRun(const GemmShape& shape, const DeviceSpec& device) const {
    return shape.dtype == DType::kBf16 && ArchOn(device) != DeepGemmArch::kAuto;
  }

 private:
  // kAuto where the device has no kernels.
  DeepGemmArch ArchOn(const DeviceSpec& device) const;
  GemmPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_DEEPGEMM_H_
