#include "sim/report/plan_text.h"

#include "absl/strings/str_cat.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

std::string SourceWords(const PolicySource& source) {
  return absl::StrCat(source.project, " ", source.version, ", ", source.date);
}

}  // namespace

std::string GemmPlanText(const GemmPlan& plan) {
  const GemmDecision& decision = plan.decision;
  const Tile& tile = decision.tile;
  std::string text = absl::StrCat(plan.policy, " on ", plan.device, " (", plan.sm_count,
                                  " SMs): M ", plan.shape.m, ", N ", plan.shape.n, ", K ",
                                  plan.shape.k, ", ", DTypeName(plan.shape.dtype), "\n\n");
  for (const std::string& line : plan.explain) absl::StrAppend(&text, "  ", line, "\n");
  absl::StrAppend(&text, "\ntile    ", tile.m, " x ", tile.n, " x ", tile.k, "\n");
  absl::StrAppend(&text, "grid    ", decision.m_blocks, " x ", decision.n_blocks, " tiles x ",
                  decision.split_k, " = ", decision.ctas, " CTAs\n");
  absl::StrAppend(&text, "waves   ", decision.waves, ", the last one on ", decision.last_wave_ctas,
                  " of ", plan.sm_count, " SMs\n");
  absl::StrAppend(&text, "split   ", decision.split_k, ": ",
                  PiecesWords(plan.tiles.front().order.pieces), ", combine ",
                  CombineName(decision.combine), "\n");
  absl::StrAppend(&text, "class   ", plan.klass.Hex(), "\n");
  absl::StrAppend(&text, "source  ", SourceWords(plan.source), "\n\nrejected\n");
  for (const RejectedCandidate& rejected : plan.rejected) {
    absl::StrAppend(&text, "  ", rejected.candidate, ": ", rejected.reason, "\n");
  }
  return text;
}

std::string AttentionPlanText(const AttentionPolicy& policy,
                              const std::vector<AttentionRequest>& step,
                              const AttentionHeads& heads, const DeviceSpec& device) {
  std::string text = absl::StrCat(
      policy.name(), " on ", device.name, " (", device.sm_count,
      " SMs): ", CountWords(static_cast<int64_t>(step.size()), "request"), ", ", heads.q_heads,
      " query heads, ", heads.kv_heads, " KV heads, ", DTypeName(heads.dtype), "\n\n");
  for (const std::string& line : policy.Explain(step, heads, device)) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
  absl::StrAppend(&text, "\n");
  for (const AttentionRequestPlan& plan : policy.Plan(step, heads, device)) {
    absl::StrAppend(&text, "q_len ", plan.request.q_len, "  kv_len ", plan.request.kv_len,
                    "  num_splits ", plan.num_splits, "  combine ", CombineName(plan.order.combine),
                    "  class ", plan.klass.Hex(), "\n");
  }
  absl::StrAppend(&text, "\nsource  ", SourceWords(policy.source()), "\n");
  return text;
}

}  // namespace batchvar
