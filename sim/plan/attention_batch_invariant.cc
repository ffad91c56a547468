#include "sim/plan/attention_batch_invariant.h"

#include <algorithm>

#include "sim/base/check.h"

namespace batchvar {

AttentionBatchInvariant::AttentionBatchInvariant(const AttentionPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.tile_kv >= 1 && spec.split_size >= 1);
}

AttentionRule AttentionBatchInvariant::Rule(const std::vector<AttentionRequest>& /*step*/,
                                            const AttentionHeads& /*heads*/,
                                            const DeviceSpec& /*device*/) const {
  AttentionRule rule;
  rule.tile_kv = spec_.tile_kv;
  rule.split_size = spec_.split_size;
  return rule;
}

Order AttentionBatchInvariant::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                                        const AttentionHeads& heads,
                                        const DeviceSpec& device) const {
  if (!spec_.prefix_apart) {
    return OrderOfPieces(request.kv_len, rule.split_size, rule.tile_kv, heads, device);
  }
  Order order = OrderOfPieces(request.NumComputed(), rule.split_size, rule.tile_kv, heads, device);
  for (int64_t begin = request.NumComputed(); begin < request.kv_len; begin += rule.split_size) {
    order.pieces.push_back({begin, std::min(begin + rule.split_size, request.kv_len)});
  }
  order.combine = order.pieces.size() > 1 ? Combine::kLse : Combine::kNone;
  return order;
}

std::vector<std::string> AttentionBatchInvariant::Explain(const std::vector<AttentionRequest>& step,
                                                          const AttentionHeads& heads,
                                                          const DeviceSpec& device) const {
  const AttentionRule rule = Rule(step, heads, device);
  std::vector<std::string> words = {
      "pieces of " + std::to_string(rule.split_size) + " KV positions, counted from token 0",
      "where a piece ends depends on the request's own length alone, never on its neighbours"};
  if (spec_.prefix_apart) {
    words = {"pieces of " + std::to_string(rule.split_size) +
                 " KV positions: the cached prefix from token 0, the step's own tokens from theirs",
             "a chunk that does not start on a multiple of " + std::to_string(rule.split_size) +
                 " moves the pieces: neighbours matter through the chunk cuts"};
  }
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionBatchInvariant::name() const {
  return PolicyName(AttentionPolicyKind::kBatchInvariant);
}

// SGLang's deterministic decode and vLLM's FlashInfer path both cut at 2048 positions.
PolicySource AttentionBatchInvariant::source() const { return {"vLLM", "0.32.0", "2026-10"}; }

}  // namespace batchvar
