#include "sim/plan/gemm_batch_invariant.h"

#include <string>

#include "sim/base/time.h"
#include "sim/plan/plan_words.h"

namespace batchvar {

GemmBatchInvariant::GemmBatchInvariant(const GemmPolicySpec& spec) : spec_(spec) {}

GemmDecision GemmBatchInvariant::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  GemmDecision decision;
  decision.tile = TileOf(spec_, shape.dtype);
  decision.m_blocks = CeilDiv(shape.m, decision.tile.m);
  decision.n_blocks = CeilDiv(shape.n, decision.tile.n);
  decision.k_tiles = CeilDiv(shape.k, decision.tile.k);
  decision.k_tiles_per_split = decision.k_tiles;
  CountWaves(device, &decision);
  return decision;
}

void GemmBatchInvariant::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const GemmDecision& decision = plan->decision;
  const int64_t idle = device.sm_count - decision.ctas;
  plan->explain = GridWords(plan->shape, decision);
  plan->explain.push_back(WavesWords(decision, device.sm_count));
  plan->explain.push_back("K = " + std::to_string(plan->shape.k) +
                          " is summed in one pass, ascending, into one fp32 accumulator");
  plan->explain.push_back("tile and pass are the same for every M, so every M shares one class");
  if (idle > 0) {
    plan->explain.push_back("the price: " + CountWords(idle, "SM") +
                            " that a split could have used");
  }
  const int64_t fits = idle > 0 ? device.sm_count / decision.ctas : 1;
  const std::string fill =
      fits > 1 ? "it would fill the device, but how many pieces fit" : "whether a split pays";
  plan->rejected.push_back({"split_k = " + std::to_string(fits > 1 ? fits : 2),
                            fill + " depends on the blocks, so the order would depend on M"});
}

const char* GemmBatchInvariant::name() const { return PolicyName(GemmPolicyKind::kBatchInvariant); }

PolicySource GemmBatchInvariant::source() const {
  return {"batch_invariant_ops", "f22b1fbe", "2025-11-03"};
}

}  // namespace batchvar
