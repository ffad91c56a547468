#include "sim/divergence/near_tie.h"

#include "sim/base/check.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {
namespace {

bool Beats(float a, float b) {
  if (IsNan(BitsOf(b))) return !IsNan(BitsOf(a));
  return a > b;
}

}  // namespace

TopTwo FindTopTwo(std::span<const float> logits) {
  BV_CHECK(!logits.empty());
  TopTwo best;
  best.top = 0;
  best.top_logit = logits[0];
  for (int64_t i = 1; i < std::ssize(logits); ++i) {
    if (Beats(logits[i], best.top_logit)) {
      best.runner_up = best.top;
      best.runner_up_logit = best.top_logit;
      best.top = i;
      best.top_logit = logits[i];
    } else if (best.runner_up < 0 || Beats(logits[i], best.runner_up_logit)) {
      best.runner_up = i;
      best.runner_up_logit = logits[i];
    }
  }
  return best;
}

}  // namespace batchvar
