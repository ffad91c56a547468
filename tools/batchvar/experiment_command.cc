// `batchvar experiment FILE`: one request, alone and in company, on a real model.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
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
#include "sim/io/experiment_file.h"
#include "sim/report/experiment_json.h"
#include "sim/report/experiment_text.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/experiment_setup.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/result_file.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr double kSecondsBeforeGuess = 1.0;

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

// "load: 1200 of 9000 rows, 12 s left": by the rate of the arm so far.
class ExperimentProgress {
 public:
  void Show(const std::string& arm, int64_t done, int64_t of) {
    const auto now = std::chrono::steady_clock::now();
    if (arm != arm_ || done < done_) {  // an arm begins, or begins again
      arm_ = arm;
      begin_ = now;
    }
    done_ = done;
    if (!line_.Due(/*every=*/1)) return;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    std::string text = absl::StrFormat("%s: %d of %d rows", arm, done, of);
    if (done > 0 && seconds > kSecondsBeforeGuess) {
      absl::StrAppendFormat(&text, ", %.0f s left",
                            seconds * static_cast<double>(of - done) / static_cast<double>(done));
    }
    line_.Show(text);
  }

 private:
  ProgressLine line_;
  std::string arm_;
  int64_t done_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

absl::Status WriteResults(const std::string& folder, const ExperimentResult& result) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return FlagError("--out", folder + ": " + error.message());
  absl::Status status =
      WriteResultFile(folder + "/experiment.json", JsonLine(ExperimentJson(result)));
  if (status.ok()) {
    status = WriteResultFile(folder + "/experiment.binpb",
                             ExperimentBytes(result, absl::StrCat("batchvar ", BATCHVAR_VERSION)));
  }
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
  auto setup = SetUpExperiment(*trials);
  if (!setup.ok()) return setup.status();
  ExperimentOptions& options = setup->options;
  options.isa = *isa;
  options.threads = static_cast<int32_t>(
      flags.threads > 0 ? flags.threads : std::max(1u, std::thread::hardware_concurrency()));
  options.repeat = !flags.once;
  options.pinned = *pinned;
  ExperimentProgress progress;
  options.progress = [&progress](const std::string& arm, int64_t done, int64_t of) {
    progress.Show(arm, done, of);
  };
  const auto result = RunExperiment(*trials, options);
  if (!result.ok()) return result.status();
  if (!flags.out.empty()) {
    if (absl::Status status = WriteResults(flags.out, *result); !status.ok()) return status;
  }
  const Tokenizer* tokenizer = setup->tokenizer.get();
  const auto words = [tokenizer](int64_t token) {
    if (tokenizer == nullptr) return absl::StrCat(token);
    // JSON's quotes, in which a line's end is a \n.
    return nlohmann::json(EscapeInvalidUtf8(tokenizer->TokenBytes(static_cast<int32_t>(token))))
        .dump();
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
  verb->add_option("--out", flags->out,
                   "Folder for experiment.json, experiment.binpb and responses.jsonl");
  verb->add_option("--isa", flags->isa, "scalar, avx2, avx512, or best")->capture_default_str();
  verb->add_option("--threads,--jobs", flags->threads,
                   "Threads; results do not depend on it (all cores)");
  verb->add_flag("--once", flags->once, "Do not run every arm a second time");
  verb->add_flag("--json", flags->json, "Print one JSON object");
  verb->callback([flags, exit_code] {
    const absl::Status status = Run(*flags, exit_code);
    if (!status.ok()) *exit_code = ReportError(status, flags->json);
  });
}

}  // namespace batchvar
