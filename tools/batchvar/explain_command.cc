// batchvar explain RUN_A RUN_B --request ID: where one request's summation orders part.
#include <string>

#include "sim/config/load_experiment.h"
#include "sim/io/gemm_table.h"
#include "sim/io/run_file.h"
#include "sim/report/explain_text.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

struct ExplainOptions {
  std::string run_a;
  std::string run_b;
  std::string request;
  bool json = false;
};

// A run read back: its plans are made again from the configuration it carries.
struct LoadedRun {
  std::unique_ptr<PlanBook> book;
  std::unique_ptr<RequestHistory> history;
};

absl::StatusOr<LoadedRun> Load(const std::string& path, const std::string& request) {
  absl::StatusOr<RunFile> file = ReadRunFile(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<ExperimentSpec> spec =
      LoadExperimentText(file->config_yaml, path + " (its configuration)", ".", {});
  if (!spec.ok()) return spec.status();
  if (absl::Status tables = LoadGemmTables(&spec->policies.gemm); !tables.ok()) return tables;
  LoadedRun run;
  run.book = std::make_unique<PlanBook>(*spec);
  run.history = std::make_unique<RequestHistory>(request, run.book.get());
  std::vector<std::string> ids;
  for (size_t i = 0; i < file->requests.size(); ++i) {
    const RunRequest& info = file->requests[i];
    Request entry;
    entry.id = info.id;
    entry.prompt_tokens = info.prompt_tokens;
    run.history->OnRequest(static_cast<int32_t>(i), entry);
    ids.push_back(info.id);
  }
  if (!run.history->found()) {
    const std::string nearest = NearestName(request, ids);
    return ConfigError({}, "no request '" + request + "' in " + path +
                               (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  for (const StepSpan& span : file->spans) run.history->OnSpan(span);
  return run;
}

ExitCode Explain(const ExplainOptions& options) {
  absl::StatusOr<LoadedRun> a = Load(options.run_a, options.request);
  if (!a.ok()) return ReportError(a.status(), options.json);
  absl::StatusOr<LoadedRun> b = Load(options.run_b, options.request);
  if (!b.ok()) return ReportError(b.status(), options.json);
  const auto same_ops = [&] {
    if (a->book->ops().size() != b->book->ops().size()) return false;
    for (size_t i = 0; i < a->book->ops().size(); ++i) {
      if (a->book->ops()[i].op != b->book->ops()[i].op) return false;
    }
    return true;
  };
  if (!same_ops() || a->history->prompt_tokens() != b->history->prompt_tokens()) {
    return ReportError(
        ConfigError({}, "the runs cannot be compared: request '" + options.request +
                            "' has another prompt length or another kind of model in each"),
        options.json);
  }
  const RowComparison rows = CompareRows(*a->history, a->book.get(), *b->history, b->book.get());
  const ExplainedRun side_a{options.run_a, a->history.get(), a->book.get()};
  const ExplainedRun side_b{options.run_b, b->history.get(), b->book.get()};
  PrintData(options.json ? ExplainJson(side_a, side_b, rows) : ExplainText(side_a, side_b, rows));
  return ExitCode::kDone;
}

}  // namespace

void AddExplainCommand(CLI::App* app, ExitCode* exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* verb = app->add_subcommand(
      "explain", "First step and op at which a request's summation order differs in two runs");
  verb->add_option("run_a", options->run_a, "a folder that simulate --out made, or its run.binpb")
      ->required();
  verb->add_option("run_b", options->run_b, "the other run")->required();
  verb->add_option("--request", options->request, "the request's id")->required();
  verb->add_flag("--json", options->json, "print one JSON object");
  verb->callback([options, exit_code] { *exit_code = Explain(*options); });
}

}  // namespace batchvar
