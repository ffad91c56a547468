#include "sim/plan/attention_triton.h"

#include <algorithm>
#include <limits>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/plan_words.h"
#include "sim/plan/triton_splits.h"

namespace batchvar {
namespace {

constexpr int32_t kVllmSegments = 16;
constexpr int32_t kVllmSegmentsSm120 = 64;

// SGLang 0.5.23, decode_attention.py and extend_attention.py.
constexpr int32_t kSglangMinBlockKv = 32;    // pieces of a decode are whole multiples of it
constexpr int32_t kSglangBlockGrouped = 32;  // KV block of a decode, GQA
constexpr int32_t kSglangBlockMha = 64;
constexpr int32_t kSglangBlockExtend = 64;  // of a longer query, Hopper

std::string Str(int64_t value) { return std::to_string(value); }

VllmTritonPlan PlanVllm(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                        const DeviceSpec& device, const AttentionPolicySpec& spec) {
  VllmTritonInput input;
  input.num_seqs = static_cast<int64_t>(step.size());
  input.total_q = 0;
  for (const AttentionRequest& request : step) {
    input.max_q_len = std::max(input.max_q_len, request.q_len);
    input.total_q += request.q_len;
  }
  input.q_heads = heads.q_heads;
  input.kv_heads = heads.kv_heads;
  input.decode_cudagraph = spec.cuda_graph;
  input.segments = spec.segments;
  if (spec.segments == 0) {
    const bool fills = input.num_seqs * heads.kv_heads * kVllmSegments >= device.sm_count;
    input.segments =
        device.compute_capability == 120 && !fills ? kVllmSegmentsSm120 : kVllmSegments;
  }
  return PlanVllmTriton(input);
}

std::vector<int64_t> DecodeLengths(const std::vector<AttentionRequest>& step) {
  std::vector<int64_t> kv_lens;
  for (const AttentionRequest& request : step) {
    if (request.q_len == 1) kv_lens.push_back(request.kv_len);
  }
  return kv_lens;
}

SglangChunks SglangChunksOf(const std::vector<int64_t>& kv_lens, const AttentionHeads& heads,
                            const DeviceSpec& device, const AttentionPolicySpec& spec) {
  return PlanSglangTriton(
      {kv_lens, heads.q_heads, heads.kv_heads, spec.max_kv_splits, device.sm_count});
}

}  // namespace

AttentionVllmTriton::AttentionVllmTriton(const AttentionPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.segments >= 0);
}

AttentionRule AttentionVllmTriton::Rule(const std::vector<AttentionRequest>& step,
                                        const AttentionHeads& heads,
                                        const DeviceSpec& device) const {
  const VllmTritonPlan plan = PlanVllm(step, heads, device, spec_);
  AttentionRule rule;
  rule.tile_kv = plan.tile;
  rule.split_factor = plan.segments;
  return rule;
}

Order AttentionVllmTriton::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                                    const AttentionHeads& heads, const DeviceSpec& device) const {
  return OrderOfPieces(request.kv_len, PieceSize(rule, request.kv_len), rule.tile_kv, heads,
                       device);
}

std::vector<std::string> AttentionVllmTriton::Explain(const std::vector<AttentionRequest>& step,
                                                      const AttentionHeads& heads,
                                                      const DeviceSpec& device) const {
  const VllmTritonPlan plan = PlanVllm(step, heads, device, spec_);
  const bool all_decode = DecodeLengths(step).size() == step.size();
  const std::string count = CountWords(static_cast<int64_t>(step.size()), "sequence");
  std::vector<std::string> words;
  if (plan.three_d) {
    words.push_back(count + ", all decodes, at most " + Str(plan.seq_threshold_3d) +
                    ": the 3D kernel, " + Str(plan.segments) + " segments each");
  } else if (spec_.segments == 1) {
    words.push_back("the 2D kernel, as asked: nobody is split");
  } else if (!all_decode) {
    words.push_back(
        "a query of more than one token is in the step: the 2D kernel for everybody, "
        "nobody is split");
  } else {
    words.push_back(count + ", more than " + Str(plan.seq_threshold_3d) +
                    ": the 2D kernel for everybody, nobody is split");
  }
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionVllmTriton::name() const {
  return PolicyName(AttentionPolicyKind::kVllmTriton);
}

PolicySource AttentionVllmTriton::source() const { return {"vLLM", "0.32.0", "2026-10"}; }

AttentionSglangTriton::AttentionSglangTriton(const AttentionPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.max_kv_splits >= 1 && spec.split_tile_size >= 0);
}

bool AttentionSglangTriton::RuleUsesKvLengths() const {
  return spec_.split_tile_size == 0 && !spec_.static_kv_splits;
}

AttentionRule AttentionSglangTriton::Rule(const std::vector<AttentionRequest>& step,
                                          const AttentionHeads& heads,
                                          const DeviceSpec& device) const {
  AttentionRule rule;
  rule.tile_kv = kSglangMinBlockKv;
  if (spec_.split_tile_size > 0) {
    rule.split_factor = std::numeric_limits<int32_t>::max();
    rule.growth = spec_.split_tile_size;
    return rule;
  }
  rule.split_factor = spec_.max_kv_splits;
  const std::vector<int64_t> kv_lens = DecodeLengths(step);
  if (spec_.static_kv_splits || kv_lens.empty()) return rule;
  const SglangChunks chunks = SglangChunksOf(kv_lens, heads, device, spec_);
  // The larger of two counts is the count by the smaller chunk.
  rule.growth = std::min(chunks.by_spread, chunks.by_grid);
  return rule;
}

Order AttentionSglangTriton::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                                      const AttentionHeads& heads, const DeviceSpec& device) const {
  if (request.q_len == 1) {
    const bool grouped = heads.q_heads > heads.kv_heads;
    Order order = OrderOfPieces(request.kv_len, PieceSize(rule, request.kv_len),
                                grouped ? kSglangBlockGrouped : kSglangBlockMha, heads, device);
    if (!grouped) order.arithmetic = Arithmetic::kFmaChain;  // no tensor cores for one row
    return order;
  }
  Order order = OrderOfPieces(request.kv_len, request.kv_len, kSglangBlockExtend, heads, device);
  const int64_t cached = request.NumComputed();
  if (cached % kSglangBlockExtend != 0) {  // else blocks fall as if there had been no cut
    order.pieces = {{0, cached}, {cached, request.kv_len}};
    order.combine = Combine::kChained;
  }
  return order;
}

std::vector<std::string> AttentionSglangTriton::Explain(const std::vector<AttentionRequest>& step,
                                                        const AttentionHeads& heads,
                                                        const DeviceSpec& device) const {
  std::vector<std::string> words;
  const std::vector<int64_t> kv_lens = DecodeLengths(step);
  if (spec_.split_tile_size > 0) {
    words.push_back("one split for each " + Str(spec_.split_tile_size) +
                    " KV positions of a request, whoever else is there");
  } else if (spec_.static_kv_splits) {
    words.push_back(CountWords(spec_.max_kv_splits, "split") + " for every decode");
  } else if (!kv_lens.empty()) {
    const SglangChunks chunks = SglangChunksOf(kv_lens, heads, device, spec_);
    const auto [low, high] = std::minmax_element(kv_lens.begin(), kv_lens.end());
    words.push_back(CountWords(static_cast<int64_t>(kv_lens.size()), "decode") + " of " +
                    Str(*low) + " to " + Str(*high) + " KV positions: one split for each " +
                    Str(chunks.by_spread) + " (spread of lengths) or " + Str(chunks.by_grid) +
                    " (blocks wanted on " + Str(device.sm_count) +
                    " SMs), whichever gives more; neighbours move both");
  }
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionSglangTriton::name() const {
  return PolicyName(AttentionPolicyKind::kSglangTriton);
}

PolicySource AttentionSglangTriton::source() const { return {"SGLang", "0.5.23", "2026-11"}; }

}  // namespace batchvar
