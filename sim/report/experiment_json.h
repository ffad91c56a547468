// An experiment's result as the JSON object of docs/formats.md (kind "experiment"), and its texts
// as one line a response.
#ifndef BATCHVAR_SIM_REPORT_EXPERIMENT_JSON_H_
#define BATCHVAR_SIM_REPORT_EXPERIMENT_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "sim/divergence/experiment_result.h"

namespace batchvar {

nlohmann::ordered_json ExperimentJson(const ExperimentResult& result);

// responses.jsonl: arm, trial and the generated token ids of every trial.
std::string ResponsesJsonl(const ExperimentResult& result);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_EXPERIMENT_JSON_H_
