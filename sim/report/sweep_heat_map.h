// The picture of a sweep over two numbers: which panels, axes and colours.
#ifndef BATCHVAR_SIM_REPORT_SWEEP_HEAT_MAP_H_
#define BATCHVAR_SIM_REPORT_SWEEP_HEAT_MAP_H_

#include <optional>
#include <string>

#include "sim/report/heat_map.h"
#include "sim/report/sweep_table.h"

namespace batchvar {

// Empty unless two keys fit: device.sm_count and m if both are swept, else the only two keys whose
// values are all numbers and not all the same. Other swept keys make panels of their own.
//   plan      a panel for every GEMM; colour: class, text: pieces of K
//   classes   a panel for every GEMM; colour and text: number of classes
//   simulate  output tokens/s, TTFT, and for every op the share of steps in other classes
std::optional<HeatMap> SweepHeatMap(const SweepRecords& sweep, const std::string& name);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_SWEEP_HEAT_MAP_H_
