// An experiment file with an `experiment` map -> TrialsSpec (docs/experiment.md).
#ifndef BATCHVAR_SIM_CONFIG_LOAD_TRIALS_H_
#define BATCHVAR_SIM_CONFIG_LOAD_TRIALS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/config_node.h"
#include "sim/config/config_overrides.h"
#include "sim/config/trials_spec.h"

namespace batchvar {

// `overrides` are laid over the file before the arms' own.
absl::StatusOr<TrialsSpec> LoadTrials(const std::string& path,
                                      const std::vector<std::string>& overrides);
absl::StatusOr<TrialsSpec> LoadTrialsText(const std::string& text, const std::string& name,
                                          const std::string& folder,
                                          const std::vector<std::string>& overrides);

// The file's tree with every default, and with the arms' own keys as they are given.
std::string ExpandToYaml(const TrialsSpec& trials);

// `overrides` are layered over the tree before the arms' own; relative paths begin at `folder`.
absl::StatusOr<TrialsSpec> LoadTrialsTree(ConfigNode root, const std::string& name,
                                          const std::string& folder,
                                          const std::vector<ConfigOverride>& overrides);

// True if the file can be read and has an `experiment` map.
bool IsTrialsFile(const std::string& path);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_LOAD_TRIALS_H_
