// The experiment after defaults as JSON, for run.json: the tree of ExpandToYaml with typed scalars.
#ifndef BATCHVAR_SIM_REPORT_CONFIG_JSON_H_
#define BATCHVAR_SIM_REPORT_CONFIG_JSON_H_

#include <nlohmann/json.hpp>

#include "sim/config/config_node.h"
#include "sim/config/experiment_spec.h"

namespace batchvar {

// A tree with its plain numbers and booleans as such and everything else as text.
nlohmann::ordered_json NodeJson(const ConfigNode& node);

nlohmann::ordered_json ConfigJson(const ExperimentSpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CONFIG_JSON_H_
