// `batchvar hazard FILE`: how many requests meet another summation order, and how many flips that
// makes one expect (docs/hazard.md).
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/experiment/margin_noise.h"
#include "sim/config/load_replay.h"
#include "sim/replay/hazard.h"
#include "sim/report/hazard_report.h"
#include "sim/report/number_text.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/interrupt.h"
#include "tools/batchvar/model_folder.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

constexpr char kDefaultWeights[] = "batchvar_tiny";
constexpr char kSyntheticWeights[] = "synthetic";
constexpr double kMaxWindowS = 1e9;

struct HazardFlags {
  std::string file;
  std::vector<std::string> set;
  std::string weights;
  double window_s = 3600.0;
  std::optional<double> density;
  std::optional<double> noise_rms;
  int64_t prompts = 16;
  int64_t threads = 0;
  bool json = false;
};

absl::Status CheckFlags(const HazardFlags& flags) {
  const auto bad = [](double value) { return !std::isfinite(value) || value < 0.0; };
  if (!(flags.window_s >= 1e-3 && flags.window_s <= kMaxWindowS)) {
    return FlagError("--window-s", "must be from 0.001 to 1e9 seconds");
  }
  if (flags.density.has_value() != flags.noise_rms.has_value()) {
    return FlagError(flags.density.has_value() ? "--noise-rms" : "--margin-density",
                     "is missing: the two are given together, or both are measured");
  }
  if (flags.density.has_value() && bad(*flags.density)) {
    return FlagError("--margin-density", "must be at least 0, per unit of a logit");
  }
  if (flags.noise_rms.has_value() && bad(*flags.noise_rms)) {
    return FlagError("--noise-rms", "must be at least 0, in units of a logit");
  }
  if (flags.density.has_value() && !flags.weights.empty()) {
    return FlagError("--weights", "is not used where --margin-density is given");
  }
  if (absl::Status status = InRange("--prompts", flags.prompts, 100000); !status.ok()) {
    return status;
  }
  return InRange("--threads", flags.threads, 1024, 0);
}

// Those of the flag, else of the file's `execute` map, else the model that comes with the project.
absl::StatusOr<MarginNoise> Measure(const HazardFlags& flags, const ReplaySpec& spec, int64_t m,
                                    int32_t threads) {
  MarginNoiseOptions options;
  options.weights = flags.weights.empty() ? kDefaultWeights : flags.weights;
  if (flags.weights == kSyntheticWeights) {
    options.synthetic.emplace();
    options.synthetic->model = spec.experiment.model;
    options.weights = spec.experiment.model.name;
  } else if (flags.weights.empty() && spec.execute.has_value()) {
    options.weights = spec.execute->weights;
    options.synthetic = spec.execute->synthetic;
    options.logits = spec.execute->logits;
  }
  const auto model = FindExecutedModel(options.weights, options.synthetic.has_value());
  if (!model.ok()) return model.status();
  options.weights_folder = model->folder;
  options.m = m;
  options.prompts = static_cast<int32_t>(flags.prompts);
  options.isa = BestIsa();
  options.threads = threads;
  return MeasureMarginNoise(spec.experiment, options);
}

absl::StatusOr<Exposure> Expose(const ExperimentSpec& spec, int32_t threads) {
  ExposureOptions options;
  options.threads = threads;
  WatchInterrupts();
  options.interrupted = Interrupted;
  ProgressLine line;
  options.progress = [&line](int64_t finished, TimeNs now) {
    if (!line.Due()) return;
    line.Show(absl::StrCat("simulated ", Fixed(static_cast<double>(now) / 1e9, 1), " s, ",
                           WithThousands(finished), " requests done"));
  };
  return MeasureExposure(spec, options);
}

absl::Status Run(const HazardFlags& flags, ExitCode* exit_code) {
  if (absl::Status status = CheckFlags(flags); !status.ok()) return status;
  const absl::StatusOr<ReplaySpec> spec = LoadReplay(flags.file, flags.set);
  if (!spec.ok()) return spec.status();
  const auto threads = static_cast<int32_t>(
      flags.threads > 0 ? flags.threads : std::max(1u, std::thread::hardware_concurrency()));
  const absl::StatusOr<Exposure> exposure = Expose(spec->experiment, threads);
  if (!exposure.ok()) return exposure.status();
  HazardResult result;
  result.window_ns = static_cast<TimeNs>(flags.window_s * static_cast<double>(kNsPerSecond));
  result.duration_ns = exposure->replay.metrics.duration_ns;
  result.interrupted = exposure->replay.simulation.interrupted;
  const bool any = std::any_of(exposure->requests.begin(), exposure->requests.end(),
                               [](const RequestExposure& one) { return one.exposed > 0; });
  if (flags.density.has_value()) {
    result.noise = GivenNoise(*flags.density, *flags.noise_rms);
    result.has_noise = true;
  } else if (any && !result.interrupted) {
    const auto noise = Measure(flags, *spec, exposure->typical_m, threads);
    if (!noise.ok()) return noise.status();
    result.noise = *noise;
    result.has_noise = true;
  }
  result.windows = HazardWindows(exposure->requests, result.noise, result.window_ns);
  PrintData(flags.json ? JsonLine(HazardJson(spec->experiment, result))
                       : HazardText(spec->experiment, result));
  if (result.interrupted) *exit_code = ExitCode::kInterrupted;
  return absl::OkStatus();
}

}  // namespace

void AddHazardCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* verb = app->add_subcommand(
      "hazard", "Requests of a workload that meet another summation order, and expected flips");
  const auto flags = std::make_shared<HazardFlags>();
  verb->add_option("experiment", flags->file, "experiment file (YAML)")->required();
  verb->add_option("--set", flags->set, "KEY=VALUE laid over the file, dots in KEY")
      ->allow_extra_args(false);
  verb->add_option("--window-s", flags->window_s, "length of a window, in seconds of arrivals")
      ->capture_default_str();
  verb->add_option("--margin-density", flags->density,
                   "density of margins at 0 per unit of a logit, instead of measuring it");
  verb->add_option("--noise-rms", flags->noise_rms,
                   "rms change of a margin under another order, in logits; with the density");
  verb->add_option("--weights", flags->weights,
                   "model that is measured: a name, a folder or `synthetic` (the file's execute "
                   "map, else batchvar_tiny)");
  verb->add_option("--prompts", flags->prompts, "seeded prompts that are measured")
      ->capture_default_str();
  verb->add_option("--threads", flags->threads, "threads; results do not depend on it (all cores)");
  verb->add_flag("--json", flags->json, "print one JSON object");
  verb->callback([flags, exit_code] {
    const absl::Status status = Run(*flags, exit_code);
    if (!status.ok()) *exit_code = ReportError(status, flags->json);
  });
}

}  // namespace batchvar
