// What another order does to logits: how far a margin moves while the text is still the same, and
// how far the two tokens of a parting had moved. Decisions are near ties where the margin is no
// larger than this noise.
#ifndef BATCHVAR_SIM_DIVERGENCE_LOGIT_NOISE_H_
#define BATCHVAR_SIM_DIVERGENCE_LOGIT_NOISE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/divergence/near_tie.h"
#include "sim/numerics/dtype.h"

namespace batchvar {

// By generated token: the least and the largest margin of the reference's token there, over all
// trials that had generated the same text up to it (the reference among them). Negative where a
// trial decided otherwise.
struct NoiseBand {
  std::vector<float> low;
  std::vector<float> high;
};

// Texts as decisions, token by token; a trial may be shorter than the reference.
NoiseBand NoiseBandOf(std::span<const TopTwo> reference,
                      std::span<const std::vector<TopTwo>> trials);

// How a band compares with the margins that it belongs to.
struct NoiseSummary {
  double median_width = 0.0;  // high - low
  double max_width = 0.0;
  int64_t within = 0;  // tokens whose margin is no larger than the band's width there: near ties
};
NoiseSummary SummaryOf(const NoiseBand& band, std::span<const TopTwo> reference);

// Between two decisions on one context: the largest distance of a logit that both know.
struct LogitDifference {
  bool known = false;  // they have a token in common
  double max_abs = 0.0;
  uint32_t max_ulp = 0;  // in numbers of the type in which logits are compared
};
LogitDifference LogitDifferenceOf(const TopTwo& a, const TopTwo& b, DType logits);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_LOGIT_NOISE_H_
