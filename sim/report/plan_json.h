// Plans as the JSON objects of docs/formats.md (kind "plan"). Keys keep their names and order;
// `batchvar plan --json` prints them as they are.
#ifndef BATCHVAR_SIM_REPORT_PLAN_JSON_H_
#define BATCHVAR_SIM_REPORT_PLAN_JSON_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/plan/attention_policy.h"
#include "sim/plan/device_spec.h"
#include "sim/plan/plan.h"

namespace batchvar {

nlohmann::ordered_json GemmPlanJson(const GemmPlan& plan);

// Plans the step under `policy`, explanation included.
nlohmann::ordered_json AttentionPlanJson(const AttentionPolicy& policy,
                                         const std::vector<AttentionRequest>& step,
                                         const AttentionHeads& heads, const DeviceSpec& device);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_PLAN_JSON_H_
