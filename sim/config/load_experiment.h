// YAML -> ExperimentSpec. Unknown, duplicate and unused keys, `010`, `no` for a boolean, wrong
// types and values out of range are errors with file:line:column and, for names, the nearest one.
#ifndef BATCHVAR_SIM_CONFIG_LOAD_EXPERIMENT_H_
#define BATCHVAR_SIM_CONFIG_LOAD_EXPERIMENT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/config_overrides.h"
#include "sim/config/experiment_spec.h"

namespace batchvar {

// Where `model: NAME` and its like are looked up: DIR/models/NAME.yaml and so on.
// BATCHVAR_CONFIGS_DIR, else ../share/batchvar/configs beside the executable, else the source tree.
std::string ConfigsDir();

// Reads an experiment and layers `overrides` ("scheduler.max_num_seqs=64") over it.
absl::StatusOr<ExperimentSpec> LoadExperiment(const std::string& path,
                                              const std::vector<std::string>& overrides);
// The same from text; `name` stands for the file in messages, `folder` resolves relative paths.
absl::StatusOr<ExperimentSpec> LoadExperimentText(const std::string& text, const std::string& name,
                                                  const std::string& folder,
                                                  const std::vector<std::string>& overrides);

// The same from a tree, with overrides that may come from another file.
absl::StatusOr<ExperimentSpec> LoadExperimentTree(const ConfigNode& root, const std::string& name,
                                                  const std::string& folder,
                                                  const std::vector<ConfigOverride>& overrides);

// Single files, by name (configs/models/NAME.yaml) or path; for `plan`, `classes` and tests.
absl::StatusOr<ModelSpec> LoadModel(const std::string& name_or_path);
absl::StatusOr<DeviceSpec> LoadDevice(const std::string& name_or_path);
absl::StatusOr<PolicySpec> LoadPolicies(const std::string& name_or_path);
// A GEMM policy as `policies.gemm` takes it: a name, or a map such as {name: stream_k, splits: 2}.
// `keys` are laid over it ("tile_m", "32"); `flag` stands in messages.
absl::StatusOr<GemmPolicySpec> LoadGemmPolicy(
    const std::string& text, const std::vector<std::pair<std::string, std::string>>& keys,
    const std::string& flag);

// One other policy as `policies.KIND` takes it, for KIND "attention", "norm" or "allreduce": the
// rest of the result is defaults. `flag` stands in messages.
absl::StatusOr<PolicySpec> LoadOpPolicy(const std::string& kind, const std::string& text,
                                        const std::string& flag);

// The experiment with every default filled in, as YAML that LoadExperimentText reads back into an
// equal spec. Names that came from files are written inline.
std::string ExpandToYaml(const ExperimentSpec& spec);

// A commented starting file for `config init`.
std::string StarterExperiment();

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_LOAD_EXPERIMENT_H_
