// `--set a.b=c`: layers one value over the tree of an experiment.
#ifndef BATCHVAR_SIM_CONFIG_CONFIG_OVERRIDES_H_
#define BATCHVAR_SIM_CONFIG_CONFIG_OVERRIDES_H_

#include <string>

#include "absl/status/status.h"
#include "sim/config/config_node.h"

namespace batchvar {

// Sets the value at a dotted path, creating maps on the way. A part that is a name so far
// (`device: h100_sxm`) is replaced by its file before a key below it is set, so that
// `device.sm_count=66` changes one number of the named device. The value is YAML. `folder` is the
// experiment's.
absl::Status ApplyOverride(const std::string& assignment, const std::string& folder,
                           ConfigNode* root);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_CONFIG_OVERRIDES_H_
