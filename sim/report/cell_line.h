// One line of cells.jsonl (docs/formats.md, kind "cell"): written by whoever runs the cell, and
// read back for tables, pictures and a resumed sweep, so that all of them see the same.
#ifndef BATCHVAR_SIM_REPORT_CELL_LINE_H_
#define BATCHVAR_SIM_REPORT_CELL_LINE_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/load_sweep.h"
#include "sim/replay/gate_expression.h"

namespace batchvar {

struct CellContext {
  const SweepSpec* sweep = nullptr;
  const std::vector<absl::StatusOr<ExperimentSpec>>* experiments = nullptr;  // LoadCells()'s
  const GateExpression* gate = nullptr;                                      // nullptr without one
  // Computes a cell of command `experiment`, which needs more than this room may know. Called in
  // several threads at once.
  std::function<absl::StatusOr<nlohmann::ordered_json>(size_t cell)> experiment;
  int (*exit_code)(const absl::Status&) = nullptr;
  int32_t threads = 1;  // within a cell
};

// Runs a cell. The line has no line end.
std::string CellLine(const CellContext& context, size_t cell);

struct CellRecord {
  size_t cell = 0;
  std::string label;
  std::vector<std::pair<std::string, std::string>> set;  // swept keys and values, as text
  GateValues values;                                     // swept ones, then the result's
  std::optional<bool> gate;
  std::string error;  // empty when there is a result
  int exit_code = 0;  // of the error

  const std::string* Set(const std::string& key) const;  // nullptr when the cell does not set it
  const GateValue* Value(const std::string& name) const;
  std::optional<double> Number(const std::string& name) const;
};

// An empty record's status is an error without a place: the line is not one of ours.
absl::StatusOr<CellRecord> ReadCellLine(SweepCommand command, const std::string& line);

// Digest of everything that the lines depend on: sweeps with equal digests have equal lines.
// `version` is the program's; `files` are more that every cell reads, such as weights.
std::string SweepDigest(const SweepSpec& sweep,
                        const std::vector<absl::StatusOr<ExperimentSpec>>& experiments,
                        const std::vector<std::string>& files, const std::string& version);

// {"device.sm_count":108,"m":16}
std::string SetText(const SweepCell& cell);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CELL_LINE_H_
