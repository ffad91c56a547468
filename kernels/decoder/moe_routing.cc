#include "kernels/decoder/moe_routing.h"

#include <vector>

#include "sim/base/check.h"
#include "sim/numerics/elementary.h"

namespace batchvar {

MoeRoute ChooseRoute(std::span<const float> logits, int32_t chosen, bool renormalise) {
  const auto count = static_cast<int32_t>(logits.size());
  BV_CHECK(chosen >= 1 && chosen <= count);
  float largest = logits[0];
  for (const float logit : logits) largest = OrderedMax(largest, logit);
  std::vector<float> probabilities;
  float sum = 0.0f;
  for (const float logit : logits) {
    probabilities.push_back(Exp(logit - largest));
    sum += probabilities.back();
  }
  for (float& probability : probabilities) probability /= sum;

  MoeRoute route;
  std::vector<bool> taken(count, false);
  const auto most_probable = [&] {
    int32_t best = -1;  // by > alone, so that a NaN is never better and ties go to the lower index
    for (int32_t i = 0; i < count; ++i) {
      if (!taken[i] && (best < 0 || probabilities[i] > probabilities[best])) best = i;
    }
    return best;
  };
  for (int32_t i = 0; i < chosen; ++i) {
    route.experts.push_back(most_probable());
    taken[route.experts.back()] = true;
  }
  if (chosen < count) {
    route.gap_to_next_expert = probabilities[route.experts.back()] - probabilities[most_probable()];
  }
  float kept = 0.0f;
  for (const int32_t expert : route.experts) kept += probabilities[expert];
  for (const int32_t expert : route.experts) {
    route.weights.push_back(renormalise ? probabilities[expert] / kept : probabilities[expert]);
  }
  return route;
}

}  // namespace batchvar
