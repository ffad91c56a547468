#include "sim/plan/attention_vllm_earlier.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/plan/fa_splits.h"
#include "sim/plan/plan_words.h"
#include "sim/plan/vllm_attention_choice.h"

namespace batchvar {
namespace {

std::string Str(int64_t value) { return std::to_string(value); }

// The decodes of a step as the paged kernels see them; no sequences when there are none.
struct PagedStep {
  int64_t num_seqs = 0;
  int64_t max_kv_len = 1;
};

PagedStep DecodesOf(const std::vector<AttentionRequest>& step) {
  PagedStep out;
  for (const AttentionRequest& request : step) {
    if (request.q_len > 1) continue;
    ++out.num_seqs;
    out.max_kv_len = std::max(out.max_kv_len, request.kv_len);
  }
  return out;
}

// What every request of the step has in cache and shares, in whole pages.
int64_t CommonPrefix(const std::vector<AttentionRequest>& step, int64_t page_size) {
  if (step.empty()) return 0;
  int64_t common = step.front().shared_prefix;
  for (const AttentionRequest& request : step) {
    common = std::min({common, request.shared_prefix, request.NumComputed()});
  }
  return common / page_size * page_size;
}

CascadeChoice ChoiceFor(const std::vector<AttentionRequest>& step, int64_t common_prefix,
                        const AttentionHeads& heads, const DeviceSpec& device) {
  CascadeInput input;
  input.common_prefix = common_prefix;
  input.num_requests = static_cast<int64_t>(step.size());
  input.all_decode = DecodesOf(step).num_seqs == input.num_requests;
  input.q_heads = heads.q_heads;
  input.kv_heads = heads.kv_heads;
  input.sm_count = device.sm_count;
  return ChooseCascade(input);
}

std::string CascadeWords(const CascadeChoice& choice, int64_t prefix, int64_t requests) {
  switch (choice.reason) {
    case CascadeReason::kShortPrefix:
      return "everybody shares " + CountWords(prefix, "KV position") +
             ", fewer than 256: no cascade";
    case CascadeReason::kFewRequests:
      return CountWords(requests, "request") + ", fewer than 8: no cascade";
    case CascadeReason::kNoSplitKv:
      return "everybody shares " + Str(prefix) +
             " KV positions, and split decoding is not to be had: reduced apart";
    case CascadeReason::kFaster:
    case CascadeReason::kSlower: break;
  }
  return "everybody shares " + Str(prefix) + " KV positions: cascade takes " +
         Str(choice.cascade_time) + " tile times, split decoding " +
         Str(choice.flash_decoding_time) + (choice.use ? ": reduced apart" : ": no cascade");
}

}  // namespace

AttentionPaged::AttentionPaged(const AttentionPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.page_size >= 1);
}

AttentionRule AttentionPaged::Rule(const std::vector<AttentionRequest>& step,
                                   const AttentionHeads& heads,
                                   const DeviceSpec& /*device*/) const {
  AttentionRule rule;
  rule.tile_kv = spec_.page_size;
  const PagedStep decodes = DecodesOf(step);
  if (decodes.num_seqs > 0 &&
      ChoosePagedKernel(decodes.max_kv_len, decodes.num_seqs, heads.q_heads).v2) {
    rule.split_size = kPagedPartition;
  }
  return rule;
}

Order AttentionPaged::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                               const AttentionHeads& heads, const DeviceSpec& device) const {
  if (request.q_len > 1) {
    Order order = OrderOfPieces(request.kv_len, request.kv_len,
                                Fa2BlockN(heads.head_dim, /*split=*/false), heads, device);
    order.descending = true;
    return order;
  }
  Order order =
      OrderOfPieces(request.kv_len, PieceSize(rule, request.kv_len), rule.tile_kv, heads, device);
  order.arithmetic = Arithmetic::kFmaChain;
  // A lone partition is copied, not merged: v1's bits.
  if (order.pieces.size() > 1) order.partial = heads.dtype;
  return order;
}

std::vector<std::string> AttentionPaged::Explain(const std::vector<AttentionRequest>& step,
                                                 const AttentionHeads& heads,
                                                 const DeviceSpec& device) const {
  std::vector<std::string> words;
  const PagedStep decodes = DecodesOf(step);
  if (decodes.num_seqs > 0) {
    const PagedChoice choice =
        ChoosePagedKernel(decodes.max_kv_len, decodes.num_seqs, heads.q_heads);
    const std::string size =
        CountWords(decodes.num_seqs, "decode") + " x " + CountWords(heads.q_heads, "head") +
        ", at most " + CountWords(choice.partitions, "partition") + " of " + Str(kPagedPartition);
    words.push_back(size + (choice.v2 ? ": v2, partial results in 16 bits" : ": v1, one pass"));
    words.push_back("the number of decodes and the longest of them decide for everybody");
  }
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionPaged::name() const { return PolicyName(AttentionPolicyKind::kPagedV1V2); }

PolicySource AttentionPaged::source() const {
  return {"vLLM", "paged attention, before 0.32", "2026-11-29"};
}

AttentionCascade::AttentionCascade(const AttentionPolicySpec& spec)
    : spec_(spec), fa2_(spec), fa3_(spec) {
  BV_CHECK(spec.page_size >= 1);
}

const AttentionPolicy& AttentionCascade::Base(const DeviceSpec& device) const {
  if (device.MmaArithmetic() == Arithmetic::kMmaSm90) return fa3_;
  return fa2_;
}

AttentionRule AttentionCascade::Rule(const std::vector<AttentionRequest>& step,
                                     const AttentionHeads& heads, const DeviceSpec& device) const {
  AttentionRule rule = Base(device).Rule(step, heads, device);
  const int64_t prefix = CommonPrefix(step, spec_.page_size);
  if (!ChoiceFor(step, prefix, heads, device).use) return rule;
  if (&Base(device) == &fa2_) rule.tile_kv = Fa2BlockN(heads.head_dim, /*split=*/false);
  rule.split_factor = 1;
  rule.growth = 0;
  rule.shared_prefix = prefix;
  return rule;
}

Order AttentionCascade::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                                 const AttentionHeads& heads, const DeviceSpec& device) const {
  Order order = Base(device).OrderFor(rule, request, heads, device);
  if (rule.shared_prefix == 0 || rule.shared_prefix >= request.kv_len) return order;
  order.pieces = {{0, rule.shared_prefix}, {rule.shared_prefix, request.kv_len}};
  order.combine = Combine::kLse;
  order.partial = heads.dtype;  // each pass writes an output of its own before they are merged
  return order;
}

Order AttentionCascade::OrderOfRow(const AttentionRule& rule, const AttentionRequest& request,
                                   int64_t position, const AttentionHeads& heads,
                                   const DeviceSpec& device) const {
  if (rule.shared_prefix == 0) {
    return Base(device).OrderOfRow(rule, request, position, heads, device);
  }
  return RowOrder(OrderFor(rule, request, heads, device), position);
}

std::vector<std::string> AttentionCascade::Explain(const std::vector<AttentionRequest>& step,
                                                   const AttentionHeads& heads,
                                                   const DeviceSpec& device) const {
  if (step.empty()) return {};
  const int64_t prefix = CommonPrefix(step, spec_.page_size);
  const CascadeChoice choice = ChoiceFor(step, prefix, heads, device);
  std::vector<std::string> words = {
      CascadeWords(choice, prefix, static_cast<int64_t>(step.size()))};
  if (!choice.use) {
    for (std::string& line : Base(device).Explain(step, heads, device)) {
      words.push_back(std::move(line));
    }
    return words;
  }
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionCascade::name() const { return PolicyName(AttentionPolicyKind::kCascade); }

PolicySource AttentionCascade::source() const {
  return {"vLLM", "cascade attention, before 0.32", "2026-11-29"};
}

}  // namespace batchvar
