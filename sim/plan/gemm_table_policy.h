// table and nv_heuristics: the decomposition is somebody else's answer, looked up in a table or
// asked of a library. A key without an answer is Missing(), never a guess. Use it through
// gemm_policy.h; file forms: docs/policies.md.
#ifndef BATCHVAR_SIM_PLAN_GEMM_TABLE_POLICY_H_
#define BATCHVAR_SIM_PLAN_GEMM_TABLE_POLICY_H_

#include <string>
#include <vector>

#include "sim/plan/gemm_policy.h"
#include "sim/plan/gemm_table.h"

namespace batchvar {

class GemmTablePolicy final : public GemmPolicy {
 public:
  // A spec without a loaded table or library is accepted: then everything is Missing().
  explicit GemmTablePolicy(const GemmPolicySpec& spec);
  std::string Missing(const GemmShape& shape, const DeviceSpec& device) const override;
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;

 protected:
  std::vector<TileGroup> TileMap(const GemmShape& shape, const GemmDecision& decision,
                                 const DeviceSpec& device) const override;

 private:
  bool AsksLibrary() const { return spec_.kind == GemmPolicyKind::kNvHeuristics; }
  const std::string& GpuOf(const DeviceSpec& device) const;
  std::string RowWords(const GemmShape& shape, const DeviceSpec& device) const;
  const GemmTableRow* RowOf(const GemmShape& shape, const DeviceSpec& device) const;
  GemmPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_TABLE_POLICY_H_
