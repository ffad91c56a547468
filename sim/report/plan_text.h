// Plans as short text that explains itself: first why, then the numbers, then what was rejected.
#ifndef BATCHVAR_SIM_REPORT_PLAN_TEXT_H_
#define BATCHVAR_SIM_REPORT_PLAN_TEXT_H_

#include <string>
#include <vector>

#include "sim/plan/attention_policy.h"
#include "sim/plan/device_spec.h"
#include "sim/plan/plan.h"

namespace batchvar {

std::string GemmPlanText(const GemmPlan& plan);
std::string AttentionPlanText(const AttentionPolicy& policy,
                              const std::vector<AttentionRequest>& step,
                              const AttentionHeads& heads, const DeviceSpec& device);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_PLAN_TEXT_H_
