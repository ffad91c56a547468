#include "sim/report/hazard_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sim/report/number_text.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerHour = 3600.0 * static_cast<double>(kNsPerSecond);

double PerHour(double count, const HazardResult& result) {
  if (result.duration_ns <= 0) return 0.0;
  return count * kNsPerHour / static_cast<double>(result.duration_ns);
}

Json WindowJson(const HazardWindow& window) {
  return {{"start_ns", window.start_ns},
          {"requests", window.requests},
          {"requests_meeting_a_class_change", window.meeting},
          {"tokens", window.tokens},
          {"exposed_tokens", window.exposed},
          {"expected_flips", window.expected_flips},
          {"expected_changed_answers", window.expected_changed}};
}

Json NoiseJson(const HazardResult& result) {
  const MarginNoise& noise = result.noise;
  if (!result.has_noise) return nullptr;
  Json json = {{"density_per_logit", noise.density},
               {"rms_change", noise.rms},
               {"mean_decrease", noise.decrease},
               {"flips_per_exposed_token", noise.FlipsPerToken()}};
  if (noise.model.empty()) return json;
  json["measured"] = {{"model", noise.model},   {"synthetic", noise.synthetic},
                      {"m", noise.m},           {"plan_model", noise.plan_model},
                      {"tokens", noise.tokens}, {"flips", noise.flips}};
  return json;
}

std::string Share(int64_t part, int64_t whole) {
  return whole == 0
             ? "-"
             : Fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

std::string NoiseText(const HazardResult& result) {
  const MarginNoise& noise = result.noise;
  if (!result.has_noise) return "No request meets a class change: there is nothing to flip.\n";
  std::string text = absl::StrFormat(
      "Decisions   %.3g of the margins lie in each unit of a logit above 0; another order changes "
      "a "
      "margin\n            by %.3g (rms), %.3g downwards on average: %.3g flips per exposed "
      "token\n",
      noise.density, noise.rms, noise.decrease, noise.FlipsPerToken());
  if (noise.model.empty()) return text + "            (both numbers were given)\n";
  absl::StrAppendFormat(
      &text,
      "            measured on %s%s, M %d against 1, %s tokens: %d other tokens (%.3g each)\n",
      noise.model, noise.plan_model.empty() ? "" : " with plans borrowed from " + noise.plan_model,
      noise.m, WithThousands(noise.tokens), noise.flips,
      static_cast<double>(noise.flips) / static_cast<double>(noise.tokens));
  if (noise.synthetic) text += "            weights are synthetic\n";
  return text;
}

std::vector<std::string> Cells(const std::string& name, const HazardWindow& window) {
  return {name,
          WithThousands(window.requests),
          WithThousands(window.meeting),
          Share(window.meeting, window.requests),
          WithThousands(window.tokens),
          Share(window.exposed, window.tokens),
          Fixed(window.expected_flips, 1),
          Fixed(window.expected_changed, 1)};
}

}  // namespace

Json HazardJson(const ExperimentSpec& spec, const HazardResult& result) {
  const HazardWindow total = HazardTotal(result.windows);
  Json json = {{"schema_version", 1},
               {"kind", "hazard"},
               {"model", spec.model.name},
               {"device", spec.device.name},
               {"policies", spec.policies.name},
               {"seed", spec.seed},
               {"interrupted", result.interrupted},
               {"margins", NoiseJson(result)},
               {"duration_ns", result.duration_ns},
               {"window_ns", result.window_ns},
               {"requests", total.requests},
               {"requests_meeting_a_class_change", total.meeting},
               {"expected_flips", total.expected_flips},
               {"expected_flips_per_hour", PerHour(total.expected_flips, result)},
               {"expected_changed_answers", total.expected_changed}};
  json["windows"] = Json::array();
  for (const HazardWindow& window : result.windows) json["windows"].push_back(WindowJson(window));
  return json;
}

std::string HazardText(const ExperimentSpec& spec, const HazardResult& result) {
  std::string text = absl::StrCat(
      spec.model.name, " on ", spec.device.name, " (", spec.device.sm_count, " SMs), tp ", spec.tp,
      ", ", DTypeName(spec.dtype), ", policies ", spec.policies.name, ", seed ", spec.seed, "\n");
  if (result.interrupted) {
    text += "INTERRUPTED: what follows covers only the part that was simulated\n";
  }
  text += NoiseText(result);
  std::vector<std::vector<std::string>> rows = {
      {"from s", "requests", "meet*", "share", "tokens", "exposed", "flips", "answers changed"}};
  for (const HazardWindow& window : result.windows) {
    rows.push_back(
        Cells(Fixed(static_cast<double>(window.start_ns) / static_cast<double>(kNsPerSecond), 0),
              window));
  }
  const HazardWindow total = HazardTotal(result.windows);
  rows.push_back(Cells("all", total));
  absl::StrAppend(&text, "\n", AlignedTable(rows, 1, "  "));
  absl::StrAppendFormat(
      &text,
      "  * at least one row, or KV that it reads, was summed in a class that it has not alone\n\n"
      "%s expected flips an hour over %s s; %s of %s requests meet a class change (%s)\n",
      Fixed(PerHour(total.expected_flips, result), 1),
      Fixed(static_cast<double>(result.duration_ns) / static_cast<double>(kNsPerSecond), 1),
      WithThousands(total.meeting), WithThousands(total.requests),
      Share(total.meeting, total.requests));
  return text;
}

}  // namespace batchvar
