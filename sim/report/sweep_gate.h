// The gate of a sweep file: parsed, and its names checked before anything runs.
#ifndef BATCHVAR_SIM_REPORT_SWEEP_GATE_H_
#define BATCHVAR_SIM_REPORT_SWEEP_GATE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/load_sweep.h"
#include "sim/replay/gate_expression.h"

namespace batchvar {

// Empty when the sweep has no gate. A name that is neither a swept key nor in the result of any
// kind of cell is an error with the nearest name. `experiments` are LoadCells()'s.
absl::StatusOr<std::optional<GateExpression>> LoadGate(
    const SweepSpec& sweep, const std::vector<absl::StatusOr<ExperimentSpec>>& experiments);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_SWEEP_GATE_H_
