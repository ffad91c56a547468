#include "sim/report/sweep_gate.h"

#include <algorithm>
#include <set>
#include <string>

#include "sim/config/config_reader.h"
#include "sim/report/cell_result.h"
#include "sim/shape/op_shape.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

std::string OpsOf(const ExperimentSpec& spec) {
  std::string names;
  for (const OpShape& shape : StepOps(spec.model, spec.tp)) {
    names += OpName(shape.op);
    names += ' ';
  }
  return names;
}

// Swept keys, then the names in a small result of every list of ops that occurs.
std::vector<std::string> KnownNames(
    const SweepSpec& sweep, const std::vector<absl::StatusOr<ExperimentSpec>>& experiments) {
  std::vector<std::string> names = sweep.keys;
  std::set<std::string> seen;
  for (size_t i = 0; i < experiments.size(); ++i) {
    if (!experiments[i].ok()) continue;
    const std::string lengths = sweep.cells[i].kv_lens.empty() ? "" : kKvLenKey;
    if (!seen.insert(OpsOf(*experiments[i]) + lengths).second) continue;
    const ExperimentSpec sample = SampleOf(*experiments[i]);
    const auto result = CellResult(sweep.command, {&sample, &sweep.cells[i], 1, ""});
    if (!result.ok()) continue;
    for (const auto& [name, value] : ValuesOf(sweep.command, *result)) names.push_back(name);
  }
  return names;
}

}  // namespace

absl::StatusOr<std::optional<GateExpression>> LoadGate(
    const SweepSpec& sweep, const std::vector<absl::StatusOr<ExperimentSpec>>& experiments) {
  if (sweep.gate.empty()) return std::optional<GateExpression>();
  const Location where = sweep.gate_mark.At("gate");
  absl::StatusOr<GateExpression> gate = GateExpression::Parse(sweep.gate);
  if (!gate.ok()) return ConfigError(where, std::string(gate.status().message()));
  const std::vector<std::string> known = KnownNames(sweep, experiments);
  for (const std::string& name : gate->Names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return ConfigError(where, "'" + name + "' is neither a swept key nor in a result of '" +
                                  SweepCommandName(sweep.command) + "' (text needs quotes)" +
                                  DidYouMean(name, known));
  }
  return std::optional<GateExpression>(*std::move(gate));
}

}  // namespace batchvar
