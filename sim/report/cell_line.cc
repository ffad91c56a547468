#include "sim/report/cell_line.h"

#include <map>
#include <nlohmann/json.hpp>

#include "sim/base/digest.h"
#include "sim/config/load_experiment.h"
#include "sim/config/load_trials.h"
#include "sim/io/text_source.h"
#include "sim/report/cell_result.h"
#include "sim/report/config_json.h"
#include "sim/report/error_json.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json SetJson(const SweepCell& cell) {
  Json set = Json::object();
  for (const ConfigOverride& value : cell.sets) set[value.key] = NodeJson(value.value);
  return set;
}

// Swept keys hide results of the same name.
GateValues ValuesOfCell(SweepCommand command, const Json& set, const Json& result) {
  GateValues values;
  for (const auto& [key, value] : set.items()) {
    if (value.is_number()) values.emplace(key, value.get<double>());
    if (value.is_boolean()) values.emplace(key, value.get<bool>());
    if (value.is_string()) values.emplace(key, value.get<std::string>());
  }
  if (!result.is_null()) values.merge(ValuesOf(command, result));
  return values;
}

// What stands for the contents of files: each is read once.
class FileDigests {
 public:
  // SHA-256, or why the file cannot be read.
  const std::string& Of(const std::string& path) {
    const auto [entry, is_new] = by_path_.emplace(path, "");
    if (is_new) {
      const absl::StatusOr<TextSource> source = TextSource::Open(path);
      entry->second = source.ok() ? source->sha256() : std::string(source.status().message());
    }
    return entry->second;
  }

 private:
  std::map<std::string, std::string> by_path_;
};

// The tables and libraries that answer for a policy.
std::vector<std::string> FilesOf(const GemmPolicySpec& gemm) {
  std::vector<std::string> files;
  for (const std::string& path : {gemm.table_path, gemm.library}) {
    if (!path.empty()) files.push_back(path);
  }
  if (gemm.then != nullptr) {
    for (const std::string& path : FilesOf(*gemm.then)) files.push_back(path);
  }
  return files;
}

// Throws when the line is not what CellLine writes.
CellRecord RecordOf(SweepCommand command, const Json& json) {
  CellRecord record;
  record.cell = json.at("cell").get<size_t>();
  record.label = json.value("label", "");
  for (const auto& [key, value] : json.at("set").items()) {
    record.set.emplace_back(key, value.is_string() ? value.get<std::string>() : Dump(value));
  }
  const bool has_result = !json.contains("error");
  record.values = ValuesOfCell(command, json.at("set"), has_result ? json.at("result") : Json());
  if (json.contains("gate")) record.gate = json.at("gate").get<bool>();
  if (!has_result) {
    record.error = json.at("error").at("message").get<std::string>();
    record.exit_code = json.at("error").at("exit_code").get<int>();
  }
  return record;
}

absl::StatusOr<Json> ResultOf(const CellContext& context, size_t cell) {
  const absl::StatusOr<ExperimentSpec>& experiment = (*context.experiments)[cell];
  if (!experiment.ok()) return experiment.status();
  const SweepCommand command = context.sweep->command;
  if (command == SweepCommand::kExperiment) return context.experiment(cell);
  return CellResult(command, {&*experiment, &context.sweep->cells[cell], context.threads,
                              context.sweep->request});
}

}  // namespace

std::string SetText(const SweepCell& cell) { return Dump(SetJson(cell)); }

std::string CellLine(const CellContext& context, size_t cell) {
  const SweepSpec& sweep = *context.sweep;
  const SweepCell& entry = sweep.cells[cell];
  Json line = {{"schema_version", 1}, {"kind", "cell"}, {"cell", cell}};
  if (!entry.label.empty()) line["label"] = entry.label;
  line["set"] = SetJson(entry);
  absl::StatusOr<Json> result = ResultOf(context, cell);
  absl::Status status = result.status();
  bool holds = true;
  if (status.ok() && context.gate != nullptr) {
    const absl::StatusOr<bool> gate =
        context.gate->Holds(ValuesOfCell(sweep.command, line["set"], *result));
    if (gate.ok()) holds = *gate;
    if (!gate.ok()) {
      status = ConfigError(sweep.gate_mark.At("gate"), std::string(gate.status().message()));
    }
  }
  if (!status.ok()) {
    line["error"] = ErrorJson(status, context.exit_code(status));
    return Dump(line);
  }
  line["result"] = *std::move(result);
  if (context.gate != nullptr) line["gate"] = holds;
  return Dump(line);
}

const std::string* CellRecord::Set(const std::string& key) const {
  for (const auto& [name, text] : set) {
    if (name == key) return &text;
  }
  return nullptr;
}

const GateValue* CellRecord::Value(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::optional<double> CellRecord::Number(const std::string& name) const {
  const GateValue* value = Value(name);
  if (value == nullptr || !std::holds_alternative<double>(*value)) return std::nullopt;
  return std::get<double>(*value);
}

absl::StatusOr<CellRecord> ReadCellLine(SweepCommand command, const std::string& line) {
  try {
    return RecordOf(command, Json::parse(line));
  } catch (const Json::exception&) {  // a key that is missing or of another type, too
    return ConfigError({}, "is not a cell of a sweep");
  }
}

std::string SweepDigest(const SweepSpec& sweep,
                        const std::vector<absl::StatusOr<ExperimentSpec>>& experiments,
                        const std::vector<std::string>& more_files, const std::string& version) {
  Sha256 digest;
  const auto add = [&digest](const std::string& text) {
    digest.UpdateI64(static_cast<int64_t>(text.size())).Update(text);
  };
  add(version);
  add(SweepCommandName(sweep.command));
  add(sweep.request);
  add(sweep.gate);
  FileDigests files;
  for (const std::string& path : more_files) add(files.Of(path));
  if (sweep.command == SweepCommand::kExperiment) {
    // What the arms have of their own is in no experiment.
    const auto trials = LoadTrialCells(sweep);
    for (size_t i = 0; trials.ok() && i < trials->size(); ++i) {
      if ((*trials)[i].ok()) add(ExpandToYaml(*(*trials)[i]));
    }
  }
  for (size_t i = 0; i < sweep.cells.size(); ++i) {
    add(sweep.cells[i].label);
    add(SetText(sweep.cells[i]));
    if (!experiments[i].ok()) {
      add(std::string(experiments[i].status().message()));
      continue;
    }
    add(ExpandToYaml(*experiments[i]));
    for (const std::string& path : FilesOf(experiments[i]->policies.gemm)) add(files.Of(path));
    const WorkloadSpec& workload = experiments[i]->workload;
    if (!workload.has_trace || sweep.command != SweepCommand::kSimulate) continue;
    add(files.Of(workload.trace.resolved_path));
  }
  return digest.FinishDigest().Hex();
}

}  // namespace batchvar
