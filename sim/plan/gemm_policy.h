// GEMM decomposition policies behind one interface: enumerate, reject with a reason, score, pick.
//
// Decide() is the hot path: numbers only, no allocation. Plan() adds the map from tiles to orders
// and the class; Explain() adds words and rejected candidates. All are pure functions of their
// arguments. A policy that has no answer for a shape says so in Missing(); ask it before the
// others.
#ifndef BATCHVAR_SIM_PLAN_GEMM_POLICY_H_
#define BATCHVAR_SIM_PLAN_GEMM_POLICY_H_

#include <memory>
#include <string>
#include <vector>

#include "sim/plan/device_spec.h"
#include "sim/plan/plan.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

class GemmPolicy {
 public:
  virtual ~GemmPolicy() = default;
  // Why this policy has no answer for the shape on the device, as a sentence for the user that
  // names the missing key or kernel; empty when it has one. Never a guess: Plan() BV_CHECKs that
  // nothing is missing.
  virtual std::string Missing(const GemmShape& shape, const DeviceSpec& device) const;
  // shape.m, n, k >= 1, and nothing is missing.
  virtual GemmDecision Decide(const GemmShape& shape, const DeviceSpec& device) const = 0;
  // Words for humans and the candidates that lost; `plan` holds everything else already.
  virtual void Explain(const DeviceSpec& device, GemmPlan* plan) const = 0;
  virtual const char* name() const = 0;
  virtual PolicySource source() const = 0;
  // The policy that answers for this shape: this one, unless it hands some shapes on to another.
  // Plan() asks that one, so plans carry its name and source.
  virtual const GemmPolicy& At(const GemmShape& shape, const DeviceSpec& device) const;

  // The whole plan without words. Checks that it is complete.
  GemmPlan Plan(const GemmShape& shape, const DeviceSpec& device) const;
  GemmPlan PlanWithWords(const GemmShape& shape, const DeviceSpec& device) const;

 protected:
  // The map from tiles to orders: by default one order for all tiles, K cut into pieces of
  // `k_tiles_per_split` in ascending order. A policy that cuts K otherwise overrides it.
  virtual std::vector<TileGroup> TileMap(const GemmShape& shape, const GemmDecision& decision,
                                         const DeviceSpec& device) const;
};

// For policies. The blocks of the output, `decomposition` by the tile alone, one pass over K.
GemmDecision OnePassDecision(const GemmShape& shape, const Tile& tile, const DeviceSpec& device);
// Cuts K into pieces of `k_tiles_per_split`, the last one shorter, and counts blocks again.
void SplitEvenly(int64_t k_tiles_per_split, Combine combine, const DeviceSpec& device,
                 GemmDecision* decision);
// Fills in what follows from the number of blocks and how many run at once: ctas, waves,
// last_wave_ctas.
void CountWaves(int64_t ctas, int64_t wave_ctas, GemmDecision* decision);
// An order of the device's matrix instruction without pieces.
Order MmaOrder(const GemmShape& shape, const DeviceSpec& device);

std::unique_ptr<GemmPolicy> MakeGemmPolicy(const GemmPolicySpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_POLICY_H_
