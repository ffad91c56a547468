// `batchvar config validate|expand|init`.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/config/load_experiment.h"
#include "sim/config/load_replay.h"
#include "sim/config/load_sweep.h"
#include "sim/config/load_trials.h"
#include "sim/report/cell_line.h"
#include "sim/report/sweep_gate.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

struct ConfigArguments {
  std::string file;
  std::vector<std::string> overrides;
  bool json = false;
};

// The first mistake of any cell, where `sweep` itself would run the others.
absl::Status CheckSweep(const ConfigArguments& arguments) {
  const absl::StatusOr<SweepSpec> sweep = LoadSweep(arguments.file, arguments.overrides);
  if (!sweep.ok()) return sweep.status();
  const auto cells = LoadCells(*sweep);
  if (!cells.ok()) return cells.status();
  for (const absl::StatusOr<ExperimentSpec>& cell : *cells) {
    if (!cell.ok()) return cell.status();
  }
  return LoadGate(*sweep, *cells).status();
}

absl::Status CheckFile(const ConfigArguments& arguments) {
  if (IsSweepFile(arguments.file)) return CheckSweep(arguments);
  if (IsTrialsFile(arguments.file)) {
    return LoadTrials(arguments.file, arguments.overrides).status();
  }
  return LoadReplay(arguments.file, arguments.overrides).status();
}

ExitCode Validate(const ConfigArguments& arguments) {
  const absl::Status status = CheckFile(arguments);
  if (!status.ok()) return ReportError(status, arguments.json);
  if (!arguments.json) {
    PrintData(arguments.file + ": ok\n");
    return ExitCode::kDone;
  }
  const Json object = {
      {"schema_version", 1}, {"kind", "validation"}, {"file", arguments.file}, {"valid", true}};
  PrintData(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return ExitCode::kDone;
}

// JSON's quotes are YAML's.
std::string QuotedJson(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Indented(const std::string& text) {
  std::string out;
  size_t begin = 0;
  for (size_t end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    out += "  " + text.substr(begin, end - begin);
  }
  return out;
}

// The cells first: what will run is what a user wants to see before it does.
ExitCode ExpandSweep(const ConfigArguments& arguments) {
  const absl::StatusOr<SweepSpec> sweep = LoadSweep(arguments.file, arguments.overrides);
  if (!sweep.ok()) return ReportError(sweep.status(), arguments.json);
  const auto cells = LoadCells(*sweep);
  if (!cells.ok()) return ReportError(cells.status(), arguments.json);
  const auto gate = LoadGate(*sweep, *cells);
  if (!gate.ok()) return ReportError(gate.status(), arguments.json);
  std::string text = std::string("command: ") + SweepCommandName(sweep->command) + "\ncells:\n";
  for (size_t i = 0; i < sweep->cells.size(); ++i) {
    const SweepCell& cell = sweep->cells[i];
    text += "  - {cell: " + std::to_string(i);
    if (!cell.label.empty()) text += ", label: " + QuotedJson(cell.label);
    text += ", set: " + SetText(cell);
    if (!(*cells)[i].ok())
      text += ", error: " + QuotedJson(std::string((*cells)[i].status().message()));
    text += "}\n";
  }
  const absl::StatusOr<ExperimentSpec> base = LoadBase(*sweep);
  if (base.ok()) {
    text += "base:\n" + Indented(ExpandToYaml(*base));
  } else {
    text += "# The base is no experiment by itself: " + std::string(base.status().message()) + "\n";
  }
  PrintData(text);
  return ExitCode::kDone;
}

ExitCode Expand(const ConfigArguments& arguments) {
  if (IsSweepFile(arguments.file)) return ExpandSweep(arguments);
  if (IsTrialsFile(arguments.file)) {
    const absl::StatusOr<TrialsSpec> trials = LoadTrials(arguments.file, arguments.overrides);
    if (!trials.ok()) return ReportError(trials.status(), arguments.json);
    PrintData(ExpandToYaml(*trials));
    return ExitCode::kDone;
  }
  const absl::StatusOr<ExperimentSpec> spec = LoadExperiment(arguments.file, arguments.overrides);
  if (!spec.ok()) return ReportError(spec.status(), arguments.json);
  PrintData(ExpandToYaml(*spec));
  return ExitCode::kDone;
}

// Creates the file; one that is there already is left alone.
absl::Status WriteNewFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (file == nullptr && errno == EEXIST) {
    return ConfigError({path, 0, 0, ""}, "is there already and is left as it is");
  }
  if (file == nullptr) {
    return InputError({path, 0, 0, ""}, std::string("cannot be created: ") + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return absl::OkStatus();
  return InputError({path, 0, 0, ""}, std::string("cannot be written: ") + std::strerror(errno));
}

ExitCode Init(const ConfigArguments& arguments) {
  if (arguments.file.empty()) {
    PrintData(StarterExperiment());
    return ExitCode::kDone;
  }
  const absl::Status status = WriteNewFile(arguments.file, StarterExperiment());
  if (!status.ok()) return ReportError(status, arguments.json);
  PrintNote("wrote " + arguments.file);
  return ExitCode::kDone;
}

void AddFileAndOverrides(CLI::App* verb, ConfigArguments* arguments) {
  verb->add_option("FILE", arguments->file, "experiment or sweep (YAML)")->required();
  verb->add_option("--set", arguments->overrides,
                   "KEY=VALUE over the file, as in scheduler.max_num_seqs=64; repeatable")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_flag("--json", arguments->json, "result and errors as one JSON object");
}

}  // namespace

void AddConfigCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* config =
      app->add_subcommand("config", "check, expand or begin an experiment or sweep file");
  config->require_subcommand(1);
  // CLI11 writes into this long after this function has returned.
  const auto arguments = std::make_shared<ConfigArguments>();

  CLI::App* validate =
      config->add_subcommand("validate", "say whether an experiment or sweep is sound");
  AddFileAndOverrides(validate, arguments.get());
  validate->callback([arguments, exit_code] { *exit_code = Validate(*arguments); });

  CLI::App* expand = config->add_subcommand(
      "expand", "print it with every default filled in, a sweep with its cells");
  AddFileAndOverrides(expand, arguments.get());
  expand->callback([arguments, exit_code] { *exit_code = Expand(*arguments); });

  CLI::App* init = config->add_subcommand("init", "write a commented experiment to start from");
  init->add_option("FILE", arguments->file, "new file; stdout if absent");
  init->callback([arguments, exit_code] { *exit_code = Init(*arguments); });
}

}  // namespace batchvar
