// What an experiment needs besides its file: the weights' folder, the tokenizer, the prompt's ids.
// Used by `experiment` and by sweeps of it.
#ifndef BATCHVAR_TOOLS_BATCHVAR_EXPERIMENT_SETUP_H_
#define BATCHVAR_TOOLS_BATCHVAR_EXPERIMENT_SETUP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/experiment/run_experiment.h"
#include "kernels/tokenizer/tokenizer.h"
#include "sim/config/trials_spec.h"

namespace batchvar {

struct ExperimentSetup {
  ExperimentOptions options;             // one thread, the best instruction set
  std::unique_ptr<Tokenizer> tokenizer;  // null where the model has none
};

absl::StatusOr<ExperimentSetup> SetUpExperiment(const TrialsSpec& trials);

// The files of a model that decide a result, those that are there.
std::vector<std::string> FilesOfModel(const std::string& folder);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_EXPERIMENT_SETUP_H_
