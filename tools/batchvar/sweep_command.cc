// batchvar sweep SWEEP.yaml: one command for every combination of some keys' values.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/config/load_sweep.h"
#include "sim/replay/sweep.h"
#include "sim/report/cell_line.h"
#include "sim/report/experiment_json.h"
#include "sim/report/sweep_gate.h"
#include "sim/report/sweep_heat_map.h"
#include "sim/report/sweep_table.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/experiment_setup.h"
#include "tools/batchvar/interrupt.h"
#include "tools/batchvar/model_folder.h"
#include "tools/batchvar/sweep_folder.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

constexpr size_t kCellsNamed = 5;  // in messages

struct SweepOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::string out;
  int32_t jobs = 0;
  bool resume = false;
  bool json = false;
};

// A sweep ready to run.
struct LoadedSweep {
  SweepSpec spec;
  std::vector<absl::StatusOr<ExperimentSpec>> experiments;
  std::vector<absl::StatusOr<TrialsSpec>> trials;  // of command `experiment`
  std::optional<GateExpression> gate;
};

absl::StatusOr<LoadedSweep> Load(const SweepOptions& options) {
  if (options.resume && options.out.empty()) {
    return ConfigError({"", 0, 0, "--resume"}, "needs the folder of the stopped sweep: --out DIR");
  }
  absl::StatusOr<SweepSpec> spec = LoadSweep(options.file, options.overrides);
  if (!spec.ok()) return spec.status();
  auto experiments = LoadCells(*spec);
  if (!experiments.ok()) return experiments.status();
  auto gate = LoadGate(*spec, *experiments);
  if (!gate.ok()) return gate.status();
  LoadedSweep sweep{*std::move(spec), *std::move(experiments), {}, *std::move(gate)};
  if (sweep.spec.command == SweepCommand::kExperiment) {
    auto trials = LoadTrialCells(sweep.spec);
    if (!trials.ok()) return trials.status();
    sweep.trials = *std::move(trials);
  }
  return sweep;
}

absl::StatusOr<nlohmann::ordered_json> ExperimentCell(const TrialsSpec& trials) {
  const auto setup = SetUpExperiment(trials);
  if (!setup.ok()) return setup.status();
  const auto result = RunExperiment(trials, setup->options);
  if (!result.ok()) return result.status();
  return ExperimentJson(*result);
}

// Weights and tokenizers that any cell reads, each once.
std::vector<std::string> ModelFilesOf(const LoadedSweep& sweep) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const absl::StatusOr<TrialsSpec>& trials : sweep.trials) {
    if (!trials.ok() || trials->synthetic.has_value()) continue;
    if (!seen.insert(trials->weights).second) continue;
    const auto folder = FindModelFolder(trials->weights);
    if (!folder.ok()) continue;
    for (std::string& file : FilesOfModel(*folder)) files.push_back(std::move(file));
  }
  return files;
}

// Adds the lines of cells that are not among `lines` yet; fewer when interrupted.
absl::Status Run(const LoadedSweep& sweep, const SweepOptions& options, SweepFolder* folder,
                 std::vector<std::string>* lines) {
  const size_t count = sweep.spec.cells.size();
  const int32_t cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  SweepRun run;
  run.first = lines->size();
  run.count = count;
  run.jobs = options.jobs > 0 ? options.jobs : std::max(1, cores);
  run.interrupted = Interrupted;
  CellContext context;
  context.sweep = &sweep.spec;
  context.experiments = &sweep.experiments;
  context.gate = sweep.gate.has_value() ? &*sweep.gate : nullptr;
  context.exit_code = [](const absl::Status& status) {
    return static_cast<int>(ExitCodeOf(status));
  };
  context.experiment = [&sweep](size_t cell) { return ExperimentCell(*sweep.trials[cell]); };
  context.threads = std::max<int32_t>(1, run.jobs / static_cast<int32_t>(count));
  run.run = [&context](size_t cell) { return CellLine(context, cell); };
  ProgressLine progress;
  run.done = [&](size_t cell, const std::string& line) {
    lines->push_back(line);
    if (progress.enabled()) progress.Show(absl::StrCat(cell + 1, " of ", count, " cells done"));
    return folder == nullptr ? absl::OkStatus() : folder->Append(line);
  };
  return RunCells(run).status();
}

std::string CellInWords(const CellRecord& cell) {
  std::string text = absl::StrCat("cell ", cell.cell);
  std::string set = cell.label;
  for (const auto& [key, value] : cell.set) {
    absl::StrAppend(&set, set.empty() ? "" : ", ", key, "=", value);
  }
  return set.empty() ? text : text + " (" + set + ")";
}

// The gate's verdict, else the first cell that has an error. OK when there is nothing to say.
absl::Status Verdict(const SweepRecords& records, const std::string& gate) {
  std::vector<std::string> failed;
  const CellRecord* first_error = nullptr;
  size_t errors = 0;
  for (const CellRecord& cell : records.cells) {
    if (cell.gate.has_value() && !*cell.gate) failed.push_back(CellInWords(cell));
    if (cell.error.empty()) continue;
    ++errors;
    if (first_error == nullptr) first_error = &cell;
  }
  const std::string of_all = absl::StrCat(" of ", records.cells.size(), " cells");
  const std::string without =
      errors == 0 ? "" : absl::StrCat(errors, of_all, " have an error instead of a result");
  if (!failed.empty()) {
    std::string text =
        absl::StrCat("the gate '", gate, "' does not hold in ", failed.size(), of_all, ": ");
    for (size_t i = 0; i < std::min(failed.size(), kCellsNamed); ++i) {
      absl::StrAppend(&text, i > 0 ? ", " : "", failed[i]);
    }
    if (failed.size() > kCellsNamed) text += ", ...";
    return absl::FailedPreconditionError(without.empty() ? text : text + "; " + without);
  }
  if (first_error == nullptr) return absl::OkStatus();
  const std::string text =
      absl::StrCat(without, "; ", CellInWords(*first_error), ": ", first_error->error);
  return first_error->exit_code == static_cast<int>(ExitCode::kInput) ? InputError({}, text)
                                                                      : ConfigError({}, text);
}

absl::StatusOr<SweepRecords> RecordsOf(const SweepSpec& spec,
                                       const std::vector<std::string>& lines) {
  SweepRecords records;
  records.command = spec.command;
  records.request = spec.request;
  records.keys = spec.keys;
  for (const std::string& line : lines) {
    absl::StatusOr<CellRecord> record = ReadCellLine(spec.command, line);
    if (!record.ok()) return record.status();
    records.cells.push_back(*std::move(record));
  }
  return records;
}

absl::Status WriteResults(const SweepSpec& spec, const SweepRecords& records, SweepFolder* folder) {
  const std::string name = std::filesystem::path(spec.file).stem().string();
  const std::optional<HeatMap> map = SweepHeatMap(records, name);
  return folder->Finish(SweepCsv(records), map.has_value() ? HeatMapSvg(*map) : "");
}

ExitCode Sweep(const SweepOptions& options) {
  const absl::StatusOr<LoadedSweep> sweep = Load(options);
  if (!sweep.ok()) return ReportError(sweep.status(), options.json);
  std::unique_ptr<SweepFolder> folder;
  std::vector<std::string> lines;
  if (!options.out.empty()) {
    folder = std::make_unique<SweepFolder>(options.out);
    const std::string digest =
        SweepDigest(sweep->spec, sweep->experiments, ModelFilesOf(*sweep), BATCHVAR_VERSION);
    auto earlier = folder->Open(sweep->spec, digest, options.resume);
    if (!earlier.ok()) return ReportError(earlier.status(), options.json);
    lines = *std::move(earlier);
    if (!lines.empty()) PrintNote(absl::StrCat(lines.size(), " cells are there already"));
  }
  WatchInterrupts();
  const absl::Status ran = Run(*sweep, options, folder.get(), &lines);
  if (!ran.ok()) return ReportError(ran, options.json);
  const absl::StatusOr<SweepRecords> records = RecordsOf(sweep->spec, lines);
  if (!records.ok()) return ReportError(records.status(), options.json);
  const bool complete = lines.size() == sweep->spec.cells.size();
  if (complete && folder != nullptr) {
    const absl::Status written = WriteResults(sweep->spec, *records, folder.get());
    if (!written.ok()) return ReportError(written, options.json);
  }
  std::string text;
  if (options.json) {
    for (const std::string& line : lines) text += line + "\n";
  } else {
    text = SweepText(*records);
    if (complete && folder != nullptr) text += "\nResults are in " + options.out + "\n";
  }
  PrintData(text);
  if (!complete) {
    PrintNote(absl::StrCat("interrupted after ", lines.size(), " of ", sweep->spec.cells.size(),
                           " cells", folder == nullptr ? "" : "; go on with --resume"));
    return ExitCode::kInterrupted;
  }
  const absl::Status verdict = Verdict(*records, sweep->spec.gate);
  return verdict.ok() ? ExitCode::kDone : ReportError(verdict, options.json);
}

}  // namespace

void AddSweepCommand(CLI::App* app, ExitCode* exit_code) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* verb = app->add_subcommand(
      "sweep",
      "Run plan, classes, simulate or experiment for every combination of some keys' values");
  verb->add_option("sweep", options->file, "sweep file (YAML)")->required();
  verb->add_option("--set", options->overrides,
                   "KEY=VALUE over the base; KEY=A,B,C sweeps the key; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--out", options->out,
                   "folder for cells.jsonl, cells.csv and, over two numbers, heatmap.svg");
  verb->add_option("--jobs", options->jobs, "cells at a time (cores); results do not depend on it")
      ->check(CLI::Range(1, 1024));
  verb->add_flag("--resume", options->resume, "go on with the stopped sweep in --out");
  verb->add_flag("--json", options->json, "print one JSON object a line");
  verb->callback([options, exit_code] { *exit_code = Sweep(*options); });
}

}  // namespace batchvar
