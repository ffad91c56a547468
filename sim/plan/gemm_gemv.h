// gemv: up to m_max rows a kernel without tensor cores computes each output element, and a GEMM
// policy decides above it. A group of `lanes` threads sums strided vectors of K with fused
// multiply-adds, and the lanes' sums meet in a butterfly. No project's kernel is copied; which
// engines have one, and up to which M: docs/policies.md. Use it through gemm_policy.h.
#ifndef BATCHVAR_SIM_PLAN_GEMM_GEMV_H_
#define BATCHVAR_SIM_PLAN_GEMM_GEMV_H_

#include <memory>
#include <string>
#include <vector>

#include "sim/plan/gemm_policy.h"

namespace batchvar {

class GemmGemv final : public GemmPolicy {
 public:
  explicit GemmGemv(const GemmPolicySpec& spec);
  std::string Missing(const GemmShape& shape, const DeviceSpec& device) const override;
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;
  const GemmPolicy& At(const GemmShape& shape, const DeviceSpec& device) const override;

 protected:
  std::vector<TileGroup> TileMap(const GemmShape& shape, const GemmDecision& decision,
                                 const DeviceSpec& device) const override;

 private:
  bool IsMine(const GemmShape& shape) const { return shape.m <= spec_.m_max; }
  GemmPolicySpec spec_;
  std::unique_ptr<GemmPolicy> then_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_GEMV_H_
