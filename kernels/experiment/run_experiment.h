// All arms of an experiment: simulated, executed, compared with each other (docs/experiment.md).
#ifndef BATCHVAR_KERNELS_EXPERIMENT_RUN_EXPERIMENT_H_
#define BATCHVAR_KERNELS_EXPERIMENT_RUN_EXPERIMENT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/isa.h"
#include "sim/config/trials_spec.h"
#include "sim/divergence/experiment_result.h"
#include "sim/shape/op_shape.h"

namespace batchvar {

struct ExperimentOptions {
  std::string weights_folder;
  std::vector<int64_t> prompt;  // token ids
  Isa isa = Isa::kScalar;
  int32_t threads = 1;  // never changes a bit
  bool repeat = true;   // run every arm a second time and compare
  // Ops that are summed in every trial as in the first trial of the arm it is compared with: if the
  // texts then agree, they were the cause.
  std::vector<Op> pinned;
  std::function<void(const std::string& arm, int64_t done, int64_t of)> progress =
      [](const std::string&, int64_t, int64_t) {};
};

absl::StatusOr<ExperimentResult> RunExperiment(const TrialsSpec& trials,
                                               const ExperimentOptions& options);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_RUN_EXPERIMENT_H_
