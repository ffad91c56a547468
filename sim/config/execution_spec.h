// The `execute` map of an experiment: which requests of the replayed workload are executed, and
// with whose weights. Read by load_replay.h, run by kernels/experiment.
#ifndef BATCHVAR_SIM_CONFIG_EXECUTION_SPEC_H_
#define BATCHVAR_SIM_CONFIG_EXECUTION_SPEC_H_

#include <optional>
#include <string>
#include <vector>

#include "sim/config/experiment_spec.h"
#include "sim/config/trials_spec.h"
#include "sim/numerics/dtype.h"

namespace batchvar {

struct ExecutionSpec {
  std::vector<std::string> requests;  // ids, all different
  std::string weights;                // as in TrialsSpec
  std::optional<SyntheticModel> synthetic;
  DType logits = DType::kFp32;  // compared as fp32, or rounded to 16 bits first
};

// A file that is replayed. The experiment's `model` is the one that is planned, whoever executes.
struct ReplaySpec {
  ExperimentSpec experiment;
  std::optional<ExecutionSpec> execute;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_EXECUTION_SPEC_H_
