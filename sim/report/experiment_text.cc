#include "sim/report/experiment_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace batchvar {
namespace {

constexpr int64_t kDivergencesShown = 5;  // of an arm

std::string ArmLine(const ArmResult& arm) {
  const FirstDivergence first = FirstDivergenceOf(arm);
  const std::string parted =
      first.exists ? absl::StrFormat("%d / %d / %d", first.min, first.median, first.max) : "-";
  const std::string top = absl::StrCat(arm.top, "/", arm.trials);
  const std::string differ = absl::StrCat(arm.differ, "/", arm.trials);
  const std::string batch =
      absl::StrFormat("%d / %d / %d", arm.min_batch, arm.median_batch, arm.max_batch);
  std::string line = absl::StrFormat("%-18s %-8d %-8s %-15s %-10s %s", arm.name, arm.distinct, top,
                                     parted, differ, batch);
  if (!arm.repeat_identical) line += "   NOT REPEATABLE";
  if (arm.inconclusive) line += "   inconclusive: the fillers had finished";
  return line + "\n";
}

std::string DivergenceLine(const TextDivergence& divergence, const TokenWords& words) {
  std::string line =
      absl::StrFormat("  trial %-3d token %-4d %s, not %s; margin %.3g%s", divergence.trial,
                      divergence.position, words(divergence.token_b), words(divergence.token_a),
                      divergence.margin, divergence.tie ? " (tie)" : "");
  if (divergence.row >= 0) {
    absl::StrAppendFormat(&line, "; first other order: %s at position %d, M %d against %d",
                          OpName(divergence.first_op), divergence.row, divergence.m_b,
                          divergence.m_a);
  }
  if (divergence.bits_differ) {
    absl::StrAppendFormat(&line, "; first other bits: %s of layer %d, %d ULP",
                          OpName(divergence.bits_op), divergence.bits_layer,
                          divergence.bits_max_ulp);
  }
  return line + "\n";
}

std::string ArmDivergences(const ArmResult& arm, const TokenWords& words) {
  std::string text = absl::StrCat("\n", arm.name, " against ", arm.against, "\n");
  const auto shown = std::min<int64_t>(kDivergencesShown, std::ssize(arm.divergences));
  for (int64_t i = 0; i < shown; ++i) text += DivergenceLine(arm.divergences[i], words);
  if (shown < std::ssize(arm.divergences)) {
    absl::StrAppend(&text, "  ... ", std::ssize(arm.divergences) - shown, " more in --json\n");
  }
  return text;
}

}  // namespace

std::string ExperimentText(const ExperimentResult& result, const TokenWords& words) {
  std::string text = absl::StrCat(result.model, ", ", result.dtype, ", logits ", result.logits,
                                  ", ", result.prompt_tokens, " prompt tokens, ", result.max_tokens,
                                  " generated, seed ", result.seed, "\n");
  if (!result.plan_model.empty()) {
    absl::StrAppend(&text, "plans borrowed from ", result.plan_model, "\n");
  }
  absl::StrAppendFormat(&text, "\n%-18s %-8s %-8s %-15s %-10s %s\n", "arm", "distinct", "top",
                        "first parted", "differ", "batch");
  for (const ArmResult& arm : result.arms) text += ArmLine(arm);
  for (const ArmResult& arm : result.arms) {
    if (!arm.divergences.empty()) text += ArmDivergences(arm, words);
  }
  int64_t needed = 0, computed = 0;
  for (const ArmResult& arm : result.arms) {
    needed += arm.rows_needed;
    computed += arm.rows_computed;
  }
  absl::StrAppend(&text, "\n", computed, " rows executed for ", needed, " that the trials have\n");
  absl::StrAppend(&text, "verdict: ", result.verdict, "\n");
  return text;
}

}  // namespace batchvar
