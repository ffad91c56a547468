// A table of classes as the JSON object of docs/formats.md (kind "classes"); what
// `batchvar classes --json` prints, its --baseline reads (classes_reader.h).
#ifndef BATCHVAR_SIM_REPORT_CLASSES_JSON_H_
#define BATCHVAR_SIM_REPORT_CLASSES_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/replay/class_comparison.h"
#include "sim/replay/class_table.h"

namespace batchvar {

nlohmann::ordered_json ClassesJson(const ClassTable& table);

// Values of the keys `moved` (with --baseline) and `compare` (with --compare).
nlohmann::ordered_json MovedJson(const ClassTable& now, const std::vector<MovedRange>& moved);
nlohmann::ordered_json ComparisonJson(int64_t m_a, int64_t m_b, const std::vector<PlanPair>& pairs);

// The object as text, one op a line, so that baselines under version control have readable diffs.
std::string ClassesJsonText(const nlohmann::ordered_json& classes);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CLASSES_JSON_H_
