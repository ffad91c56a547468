// An error as the JSON object of docs/formats.md (kind "error").
#ifndef BATCHVAR_SIM_REPORT_ERROR_JSON_H_
#define BATCHVAR_SIM_REPORT_ERROR_JSON_H_

#include <nlohmann/json.hpp>

#include "absl/status/status.h"

namespace batchvar {

nlohmann::ordered_json ErrorJson(const absl::Status& status, int exit_code);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_ERROR_JSON_H_
