// Which keys of `scheduler:` belong to which policy, and what the same thing is called elsewhere: a
// key pasted from the other engine's command line is answered with its name here.
#ifndef BATCHVAR_SIM_CONFIG_SCHEDULER_KEYS_H_
#define BATCHVAR_SIM_CONFIG_SCHEDULER_KEYS_H_

#include "sim/config/config_reader.h"
#include "sim/serving/scheduler_config.h"

namespace batchvar {

// Errors for keys that `policy` does not use. Keys of all policies are not in the table.
void RefuseKeysOfOtherPolicies(SchedulerPolicy policy, MapReader* reader);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_SCHEDULER_KEYS_H_
