// How a model decides, measured: the margins of its greedy decisions when it is served alone, and
// how much those margins move when the same tokens are summed in the orders of company. Two numbers
// come out that sim/replay/hazard.h turns into flips.
#ifndef BATCHVAR_KERNELS_EXPERIMENT_MARGIN_NOISE_H_
#define BATCHVAR_KERNELS_EXPERIMENT_MARGIN_NOISE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/cpu/isa.h"
#include "sim/config/experiment_spec.h"
#include "sim/config/trials_spec.h"
#include "sim/replay/hazard.h"

namespace batchvar {

struct MarginNoiseOptions {
  std::string weights;         // for show
  std::string weights_folder;  // empty where weights are synthetic
  std::optional<SyntheticModel> synthetic;
  DType logits = DType::kFp32;
  int64_t m = 2;  // of the body, in the company whose orders are compared
  int32_t prompts = 16;
  int32_t prompt_tokens = 16;
  int32_t output_tokens = 64;
  Isa isa = Isa::kScalar;
  int32_t threads = 1;  // never changes a bit
};

// Seeded prompts, each generated greedily as the spec's server would serve it alone; then the same
// tokens once more, every one as a decode row of a step of `m` tokens. Errors: those of the
// weights, an executed model that the planned one cannot stand for, no plan at `m`.
absl::StatusOr<MarginNoise> MeasureMarginNoise(const ExperimentSpec& spec,
                                               const MarginNoiseOptions& options);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_MARGIN_NOISE_H_
