#include "sim/report/sweep_gate.h"

#include <algorithm>
#include <set>
#include <string>

#include "sim/config/config_reader.h"
#include "sim/report/cell_result.h"
#include "sim/report/experiment_json.h"
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

// The names in a result with these arms, all of which part.
void AddExperimentNames(const TrialsSpec& trials, std::vector<std::string>* names) {
  ExperimentResult sample;
  for (const ArmSpec& arm : trials.arms) {
    ArmResult& result = sample.arms.emplace_back();
    result.name = arm.name;
    result.divergences.emplace_back();
  }
  for (const auto& [name, value] : ValuesOf(SweepCommand::kExperiment, ExperimentJson(sample))) {
    names->push_back(name);
  }
}

// Swept keys, then the names in a small result of every list of ops that occurs.
std::vector<std::string> KnownNames(
    const SweepSpec& sweep, const std::vector<absl::StatusOr<ExperimentSpec>>& experiments) {
  std::vector<std::string> names = sweep.keys;
  if (sweep.command == SweepCommand::kExperiment) {
    const auto trials = LoadTrialCells(sweep);
    for (size_t i = 0; trials.ok() && i < trials->size(); ++i) {
      if ((*trials)[i].ok()) AddExperimentNames(*(*trials)[i], &names);
    }
    return names;
  }
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
