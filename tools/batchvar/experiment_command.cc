// `batchvar experiment FILE`: one request, alone and in company, on a real model.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/experiment/run_experiment.h"
#include "kernels/tokenizer/byte_alphabet.h"
#include "sim/config/load_trials.h"
#include "sim/report/experiment_json.h"
#include "sim/report/experiment_text.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/model_folder.h"
#include "tools/batchvar/result_file.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kBosToken = 1;  // of llama2.c's models, which expect one; others add none

struct ExperimentFlags {
  std::string file;
  std::vector<std::string> set;
  std::vector<std::string> pins;
  std::string out;
  std::string isa = "best";
  int64_t threads = 0;
  bool once = false;
  bool json = false;
};

absl::StatusOr<std::vector<Op>> PinnedOps(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (size_t op = 0; op <= static_cast<size_t>(Op::kArgmax); ++op) {
    known.emplace_back(OpName(static_cast<Op>(op)));
  }
  std::vector<Op> ops;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) return UnknownName("--pin", name, known);
    ops.push_back(static_cast<Op>(found - known.begin()));
  }
  return ops;
}

absl::StatusOr<Isa> IsaOf(const std::string& name) {
  Isa isa = BestIsa();
  if (name != "best" && !ParseIsa(name, &isa)) {
    return UnknownName("--isa", name, {"best", "scalar", "avx2", "avx512"});
  }
  if (!HasIsa(isa)) return FlagError("--isa", absl::StrCat("this CPU has no ", IsaName(isa)));
  return isa;
}

absl::StatusOr<std::vector<int64_t>> PromptOf(const TrialsSpec& trials,
                                              const Tokenizer* tokenizer) {
  if (!trials.prompt_ids.empty()) return trials.prompt_ids;
  if (tokenizer == nullptr) {
    return FlagError("experiment.prompt",
                     absl::StrCat("'", trials.weights, "' has no tokenizer; give prompt_ids"));
  }
  const auto ids = tokenizer->Encode(trials.prompt);
  if (!ids.ok()) return ids.status();
  std::vector<int64_t> prompt(ids->begin(), ids->end());
  if (trials.add_bos) prompt.insert(prompt.begin(), kBosToken);
  return prompt;
}

absl::Status WriteResults(const std::string& folder, const ExperimentResult& result) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return FlagError("--out", folder + ": " + error.message());
  absl::Status status =
      WriteResultFile(folder + "/experiment.json", JsonLine(ExperimentJson(result)));
  if (!status.ok()) return status;
  return WriteResultFile(folder + "/responses.jsonl", ResponsesJsonl(result));
}

// Inconclusive where no arm but the first says anything; a first arm that does not repeat is a bug.
ExitCode CodeOf(const ExperimentResult& result) {
  bool any = result.arms.size() == 1;
  for (size_t i = 0; i < result.arms.size(); ++i) {
    if (!result.arms[i].repeat_identical) return ExitCode::kBug;
    if (i > 0 && !result.arms[i].inconclusive) any = true;
  }
  return any ? ExitCode::kDone : ExitCode::kInconclusive;
}

absl::Status Run(const ExperimentFlags& flags, ExitCode* exit_code) {
  auto trials = LoadTrials(flags.file, flags.set);
  if (!trials.ok()) return trials.status();
  const auto pinned = PinnedOps(flags.pins);
  if (!pinned.ok()) return pinned.status();
  const auto isa = IsaOf(flags.isa);
  if (!isa.ok()) return isa.status();
  if (absl::Status status = InRange("--threads", flags.threads, kMaxThreads, 0); !status.ok()) {
    return status;
  }
  const auto model = FindExecutedModel(trials->weights, trials->synthetic.has_value());
  if (!model.ok()) return model.status();
  const auto prompt = PromptOf(*trials, model->tokenizer.get());
  if (!prompt.ok()) return prompt.status();

  ExperimentOptions options;
  options.weights_folder = model->folder;
  options.prompt = *prompt;
  options.isa = *isa;
  options.threads = static_cast<int32_t>(
      flags.threads > 0 ? flags.threads : std::max(1u, std::thread::hardware_concurrency()));
  options.repeat = !flags.once;
  options.pinned = *pinned;
  ProgressLine line;
  options.progress = [&line](const std::string& arm, int64_t done, int64_t of) {
    if (line.Due()) line.Show(absl::StrFormat("%s: %d of %d rows", arm, done, of));
  };
  const auto result = RunExperiment(*trials, options);
  if (!result.ok()) return result.status();
  if (!flags.out.empty()) {
    if (absl::Status status = WriteResults(flags.out, *result); !status.ok()) return status;
  }
  const auto words = [&model](int64_t token) {
    if (model->tokenizer == nullptr) return absl::StrCat(token);
    return absl::StrCat(
        "\"", EscapeInvalidUtf8(model->tokenizer->TokenBytes(static_cast<int32_t>(token))), "\"");
  };
  PrintData(flags.json ? JsonLine(ExperimentJson(*result)) : ExperimentText(*result, words));
  *exit_code = CodeOf(*result);
  return absl::OkStatus();
}

}  // namespace

void AddExperimentCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* verb = app->add_subcommand(
      "experiment", "One request, alone and in company, executed on a real model");
  const auto flags = std::make_shared<ExperimentFlags>();
  verb->add_option("file", flags->file, "Experiment with an `experiment` map (docs/experiment.md)")
      ->required();
  verb->add_option("--set", flags->set, "KEY=VALUE over the file, as often as needed");
  verb->add_option(
      "--pin", flags->pins,
      "Sum this op in every trial as the arm it is compared with does (o_proj, attention)");
  verb->add_option("--out", flags->out, "Folder for experiment.json and responses.jsonl");
  verb->add_option("--isa", flags->isa, "scalar, avx2, avx512, or best")->capture_default_str();
  verb->add_option("--threads", flags->threads, "Threads; results do not depend on it (all cores)");
  verb->add_flag("--once", flags->once, "Do not run every arm a second time");
  verb->add_flag("--json", flags->json, "Print one JSON object");
  verb->callback([flags, exit_code] {
    const absl::Status status = Run(*flags, exit_code);
    if (!status.ok()) *exit_code = ReportError(status, flags->json);
  });
}

}  // namespace batchvar
