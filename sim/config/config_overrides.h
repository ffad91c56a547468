// `--set a.b=c`, or one value of a sweep: layers a value over the tree of an experiment.
#ifndef BATCHVAR_SIM_CONFIG_CONFIG_OVERRIDES_H_
#define BATCHVAR_SIM_CONFIG_CONFIG_OVERRIDES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/config/config_node.h"

namespace batchvar {

struct ConfigOverride {
  std::string key;  // dotted path
  SourceMark mark;  // of the flag, or of the key in a sweep file
  ConfigNode value;
};

// KEY=VALUE as typed after --set; VALUE is YAML.
absl::StatusOr<ConfigOverride> ParseOverride(const std::string& assignment);

// Sets the value at a dotted path, creating maps on the way. A part that is a name so far
// (`device: h100_sxm`) is replaced by its file before a key below it is set, so that
// `device.sm_count=66` changes one number of the named device. `folder` is the experiment's.
absl::Status ApplyOverride(const ConfigOverride& assignment, const std::string& folder,
                           ConfigNode* root);

// "a.b.c" -> a, b, c; an empty part is an error at `mark`.
absl::StatusOr<std::vector<std::string>> KeysOfPath(const std::string& path,
                                                    const SourceMark& mark);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_CONFIG_OVERRIDES_H_
