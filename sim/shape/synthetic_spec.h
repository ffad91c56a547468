// How weights are made for a model that has none: seeded random tensors with a planted successor
// head (kernels/decoder/synthetic_weights.h). Read by sim/config, printed by sim/report: whatever
// was computed with such weights says so.
#ifndef BATCHVAR_SIM_SHAPE_SYNTHETIC_SPEC_H_
#define BATCHVAR_SIM_SHAPE_SYNTHETIC_SPEC_H_

#include <cstdint>
#include <optional>

namespace batchvar {

struct SyntheticSpec {
  uint64_t seed = 42;
  // Strength of the planted successor, in units of 1/sqrt(hidden_size); without a value
  // DefaultSuccessorStrength() of the model.
  std::optional<double> alpha;
  // Strength of the head's noise in the same units: the standard deviation of the other logits.
  double beta = 4.0;
  friend bool operator==(const SyntheticSpec&, const SyntheticSpec&) = default;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SHAPE_SYNTHETIC_SPEC_H_
