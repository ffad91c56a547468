// GEMM decomposition policies behind one interface: enumerate, reject with a reason, score, pick.
//
// Decide() is the hot path: numbers only, no allocation. Plan() adds the map from tiles to orders
// and the class; Explain() adds words and rejected candidates. All are pure functions of their
// arguments.
#ifndef BATCHVAR_SIM_PLAN_GEMM_POLICY_H_
#define BATCHVAR_SIM_PLAN_GEMM_POLICY_H_

#include <memory>
#include <vector>

#include "sim/plan/device_spec.h"
#include "sim/plan/plan.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

class GemmPolicy {
 public:
  virtual ~GemmPolicy() = default;
  // shape.m, n, k >= 1.
  virtual GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const = 0;
  // Words for humans and the candidates that lost; `plan` holds everything else already.
  virtual void Explain(const DeviceSpec& device, GemmPlan* plan) const = 0;
  virtual const char* name() const = 0;
  virtual PolicySource source() const = 0;

  // The whole plan without words. Checks that it is complete.
  GemmPlan Plan(const GemmShape& shape, const DeviceSpec& device) const;
  GemmPlan PlanWithWords(const GemmShape& shape, const DeviceSpec& device) const;

 protected:
  // The map from tiles to orders: by default one order for all tiles, K cut into `split_k` pieces
  // in ascending order. A policy that cuts K differently from tile to tile overrides it.
  virtual std::vector<TileGroup> TileMap(const GemmShape& shape, const GemmDecision& decision,
                                         const DeviceSpec& device) const;
};

// Fills in what follows from tile and split: ctas, waves, last_wave_ctas. For policies.
void CountWaves(const DeviceSpec& device, GemmDecision* decision);

std::unique_ptr<GemmPolicy> MakeGemmPolicy(const GemmPolicySpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_POLICY_H_
