// The experiment after defaults as JSON, for run.json: the tree of ExpandToYaml with typed scalars.
#ifndef BATCHVAR_SIM_REPORT_CONFIG_JSON_H_
#define BATCHVAR_SIM_REPORT_CONFIG_JSON_H_

#include <nlohmann/json.hpp>

#include "sim/config/experiment_spec.h"

namespace batchvar {

nlohmann::ordered_json ConfigJson(const ExperimentSpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CONFIG_JSON_H_
