#include "sim/plan/attention_policy.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/attention_batch_invariant.h"
#include "sim/plan/attention_flash.h"
#include "sim/plan/attention_flashinfer.h"
#include "sim/plan/attention_textbook.h"
#include "sim/plan/attention_triton.h"
#include "sim/plan/attention_vllm_earlier.h"
#include "sim/plan/order_digest.h"
#include "sim/plan/plan_words.h"

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

Order AttentionPolicy::OrderOfRow(const AttentionRule& rule, const AttentionRequest& request,
                                  int64_t position, const AttentionHeads& heads,
                                  const DeviceSpec& device) const {
  return RowOrder(OrderFor(rule, request, heads, device), position);
}

int64_t PieceSize(const AttentionRule& rule, int64_t kv_len) {
  if (rule.split_size > 0) return rule.split_size;
  int64_t splits = rule.split_factor;
  if (rule.growth > 0) splits = std::min(splits, CeilDiv(kv_len, rule.growth));
  return CeilDiv(CeilDiv(kv_len, rule.tile_kv), splits) * rule.tile_kv;
}

void AddRequestWords(const AttentionPolicy& policy, const std::vector<AttentionRequest>& step,
                     const AttentionHeads& heads, const DeviceSpec& device,
                     std::vector<std::string>* words) {
  const AttentionRule rule = policy.Rule(step, heads, device);
  for (size_t i = 0; i < step.size();) {
    size_t next = i + 1;
    while (next < step.size() && step[next] == step[i]) ++next;
    const std::string who =
        next - i > 1 ? CountWords(static_cast<int64_t>(next - i), "request") + " of " : "";
    const std::string q_len =
        step[i].q_len > 1 ? "q_len " + std::to_string(step[i].q_len) + ", " : "";
    words->push_back(who + q_len + "kv_len " + std::to_string(step[i].kv_len) + ": " +
                     PiecesWords(policy.OrderFor(rule, step[i], heads, device).pieces));
    i = next;
  }
}

Order RowOrder(const Order& request_order, int64_t position) {
  Order order = request_order;
  order.pieces.clear();
  for (const Range& piece : request_order.pieces) {
    if (piece.begin > position) continue;
    order.pieces.push_back({piece.begin, std::min(piece.end, position + 1)});
  }
  // Rescaling a lone piece multiplies by exp(0) = 1: the same bits as no combining at all.
  if (order.pieces.size() == 1) {
    order.combine = Combine::kNone;
    order.partial = DType::kFp32;
  }
  // As many lanes as pieces, merged one after another: that is list order.
  if (std::ssize(order.pieces) <= order.combine_lanes) order.combine_lanes = 0;
  return order;
}

Digest ClassOfRule(const AttentionRule& rule) {
  Sha256 sha;
  sha.Update("batchvar.attention_rule.1");
  sha.UpdateI64(rule.tile_kv).UpdateI64(rule.split_factor).UpdateI64(rule.split_size);
  uint8_t place = 0;
  for (const int64_t field :
       {rule.growth, int64_t{rule.prefill_tile_kv}, rule.prefill_split_size, rule.shared_prefix}) {
    if (field != 0) sha.UpdateU8(place).UpdateI64(field);
    ++place;
  }
  return sha.FinishDigest();
}

std::unique_ptr<AttentionPolicy> MakeAttentionPolicy(const AttentionPolicySpec& spec) {
  switch (spec.kind) {
    case AttentionPolicyKind::kTextbook: return std::make_unique<AttentionTextbook>(spec);
    case AttentionPolicyKind::kBatchInvariant:
      return std::make_unique<AttentionBatchInvariant>(spec);
    case AttentionPolicyKind::kFa2: return std::make_unique<AttentionFa2>(spec);
    case AttentionPolicyKind::kFa3: return std::make_unique<AttentionFa3>(spec);
    case AttentionPolicyKind::kFlashInfer: return std::make_unique<AttentionFlashInfer>(spec);
    case AttentionPolicyKind::kVllmTriton: return std::make_unique<AttentionVllmTriton>(spec);
    case AttentionPolicyKind::kSglangTriton: return std::make_unique<AttentionSglangTriton>(spec);
    case AttentionPolicyKind::kPagedV1V2: return std::make_unique<AttentionPaged>(spec);
    case AttentionPolicyKind::kCascade: return std::make_unique<AttentionCascade>(spec);
  }
  BV_CHECK(false);
}

}  // namespace batchvar
