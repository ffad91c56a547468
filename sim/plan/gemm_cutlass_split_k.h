// cutlass_splitk: the two split-K kernels of CUTLASS 2.x, with a given split or the textbook's.
// They differ in where K is cut and in what becomes of partial sums. Use it through gemm_policy.h;
// formulae and worked examples: docs/policies.md.
//
//   serial    pieces of ceil(K tiles / S); the output is read back and rounded to 16 bits after
//             every piece
//   parallel  pieces of floor(floor(K / tile_k) / S), the last one takes the rest; fp32 partial
//             sums, added in ascending order by a second kernel
#ifndef BATCHVAR_SIM_PLAN_GEMM_CUTLASS_SPLIT_K_H_
#define BATCHVAR_SIM_PLAN_GEMM_CUTLASS_SPLIT_K_H_

#include <vector>

#include "sim/plan/gemm_policy.h"
#include "sim/plan/gemm_textbook.h"

namespace batchvar {

class GemmCutlassSplitK final : public GemmPolicy {
 public:
  explicit GemmCutlassSplitK(const GemmPolicySpec& spec);
  GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const override;
  void Explain(const DeviceSpec& device, GemmPlan* plan) const override;
  const char* name() const override;
  PolicySource source() const override;

 protected:
  std::vector<TileGroup> TileMap(const GemmShape& shape, const GemmDecision& decision,
                                 const DeviceSpec& device) const override;

 private:
  int64_t Wanted(const GemmShape& shape, const DeviceSpec& device) const;
  GemmPolicySpec spec_;
  GemmTextbook textbook_;  // gives the split when none is given
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_CUTLASS_SPLIT_K_H_
