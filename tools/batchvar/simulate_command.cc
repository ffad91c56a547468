// batchvar simulate EXPERIMENT.yaml: replays a workload and writes its results.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/experiment/trace_execution.h"
#include "sim/config/load_experiment.h"
#include "sim/config/load_replay.h"
#include "sim/io/run_file.h"
#include "sim/replay/prefix_sources.h"
#include "sim/replay/replay.h"
#include "sim/report/executed_report.h"
#include "sim/report/number_text.h"
#include "sim/report/summary_json.h"
#include "sim/report/summary_text.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/interrupt.h"
#include "tools/batchvar/model_folder.h"
#include "tools/batchvar/result_file.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

struct SimulateOptions {
  std::string experiment;
  std::vector<std::string> overrides;
  std::string out;
  std::vector<std::string> requests;
  int32_t threads = 0;
  bool json = false;
};

// The command that repeats the run. --out and --threads change no byte of the results.
std::string RepeatCommand(const SimulateOptions& options) {
  std::string command = "batchvar simulate " + options.experiment;
  for (const std::string& set : options.overrides) command += " --set '" + set + "'";
  for (const std::string& id : options.requests) command += " --request " + id;
  return command;
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return InputError({path}, "cannot be made: " + error.message());
  // Results of an earlier run must not stand beside those of one that fails half-way.
  for (const char* name :
       {"run.binpb", "run.json", "summary.json", "requests.csv", "responses.jsonl"}) {
    std::filesystem::remove(path + "/" + name, error);
  }
  return absl::OkStatus();
}

absl::Status WriteResults(const SimulateOptions& options, const ExperimentSpec& spec,
                          const ReplayResult& result, const ExecutedTrace* executed,
                          RunFileWriter* run_file) {
  const SimulationResult& simulation = result.simulation;
  absl::Status status =
      run_file->Finish(result.book->Records(),
                       {simulation.interrupted, simulation.num_steps,
                        static_cast<int64_t>(simulation.requests.size()), simulation.end_ns,
                        simulation.server_failure ? simulation.server_failure->Words() : ""});
  if (!status.ok()) return status;
  RunInfo info;
  info.version = BATCHVAR_VERSION;
  info.command = RepeatCommand(options);
  info.trace_name = spec.workload.has_trace ? spec.workload.trace.path : "";
  info.trace_sha256 = result.trace_sha256;
  info.libraries = FileLibraryVersions();
  status = WriteResultFile(options.out + "/requests.csv", RequestsCsv(simulation));
  if (status.ok()) {
    status = WriteResultFile(options.out + "/summary.json", SummaryJson(result, executed));
  }
  if (status.ok() && executed != nullptr) {
    status = WriteResultFile(options.out + "/responses.jsonl", ExecutedResponsesJsonl(*executed));
  }
  if (status.ok()) {
    status = WriteResultFile(options.out + "/run.json", RunJson(spec, info, simulation));
  }
  return status;
}

std::function<void(int64_t, TimeNs)> ProgressOn(ProgressLine* line) {
  return [line](int64_t finished, TimeNs now) {
    if (!line->Due()) return;
    line->Show(absl::StrCat("simulated ", Fixed(static_cast<double>(now) / 1e9, 1), " s, ",
                            WithThousands(finished), " requests done"));
  };
}

absl::StatusOr<ExecutedTrace> Execute(const ReplaySpec& replay, const PrefixSources& sources,
                                      int32_t threads) {
  const auto model =
      FindExecutedModel(replay.execute->weights, replay.execute->synthetic.has_value());
  if (!model.ok()) return model.status();
  TraceExecutionOptions options;
  options.weights_folder = model->folder;
  options.isa = BestIsa();
  options.threads = threads;
  ProgressLine line;
  options.progress = [&line](int64_t rows) {
    if (line.Due()) line.Show(absl::StrCat("executed ", WithThousands(rows), " rows"));
  };
  return ExecuteTrace(replay, sources, options);
}

ExitCode Simulate(const SimulateOptions& options) {
  const absl::StatusOr<ReplaySpec> loaded = LoadReplay(options.experiment, options.overrides);
  if (!loaded.ok()) return ReportError(loaded.status(), options.json);
  const ExperimentSpec* spec = &loaded->experiment;
  std::unique_ptr<RunFileWriter> run_file;
  ReplayOptions replay;
  if (!options.out.empty()) {
    const absl::Status made = MakeFolder(options.out);
    if (!made.ok()) return ReportError(made, options.json);
    auto opened =
        RunFileWriter::Open(options.out + "/run.binpb", absl::StrCat("batchvar ", BATCHVAR_VERSION),
                            ExpandToYaml(*spec));
    if (!opened.ok()) return ReportError(opened.status(), options.json);
    run_file = std::move(*opened);
    replay.sinks.push_back(run_file.get());
  }
  const int32_t cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  replay.threads = options.threads > 0 ? options.threads : std::max(1, cores);
  replay.requests = options.requests;
  PrefixSources sources;
  if (loaded->execute.has_value()) replay.sinks.push_back(&sources);
  WatchInterrupts();
  replay.interrupted = Interrupted;
  absl::StatusOr<ReplayResult> result;
  {
    ProgressLine line;
    if (line.enabled()) replay.progress = ProgressOn(&line);
    result = Replay(*spec, replay);
  }
  if (!result.ok()) return ReportError(result.status(), options.json);
  std::optional<ExecutedTrace> executed;
  if (loaded->execute.has_value() && !result->simulation.interrupted) {
    absl::StatusOr<ExecutedTrace> trace = Execute(*loaded, sources, replay.threads);
    if (!trace.ok()) return ReportError(trace.status(), options.json);
    executed = *std::move(trace);
  }
  const ExecutedTrace* trace = executed.has_value() ? &*executed : nullptr;
  if (run_file != nullptr) {
    const absl::Status written = WriteResults(options, *spec, *result, trace, run_file.get());
    if (!written.ok()) return ReportError(written, options.json);
  }
  if (options.json) {
    PrintData(SummaryJson(*result, trace));
  } else {
    std::string text = SummaryText(*spec, *result);
    if (trace != nullptr) text += "\n" + ExecutedText(*trace);
    for (const auto& history : result->histories) {
      text += "\n" + RequestLifeText(*history, *result);
    }
    if (!options.out.empty()) text += "\nResults are in " + options.out + "\n";
    PrintData(text);
  }
  if (result->simulation.server_failure.has_value()) {
    return ReportError(ConfigError({}, result->simulation.server_failure->Words()), options.json);
  }
  return result->simulation.interrupted ? ExitCode::kInterrupted : ExitCode::kDone;
}

}  // namespace

void AddSimulateCommand(CLI::App* app, ExitCode* exit_code) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* verb = app->add_subcommand(
      "simulate", "Replay a workload: arrivals, scheduling, step shapes, plans and their classes");
  verb->add_option("experiment", options->experiment, "experiment file (YAML)")->required();
  verb->add_option("--set", options->overrides, "KEY=VALUE laid over the file, dots in KEY")
      ->allow_extra_args(false);
  verb->add_option("--out", options->out,
                   "folder for run.json, run.binpb, summary.json, requests.csv and, where the "
                   "file has an execute map, responses.jsonl");
  verb->add_option("--request", options->requests, "also print the life of this request")
      ->allow_extra_args(false);
  verb->add_option("--threads", options->threads, "threads; results do not depend on it")
      ->check(CLI::Range(1, 1024));
  verb->add_flag("--json", options->json, "print summary.json instead of text");
  verb->callback([options, exit_code] { *exit_code = Simulate(*options); });
}

}  // namespace batchvar
