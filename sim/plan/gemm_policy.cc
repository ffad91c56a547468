#include "sim/plan/gemm_policy.h"

#include <utility>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/gemm_batch_invariant.h"
#include "sim/plan/gemm_cutlass_split_k.h"
#include "sim/plan/gemm_deepgemm.h"
#include "sim/plan/gemm_gemv.h"
#include "sim/plan/gemm_sglang_invariant.h"
#include "sim/plan/gemm_stream_k2.h"
#include "sim/plan/gemm_stream_k3.h"
#include "sim/plan/gemm_table_policy.h"
#include "sim/plan/gemm_textbook.h"
#include "sim/plan/k_pieces.h"
#include "sim/plan/order_digest.h"

namespace batchvar {

std::string GemmPolicy::Missing(const GemmShape&, const DeviceSpec&) const { return {}; }

const GemmPolicy& GemmPolicy::At(const GemmShape&, const DeviceSpec&) const { return *this; }

std::vector<TileGroup> GemmPolicy::TileMap(const GemmShape& shape, const GemmDecision& decision,
                                           const DeviceSpec& device) const {
  Order order = MmaOrder(shape, device);
  order.combine = decision.combine;
  order.pieces = EqualPieces(shape.k, decision.k_tiles_per_split * decision.tile.k);
  return {{{0, decision.m_blocks}, {0, decision.n_blocks}, std::move(order)}};
}

GemmPlan GemmPolicy::Plan(const GemmShape& shape, const DeviceSpec& device) const {
  const GemmPolicy& policy = At(shape, device);
  if (&policy != this) return policy.Plan(shape, device);
  BV_CHECK(Missing(shape, device).empty());
  GemmPlan plan;
  plan.policy = name();
  plan.device = device.name;
  plan.sm_count = device.sm_count;
  plan.shape = shape;
  plan.decision = Decide(shape, device);
  plan.tiles = TileMap(shape, plan.decision, device);
  plan.source = source();
  BV_CHECK(IsComplete(plan));
  plan.klass = ClassOfPlan(plan);
  return plan;
}

GemmPlan GemmPolicy::PlanWithWords(const GemmShape& shape, const DeviceSpec& device) const {
  GemmPlan plan = Plan(shape, device);
  Explain(device, &plan);
  return plan;
}

GemmDecision OnePassDecision(const GemmShape& shape, const Tile& tile, const DeviceSpec& device) {
  GemmDecision decision;
  decision.tile = tile;
  decision.m_blocks = CeilDiv(shape.m, tile.m);
  decision.n_blocks = CeilDiv(shape.n, tile.n);
  decision.k_tiles = CeilDiv(shape.k, tile.k);
  decision.k_tiles_per_split = decision.k_tiles;
  CountWaves(decision.m_blocks * decision.n_blocks, device.sm_count, &decision);
  return decision;
}

void SplitEvenly(int64_t k_tiles_per_split, Combine combine, const DeviceSpec& device,
                 GemmDecision* decision) {
  decision->k_tiles_per_split = k_tiles_per_split;
  decision->split_k = static_cast<int32_t>(CeilDiv(decision->k_tiles, k_tiles_per_split));
  decision->combine = decision->split_k > 1 ? combine : Combine::kNone;
  decision->decomposition =
      decision->split_k > 1 ? Decomposition::kSplitK : Decomposition::kDataParallel;
  CountWaves(decision->m_blocks * decision->n_blocks * decision->split_k, device.sm_count,
             decision);
}

void CountWaves(int64_t ctas, int64_t wave_ctas, GemmDecision* decision) {
  decision->ctas = ctas;
  decision->waves = CeilDiv(ctas, wave_ctas);
  decision->last_wave_ctas = ctas - (decision->waves - 1) * wave_ctas;
}

Order MmaOrder(const GemmShape& shape, const DeviceSpec& device) {
  Order order;
  order.arithmetic = device.MmaArithmetic();
  order.partial = DType::kFp32;
  order.output = shape.dtype;
  return order;
}

std::unique_ptr<GemmPolicy> MakeGemmPolicy(const GemmPolicySpec& spec) {
  switch (spec.kind) {
    case GemmPolicyKind::kTextbook: return std::make_unique<GemmTextbook>(spec);
    case GemmPolicyKind::kBatchInvariant:
      if (spec.variant == InvariantVariant::kSglang) {
        return std::make_unique<GemmSglangInvariant>(spec);
      }
      return std::make_unique<GemmBatchInvariant>(spec);
    case GemmPolicyKind::kCutlassSplitK: return std::make_unique<GemmCutlassSplitK>(spec);
    case GemmPolicyKind::kStreamK:
      if (spec.generation == 2) return std::make_unique<GemmStreamK2>(spec);
      return std::make_unique<GemmStreamK3>(spec);
    case GemmPolicyKind::kDeepGemm: return std::make_unique<GemmDeepGemm>(spec);
    case GemmPolicyKind::kGemv: return std::make_unique<GemmGemv>(spec);
    case GemmPolicyKind::kTable:
    case GemmPolicyKind::kNvHeuristics: return std::make_unique<GemmTablePolicy>(spec);
  }
  BV_CHECK(false);
}

}  // namespace batchvar
