// Attention decomposition policies. The whole step is the input, because a policy may let one
// request's split count depend on everybody else's KV length.
//
// Rule() looks at the step once; OrderFor() then cuts one request under it. A query row at position
// p sees the pieces clipped to [0, p + 1): RowOrder(). A prefill chunk's class is that of its last
// row. Where a kernel cuts a chunk's rows apart by their query tile, OrderOfRow() says so. The
// order of requests in the step never matters.
#ifndef BATCHVAR_SIM_PLAN_ATTENTION_POLICY_H_
#define BATCHVAR_SIM_PLAN_ATTENTION_POLICY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/plan/device_spec.h"
#include "sim/plan/plan.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

// Heads on this rank; kv_heads divides q_heads.
struct AttentionHeads {
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  int32_t head_dim = 128;
  DType dtype = DType::kBf16;
};

class AttentionPolicy {
 public:
  virtual ~AttentionPolicy() = default;
  virtual AttentionRule Rule(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                             const DeviceSpec& device) const = 0;
  // False when Rule() looks at query lengths only, so that equal decode steps share a rule.
  virtual bool RuleUsesKvLengths() const { return true; }
  // True when Rule() looks at AttentionRequest::shared_prefix; nobody counts it otherwise.
  virtual bool UsesSharedPrefix() const { return false; }
  // The order of the request's last query row under `rule`.
  virtual Order OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                         const AttentionHeads& heads, const DeviceSpec& device) const = 0;
  // The order of the query row at `position`, in [request.NumComputed(), request.kv_len).
  virtual Order OrderOfRow(const AttentionRule& rule, const AttentionRequest& request,
                           int64_t position, const AttentionHeads& heads,
                           const DeviceSpec& device) const;
  virtual std::vector<std::string> Explain(const std::vector<AttentionRequest>& step,
                                           const AttentionHeads& heads,
                                           const DeviceSpec& device) const = 0;
  virtual const char* name() const = 0;
  virtual PolicySource source() const = 0;

  std::vector<AttentionRequestPlan> Plan(const std::vector<AttentionRequest>& step,
                                         const AttentionHeads& heads,
                                         const DeviceSpec& device) const;
};

// KV [0, kv_len) in ascending pieces of `positions_per_piece`, the last one shorter: for policies.
Order OrderOfPieces(int64_t kv_len, int64_t positions_per_piece, int32_t tile_kv,
                    const AttentionHeads& heads, const DeviceSpec& device);

// KV positions of one piece of a request of `kv_len` under a rule: its split_size, else whole tiles
// shared out over as many pieces as the rule allows.
int64_t PieceSize(const AttentionRule& rule, int64_t kv_len);

// One line a request for Explain(): its length and its pieces, equal neighbours joined.
void AddRequestWords(const AttentionPolicy& policy, const std::vector<AttentionRequest>& step,
                     const AttentionHeads& heads, const DeviceSpec& device,
                     std::vector<std::string>* words);

// The order that the query row at position `position` (< kv_len) sees: pieces clipped to
// [0, position + 1), empty ones dropped.
Order RowOrder(const Order& request_order, int64_t position);

// Digest of a rule, so that steps can be counted by it.
Digest ClassOfRule(const AttentionRule& rule);

std::unique_ptr<AttentionPolicy> MakeAttentionPolicy(const AttentionPolicySpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ATTENTION_POLICY_H_
