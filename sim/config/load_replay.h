// An experiment file, with or without an `execute` map -> ReplaySpec (docs/experiment.md).
#ifndef BATCHVAR_SIM_CONFIG_LOAD_REPLAY_H_
#define BATCHVAR_SIM_CONFIG_LOAD_REPLAY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/execution_spec.h"

namespace batchvar {

absl::StatusOr<ReplaySpec> LoadReplay(const std::string& path,
                                      const std::vector<std::string>& overrides);
// The same from text, as LoadExperimentText.
absl::StatusOr<ReplaySpec> LoadReplayText(const std::string& text, const std::string& name,
                                          const std::string& folder,
                                          const std::vector<std::string>& overrides);

// True if the file can be read and has an `execute` map.
bool IsExecutionFile(const std::string& path);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_LOAD_REPLAY_H_
