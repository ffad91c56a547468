#include "sim/divergence/logit_noise.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/divergence/bits_difference.h"

namespace batchvar {
namespace {

// How far `token` leads the best other token; negative where another one leads.
float LeadOf(const TopTwo& decision, int64_t token) {
  return decision.top == token ? decision.Margin() : -decision.Margin();
}

}  // namespace

NoiseBand NoiseBandOf(std::span<const TopTwo> reference,
                      std::span<const std::vector<TopTwo>> trials) {
  NoiseBand band;
  for (const TopTwo& decision : reference) {
    band.low.push_back(decision.Margin());
    band.high.push_back(decision.Margin());
  }
  for (const std::vector<TopTwo>& trial : trials) {
    const size_t count = std::min(trial.size(), reference.size());
    for (size_t i = 0; i < count; ++i) {
      const float lead = LeadOf(trial[i], reference[i].top);
      band.low[i] = std::min(band.low[i], lead);
      band.high[i] = std::max(band.high[i], lead);
      if (trial[i].top != reference[i].top) break;  // from here on another context
    }
  }
  return band;
}

NoiseSummary SummaryOf(const NoiseBand& band, std::span<const TopTwo> reference) {
  BV_CHECK(band.low.size() == reference.size() && band.high.size() == reference.size());
  NoiseSummary summary;
  std::vector<double> widths;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double width = double{band.high[i]} - band.low[i];
    widths.push_back(width);
    if (width > 0 && reference[i].Margin() <= width) ++summary.within;
  }
  if (widths.empty()) return summary;
  std::sort(widths.begin(), widths.end());
  summary.median_width = widths[widths.size() / 2];
  summary.max_width = widths.back();
  return summary;
}

LogitDifference LogitDifferenceOf(const TopTwo& a, const TopTwo& b, DType logits) {
  std::vector<float> of_a, of_b;
  const auto add = [&](int64_t token_a, float logit_a, int64_t token_b, float logit_b) {
    if (token_a < 0 || token_a != token_b) return;
    of_a.push_back(logit_a);
    of_b.push_back(logit_b);
  };
  add(a.top, a.top_logit, b.top, b.top_logit);
  add(a.top, a.top_logit, b.runner_up, b.runner_up_logit);
  add(a.runner_up, a.runner_up_logit, b.top, b.top_logit);
  add(a.runner_up, a.runner_up_logit, b.runner_up, b.runner_up_logit);
  LogitDifference difference;
  if (of_a.empty()) return difference;
  const BitsDifference bits = CompareBits(of_a, of_b, logits);
  difference.known = true;
  difference.max_abs = bits.max_abs;
  difference.max_ulp = logits == DType::kFp32 ? bits.max_ulp : bits.max_ulp_16bit;
  return difference;
}

}  // namespace batchvar
