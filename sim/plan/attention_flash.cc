#include "sim/plan/attention_flash.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/fa_splits.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

std::string Str(int64_t value) { return std::to_string(value); }

bool AllDecode(const std::vector<AttentionRequest>& step) {
  return std::all_of(step.begin(), step.end(),
                     [](const AttentionRequest& request) { return request.q_len == 1; });
}

int64_t LongestKv(const std::vector<AttentionRequest>& step) {
  int64_t longest = 0;
  for (const AttentionRequest& request : step) longest = std::max(longest, request.kv_len);
  return longest;
}

Order DescendingOrder(int64_t kv_len, int64_t piece, int32_t block_n, const AttentionHeads& heads,
                      const DeviceSpec& device) {
  Order order = OrderOfPieces(kv_len, piece, block_n, heads, device);
  order.descending = true;
  return order;
}

Fa2Decode PlanFa2(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                  const DeviceSpec& device, int32_t forced_splits) {
  Fa2Shape shape;
  shape.batch = static_cast<int64_t>(step.size());
  shape.q_heads = heads.q_heads;
  shape.kv_heads = heads.kv_heads;
  shape.head_dim = heads.head_dim;
  shape.max_kv_len = LongestKv(step);
  return PlanFa2Decode(shape, device.sm_count, forced_splits);
}

Fa3Shape Fa3ShapeOf(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                    const AttentionPolicySpec& spec) {
  Fa3Shape shape;
  shape.batch = static_cast<int64_t>(step.size());
  for (const AttentionRequest& request : step) {
    shape.max_q_len = std::max(shape.max_q_len, request.q_len);
  }
  shape.q_heads = heads.q_heads;
  shape.kv_heads = heads.kv_heads;
  shape.head_dim = heads.head_dim;
  shape.max_kv_len = LongestKv(step);
  shape.page_size = spec.page_size;
  shape.varlen = spec.varlen;
  // hopper/flash_api.cpp drops the causal flag where no query is longer than one token, but for
  // paged KV of these widths; tiles without it may be wider (vllm-project/vllm#51902, 2026-08).
  const bool keeps_flag = spec.page_size > 0 && heads.head_dim > 64 && heads.head_dim <= 128;
  shape.causal = shape.max_q_len > 1 || keeps_flag;
  return shape;
}

// The plan of a step; without varlen the static count stands in `upper` alone.
Fa3Dynamic PlanFa3(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                   const DeviceSpec& device, const AttentionPolicySpec& spec) {
  const Fa3Shape shape = Fa3ShapeOf(step, heads, spec);
  if (!spec.varlen || step.empty()) {
    Fa3Dynamic plan;
    plan.upper = PlanFa3Static(shape, device.sm_count, spec.num_splits);
    return plan;
  }
  std::vector<int64_t> q_lens;
  std::vector<int64_t> kv_lens;
  for (const AttentionRequest& request : step) {
    q_lens.push_back(request.q_len);
    kv_lens.push_back(request.kv_len);
  }
  return PlanFa3Dynamic(q_lens, kv_lens, shape, device.sm_count, spec.num_splits);
}

// The count that FA3 arrives at before it looks at single requests.
std::string Fa3UpperWords(const Fa3Static& upper, const AttentionPolicySpec& spec, size_t requests,
                          int32_t sm_count) {
  const std::string blocks = CountWords(upper.total_m_blocks, "block");
  const std::string whose = spec.varlen ? "one request alone: " : "the whole batch: ";
  if (spec.num_splits > 0) return "at most " + CountWords(upper.num_splits, "split") + ", as asked";
  if (requests > static_cast<size_t>(kFa3MaxDynamicBatch) && spec.varlen) {
    return "more than " + Str(kFa3MaxDynamicBatch) + " requests: nobody is split";
  }
  if (upper.num_splits > 1) {
    return whose + blocks + " on " + Str(sm_count) + " SMs, " +
           CountWords(upper.n_blocks, "KV block") + " of " + Str(upper.tile.block_n) +
           ": at most " + CountWords(upper.num_splits, "split");
  }
  return whose + blocks + " on " + Str(sm_count) + " SMs, " +
         CountWords(upper.n_blocks, "KV block") + ": no split";
}

}  // namespace

AttentionRule AttentionFa2::Rule(const std::vector<AttentionRequest>& step,
                                 const AttentionHeads& heads, const DeviceSpec& device) const {
  AttentionRule rule;
  rule.tile_kv = Fa2BlockN(heads.head_dim, /*split=*/false);
  if (step.empty() || !AllDecode(step)) return rule;
  const Fa2Decode plan = PlanFa2(step, heads, device, spec_.num_splits);
  rule.tile_kv = plan.kernel_block_n;
  rule.split_factor = plan.num_splits;
  return rule;
}

Order AttentionFa2::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                             const AttentionHeads& heads, const DeviceSpec& device) const {
  return DescendingOrder(request.kv_len, PieceSize(rule, request.kv_len), rule.tile_kv, heads,
                         device);
}

std::vector<std::string> AttentionFa2::Explain(const std::vector<AttentionRequest>& step,
                                               const AttentionHeads& heads,
                                               const DeviceSpec& device) const {
  std::vector<std::string> words;
  if (step.empty()) return words;
  if (!AllDecode(step)) {
    words.push_back(
        "a query of more than one token is in the step: the varlen kernel runs "
        "everybody, and it never splits");
  } else {
    const Fa2Decode plan = PlanFa2(step, heads, device, spec_.num_splits);
    const std::string blocks = Str(plan.blocks) + " blocks";
    words.push_back(CountWords(static_cast<int64_t>(step.size()), "request") + " x " +
                    CountWords(plan.blocks / static_cast<int64_t>(step.size()), "block") + " = " +
                    blocks + "; the longest request has " + CountWords(plan.n_blocks, "KV block") +
                    " of " + Str(plan.heuristic_block_n));
    if (spec_.num_splits > 0) {
      words.push_back(CountWords(plan.num_splits, "split") + ", as asked");
    } else if (plan.num_splits == 1) {
      words.push_back(blocks + " against " + Str(2 * device.sm_count) +
                      " that run at once: no split, and KV blocks of " + Str(plan.kernel_block_n));
    } else {
      words.push_back(CountWords(plan.num_splits, "split") +
                      " for everybody: the fewest that fill " + Str(2 * device.sm_count) +
                      " places nearly as well as the best; a neighbour more moves it");
    }
  }
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionFa2::name() const { return PolicyName(AttentionPolicyKind::kFa2); }

PolicySource AttentionFa2::source() const { return {"flash-attention", "0251105a", "2026-08-15"}; }

AttentionRule AttentionFa3::Rule(const std::vector<AttentionRequest>& step,
                                 const AttentionHeads& heads, const DeviceSpec& device) const {
  const Fa3Dynamic plan = PlanFa3(step, heads, device, spec_);
  AttentionRule rule;
  rule.tile_kv = plan.upper.tile.block_n;
  rule.split_factor = plan.upper.num_splits;
  rule.growth = plan.blocks_per_sm * rule.tile_kv;
  return rule;
}

Order AttentionFa3::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                             const AttentionHeads& heads, const DeviceSpec& device) const {
  return DescendingOrder(request.kv_len, PieceSize(rule, request.kv_len), rule.tile_kv, heads,
                         device);
}

Order AttentionFa3::OrderOfRow(const AttentionRule& rule, const AttentionRequest& request,
                               int64_t position, const AttentionHeads& heads,
                               const DeviceSpec& device) const {
  BV_CHECK(position >= request.NumComputed() && position < request.kv_len);
  const int64_t group = heads.q_heads / heads.kv_heads;
  const int64_t block_m =
      Fa3TileSm90(heads.head_dim, heads.head_dim, /*causal=*/true, false, false).block_m;
  const int64_t last_packed_row = (position - request.NumComputed() + 1) * group - 1;
  const int64_t tile_end = (last_packed_row / block_m + 1) * block_m;
  const int64_t last_token = (tile_end - 1) / group;  // of the query tile, in the chunk
  const int64_t seen = std::min(request.kv_len, request.NumComputed() + last_token + 1);
  // The count is the request's; what it shares out is what the query tile sees.
  AttentionRule of_tile = rule;
  of_tile.growth = 0;
  if (rule.growth > 0) {
    of_tile.split_factor = static_cast<int32_t>(
        std::min<int64_t>(rule.split_factor, CeilDiv(request.kv_len, rule.growth)));
  }
  return RowOrder(DescendingOrder(seen, PieceSize(of_tile, seen), rule.tile_kv, heads, device),
                  position);
}

std::vector<std::string> AttentionFa3::Explain(const std::vector<AttentionRequest>& step,
                                               const AttentionHeads& heads,
                                               const DeviceSpec& device) const {
  std::vector<std::string> words;
  if (step.empty()) return words;
  const Fa3Dynamic plan = PlanFa3(step, heads, device, spec_);
  words.push_back(Fa3UpperWords(plan.upper, spec_, step.size(), device.sm_count));
  if (plan.blocks_per_sm > 0) {
    words.push_back("all requests together ask " + CountWords(plan.blocks_per_sm, "KV block") +
                    " of an SM, so a request gets one split for each " +
                    Str(plan.blocks_per_sm * plan.upper.tile.block_n) +
                    " KV positions: its neighbours' lengths decide");
  }
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionFa3::name() const { return PolicyName(AttentionPolicyKind::kFa3); }

PolicySource AttentionFa3::source() const { return {"flash-attention", "0251105a", "2026-08-15"}; }

}  // namespace batchvar
