#include "sim/plan/attention_policy.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/attention_batch_invariant.h"
#include "sim/plan/attention_textbook.h"
#include "sim/plan/order_digest.h"

namespace batchvar {

std::vector<AttentionRequestPlan> AttentionPolicy::Plan(const std::vector<AttentionRequest>& step,
                                                        const AttentionHeads& heads,
                                                        const DeviceSpec& device) const {
  const AttentionRule rule = Rule(step, heads, device);
  std::vector<AttentionRequestPlan> plans;
  plans.reserve(step.size());
  for (const AttentionRequest& request : step) {
    BV_CHECK(request.q_len >= 1 && request.kv_len >= request.q_len);
    AttentionRequestPlan& plan = plans.emplace_back();
    plan.request = request;
    plan.order = OrderFor(rule, request, heads, device);
    BV_CHECK(CoversOnce(plan.order, request.kv_len));
    plan.num_splits = static_cast<int32_t>(plan.order.pieces.size());
    plan.klass = ClassOfOrder(plan.order);
  }
  return plans;
}

Order OrderOfPieces(int64_t kv_len, int64_t positions_per_piece, int32_t tile_kv,
                    const AttentionHeads& heads, const DeviceSpec& device) {
  BV_CHECK(positions_per_piece >= 1);
  Order order;
  order.arithmetic = device.MmaArithmetic();
  order.partial = DType::kFp32;
  order.output = heads.dtype;
  order.block = tile_kv;
  order.pieces.reserve(static_cast<size_t>(CeilDiv(kv_len, positions_per_piece)));
  for (int64_t begin = 0; begin < kv_len; begin += positions_per_piece) {
    order.pieces.push_back({begin, std::min(begin + positions_per_piece, kv_len)});
  }
  order.combine = order.pieces.size() > 1 ? Combine::kLse : Combine::kNone;
  return order;
}

Order RowOrder(const Order& request_order, int64_t position) {
  Order order = request_order;
  order.pieces.clear();
  for (const Range& piece : request_order.pieces) {
    if (piece.begin > position) continue;
    order.pieces.push_back({piece.begin, std::min(piece.end, position + 1)});
  }
  // Rescaling a lone piece multiplies by exp(0) = 1: the same bits as no combining at all.
  if (order.pieces.size() == 1) order.combine = Combine::kNone;
  return order;
}

Digest ClassOfRule(const AttentionRule& rule) {
  Sha256 sha;
  sha.Update("batchvar.attention_rule.1");
  sha.UpdateI64(rule.tile_kv).UpdateI64(rule.split_factor).UpdateI64(rule.split_size);
  return sha.FinishDigest();
}

std::unique_ptr<AttentionPolicy> MakeAttentionPolicy(const AttentionPolicySpec& spec) {
  switch (spec.kind) {
    case AttentionPolicyKind::kTextbook: return std::make_unique<AttentionTextbook>(spec);
    case AttentionPolicyKind::kBatchInvariant:
      return std::make_unique<AttentionBatchInvariant>(spec);
  }
  BV_CHECK(false);
}

}  // namespace batchvar
