#include "sim/report/plan_text.h"

#include "absl/strings/str_cat.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

std::string SourceWords(const PolicySource& source) {
  return absl::StrCat(source.project, " ", source.version, source.date.empty() ? "" : ", ",
                      source.date);
}

std::string RangeWords(const Range& tiles) {
  return absl::StrCat("[", tiles.begin, ", ", tiles.end, ")");
}

// One line when all tiles are cut alike; else the first groups of tiles, each with its pieces.
std::string PiecesText(const GemmPlan& plan) {
  const GemmDecision& decision = plan.decision;
  if (plan.tiles.size() == 1) {
    return absl::StrCat("split   ", decision.split_k, ": ",
                        PiecesWords(plan.tiles.front().order.pieces), ", combine ",
                        CombineName(decision.combine), "\n");
  }
  constexpr size_t kShown = 8;
  std::string text = absl::StrCat("split   from tile to tile, ", decision.split_k,
                                  " at most, combine ", CombineName(decision.combine), "\n");
  for (size_t i = 0; i < plan.tiles.size() && i < kShown; ++i) {
    const TileGroup& group = plan.tiles[i];
    absl::StrAppend(&text, "        tile rows ", RangeWords(group.m_tiles), ", columns ",
                    RangeWords(group.n_tiles), ": ", PiecesWords(group.order.pieces), "\n");
  }
  if (plan.tiles.size() > kShown) {
    absl::StrAppend(&text, "        ... ", plan.tiles.size() - kShown, " more in --json\n");
  }
  return text;
}

std::string GridText(const GemmDecision& decision) {
  std::string text =
      absl::StrCat("grid    ", decision.m_blocks, " x ", decision.n_blocks, " tiles");
  if (decision.decomposition == Decomposition::kStreamK) {
    return absl::StrCat(text, ", ", decision.sk_units, " stream-K units over ", decision.sk_tiles,
                        " of them: ", decision.ctas, " CTAs\n");
  }
  return absl::StrCat(text, " x ", decision.split_k, " = ", decision.ctas, " CTAs\n");
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
  absl::StrAppend(&text, GridText(decision));
  absl::StrAppend(&text, "waves   ", decision.waves, ", the last one on ", decision.last_wave_ctas,
                  " of ", plan.sm_count, " SMs\n");
  absl::StrAppend(&text, PiecesText(plan));
  absl::StrAppend(&text, "class   ", plan.klass.Hex(), "\n");
  absl::StrAppend(&text, "source  ", SourceWords(plan.source), "\n");
  if (!plan.rejected.empty()) text += "\nrejected\n";
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
