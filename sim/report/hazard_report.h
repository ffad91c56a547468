// What `batchvar hazard` prints: windows and totals, as text and as the JSON object of
// docs/formats.md (kind "hazard").
#ifndef BATCHVAR_SIM_REPORT_HAZARD_REPORT_H_
#define BATCHVAR_SIM_REPORT_HAZARD_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/config/experiment_spec.h"
#include "sim/replay/hazard.h"

namespace batchvar {

struct HazardResult {
  TimeNs window_ns = 0;
  TimeNs duration_ns = 0;  // of the run: what an hourly rate is taken over
  bool interrupted = false;
  MarginNoise noise;
  bool has_noise = false;  // false: no class change was met, and nothing was measured
  std::vector<HazardWindow> windows;
};

nlohmann::ordered_json HazardJson(const ExperimentSpec& spec, const HazardResult& result);
std::string HazardText(const ExperimentSpec& spec, const HazardResult& result);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_HAZARD_REPORT_H_
