#include "sim/report/experiment_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

constexpr int64_t kPartingsShown = 6;  // of an arm
constexpr size_t kTiesShown = 3;       // of an arm

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

// Trials that part at one token in one way, told once.
struct Parting {
  TextDivergence first;  // of the first such trial
  int64_t trials = 0;
};

std::vector<Parting> PartingsOf(const ArmResult& arm) {
  std::vector<Parting> partings;
  for (const TextDivergence& divergence : arm.divergences) {
    const auto found = std::find_if(partings.begin(), partings.end(), [&](const Parting& parting) {
      return parting.first.position == divergence.position &&
             parting.first.token_b == divergence.token_b;
    });
    if (found == partings.end()) {
      partings.push_back({divergence, 1});
    } else {
      ++found->trials;
    }
  }
  return partings;
}

// "2 x 48 at M 33", with as much more as it takes to tell it from the other sum.
std::string SumWords(const RowSum& sum, const RowSum& other) {
  std::string text = sum.pieces.empty() ? "no such op" : PiecesWords(sum.pieces);
  if (sum.pieces == other.pieces) {
    if (sum.arithmetic != other.arithmetic) {
      absl::StrAppend(&text, " by ", ArithmeticName(sum.arithmetic));
    } else if (sum.block != other.block) {
      absl::StrAppend(&text, " in blocks of ", sum.block);
    } else if (sum.combine != other.combine) {
      absl::StrAppend(&text, " combined ", sum.combine);
    } else if (sum.descending != other.descending) {
      absl::StrAppend(&text, sum.descending ? " downwards" : " upwards");
    }
  }
  return absl::StrCat(text, " at M ", sum.m);
}

// How far the arm's orders move margins, and which tokens that can turn.
std::string NoiseText(const ArmResult& arm) {
  const NoiseSummary noise = SummaryOf(arm.noise, arm.reference);
  std::string text = absl::StrFormat(
      "  margins move by %.2g (median; at most %.2g); %d of %d tokens are closer than they move",
      noise.median_width, noise.max_width, noise.within, arm.reference.size());
  std::vector<size_t> ties;
  for (size_t i = 0; i < arm.reference.size() && ties.size() < kTiesShown; ++i) {
    const float width = arm.noise.high[i] - arm.noise.low[i];
    if (width > 0 && arm.reference[i].Margin() <= width) ties.push_back(i);
  }
  for (size_t i = 0; i < ties.size(); ++i) {
    absl::StrAppendFormat(&text, "%s token %d (%.2g, from %.2g to %.2g)", i == 0 ? ":" : ",",
                          ties[i], arm.reference[ties[i]].Margin(), arm.noise.low[ties[i]],
                          arm.noise.high[ties[i]]);
  }
  if (noise.within > std::ssize(ties)) text += ", ...";
  return text + "\n";
}

std::string PartingText(const Parting& parting, const TokenWords& words) {
  const TextDivergence& first = parting.first;
  std::string text = absl::StrFormat(
      "  %d of them at token %d: %s, not %s; margin %.3g%s", parting.trials, first.position,
      words(first.token_b), words(first.token_a), first.margin, first.tie ? ", a tie" : "");
  if (first.logits.known) {
    absl::StrAppendFormat(&text, "; logits moved by %.2g (%d ULP)", first.logits.max_abs,
                          first.logits.max_ulp);
  }
  text += "\n";
  if (first.row < 0) return text;
  absl::StrAppendFormat(&text, "    trial %d: another order from position %d on, %s: %s, not %s",
                        first.trial, first.row, OpName(first.first_op), SumWords(first.b, first.a),
                        SumWords(first.a, first.b));
  if (first.bits_differ) {
    absl::StrAppendFormat(&text, "; first other bits in %s of layer %d, %d ULP",
                          OpName(first.bits_op), first.bits_layer, first.bits_max_ulp);
  }
  return text + "\n";
}

std::string ArmDivergences(const ArmResult& arm, const TokenWords& words) {
  std::string text = absl::StrCat("\n", arm.name, " against ", arm.against, ": ", arm.differ,
                                  " of ", arm.trials, " trials part\n");
  const std::vector<Parting> partings = PartingsOf(arm);
  const auto shown = std::min<int64_t>(kPartingsShown, std::ssize(partings));
  for (int64_t i = 0; i < shown; ++i) text += PartingText(partings[i], words);
  if (shown < std::ssize(partings)) {
    absl::StrAppend(&text, "  ... ", std::ssize(partings) - shown, " more in --json\n");
  }
  return text + NoiseText(arm);
}

}  // namespace

std::string ExperimentText(const ExperimentResult& result, const TokenWords& words) {
  std::string text = absl::StrCat(result.model, ", ", result.dtype, ", logits ", result.logits,
                                  ", ", result.prompt_tokens, " prompt tokens, ", result.max_tokens,
                                  " generated, seed ", result.seed, "\n");
  if (!result.plan_model.empty()) {
    absl::StrAppend(&text, "plans borrowed from ", result.plan_model, "\n");
  }
  if (result.synthetic) absl::StrAppend(&text, "weights are synthetic\n");
  absl::StrAppendFormat(&text, "\n%-18s %-8s %-8s %-15s %-10s %s\n", "arm", "distinct", "top",
                        "first parted", "differ", "batch");
  for (const ArmResult& arm : result.arms) text += ArmLine(arm);
  for (const ArmResult& arm : result.arms) {
    const bool moved = SummaryOf(arm.noise, arm.reference).max_width > 0;
    if (moved || !arm.divergences.empty()) text += ArmDivergences(arm, words);
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
