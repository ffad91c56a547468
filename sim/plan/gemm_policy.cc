#include "sim/plan/gemm_policy.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/gemm_batch_invariant.h"
#include "sim/plan/gemm_textbook.h"
#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

std::vector<Range> PiecesOfK(int64_t k, int64_t k_per_piece) {
  std::vector<Range> pieces;
  pieces.reserve(static_cast<size_t>(CeilDiv(k, k_per_piece)));
  for (int64_t begin = 0; begin < k; begin += k_per_piece) {
    pieces.push_back({begin, std::min(begin + k_per_piece, k)});
  }
  return pieces;
}

}  // namespace

std::vector<TileGroup> GemmPolicy::TileMap(const GemmShape& shape, const GemmDecision& decision,
                                           const DeviceSpec& device) const {
  Order order;
  order.arithmetic = device.MmaArithmetic();
  order.combine = decision.combine;
  order.partial = DType::kFp32;
  order.output = shape.dtype;
  order.pieces = PiecesOfK(shape.k, decision.k_tiles_per_split * decision.tile.k);
  return {{{0, decision.m_blocks}, {0, decision.n_blocks}, std::move(order)}};
}

GemmPlan GemmPolicy::Plan(const GemmShape& shape, const DeviceSpec& device) const {
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

void CountWaves(const DeviceSpec& device, GemmDecision* decision) {
  decision->ctas = decision->m_blocks * decision->n_blocks * decision->split_k;
  decision->waves = CeilDiv(decision->ctas, device.sm_count);
  decision->last_wave_ctas = decision->ctas - (decision->waves - 1) * device.sm_count;
}

std::unique_ptr<GemmPolicy> MakeGemmPolicy(const GemmPolicySpec& spec) {
  switch (spec.kind) {
    case GemmPolicyKind::kTextbook: return std::make_unique<GemmTextbook>(spec);
    case GemmPolicyKind::kBatchInvariant: return std::make_unique<GemmBatchInvariant>(spec);
  }
  BV_CHECK(false);
}

}  // namespace batchvar
