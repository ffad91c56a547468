// The decision at the end of a step: greedy decoding takes the largest logit, the lowest index on
// ties. The margin to the runner-up says how little it would take to change it.
#ifndef BATCHVAR_SIM_DIVERGENCE_NEAR_TIE_H_
#define BATCHVAR_SIM_DIVERGENCE_NEAR_TIE_H_

#include <cstdint>
#include <span>

namespace batchvar {

struct TopTwo {
  int64_t top = -1;
  int64_t runner_up = -1;  // -1 where there is one logit only
  float top_logit = 0.0f;
  float runner_up_logit = 0.0f;
  // Never negative; exactly 0 is a tie that the lower index won.
  float Margin() const { return top_logit - runner_up_logit; }
  bool IsTie() const { return runner_up >= 0 && top_logit == runner_up_logit; }
  friend bool operator==(const TopTwo&, const TopTwo&) = default;
};

// logits is not empty. A NaN never wins against a number; +0 and -0 tie.
TopTwo FindTopTwo(std::span<const float> logits);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_NEAR_TIE_H_
