// An execution as the JSON object of docs/formats.md (kind "execution").
#ifndef BATCHVAR_SIM_REPORT_EXECUTION_JSON_H_
#define BATCHVAR_SIM_REPORT_EXECUTION_JSON_H_

#include <nlohmann/json.hpp>

#include "sim/divergence/execution.h"

namespace batchvar {

// `plan_a` and `plan_b` say how each side was planned (GemmPlanJson and its like) and stand as they
// are under "a" and "b".
nlohmann::ordered_json ExecutionJson(const Execution& execution,
                                     const nlohmann::ordered_json& plan_a,
                                     const nlohmann::ordered_json& plan_b);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_EXECUTION_JSON_H_
