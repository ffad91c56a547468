#include "sim/report/experiment_json.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace batchvar {
namespace {

nlohmann::ordered_json SumJson(const RowSum& sum) {
  nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
  for (const Range& piece : sum.pieces) pieces.push_back({piece.begin, piece.end});
  return {{"batch", sum.batch},
          {"m", sum.m},
          {"pieces", pieces},
          {"combine", sum.combine},
          {"block", sum.block},
          {"descending", sum.descending},
          {"arithmetic", ArithmeticName(sum.arithmetic)},
          {"class", sum.klass.Hex()}};
}

nlohmann::ordered_json NoiseJson(const ArmResult& arm) {
  const NoiseSummary summary = SummaryOf(arm.noise, arm.reference);
  return {{"median_width", summary.median_width},
          {"max_width", summary.max_width},
          {"margins_within", summary.within},
          {"low", arm.noise.low},
          {"high", arm.noise.high}};
}

nlohmann::ordered_json DivergenceJson(const TextDivergence& divergence) {
  nlohmann::ordered_json json = {{"trial", divergence.trial},     {"position", divergence.position},
                                 {"token_a", divergence.token_a}, {"token_b", divergence.token_b},
                                 {"margin", divergence.margin},   {"tie", divergence.tie}};
  if (divergence.logits.known) {
    json["logit_max_abs"] = divergence.logits.max_abs;
    json["logit_max_ulp"] = divergence.logits.max_ulp;
  }
  if (divergence.row < 0) return json;
  json["row"] = divergence.row;
  json["first_op"] = OpName(divergence.first_op);
  json["layer"] = divergence.bits_differ ? divergence.bits_layer : 0;
  json["m_a"] = divergence.a.m;
  json["m_b"] = divergence.b.m;
  json["a"] = SumJson(divergence.a);
  json["b"] = SumJson(divergence.b);
  if (divergence.bits_differ) {
    json["first_bits"] = {{"op", OpName(divergence.bits_op)},
                          {"layer", divergence.bits_layer},
                          {"max_ulp", divergence.bits_max_ulp}};
  }
  return json;
}

nlohmann::ordered_json ArmJson(const ArmResult& arm) {
  nlohmann::ordered_json json = {
      {"name", arm.name},
      {"against", arm.against},
      {"fillers", arm.fillers},
      {"trials", arm.trials},
      {"distinct", arm.distinct},
      {"top", arm.top},
      {"differ_from_alone", arm.differ},
      {"repeat_identical", arm.repeat_identical},
      {"inconclusive", arm.inconclusive},
      {"batch", {{"min", arm.min_batch}, {"p50", arm.median_batch}, {"max", arm.max_batch}}},
      {"rows_needed", arm.rows_needed},
      {"rows_computed", arm.rows_computed}};
  const FirstDivergence first = FirstDivergenceOf(arm);
  if (first.exists) {
    json["first_divergence"] = {{"min", first.min}, {"median", first.median}, {"max", first.max}};
  }
  json["divergences"] = nlohmann::ordered_json::array();
  for (const TextDivergence& divergence : arm.divergences) {
    json["divergences"].push_back(DivergenceJson(divergence));
  }
  json["noise"] = NoiseJson(arm);
  return json;
}

}  // namespace

nlohmann::ordered_json ExperimentJson(const ExperimentResult& result) {
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"kind", "experiment"},
                                 {"model", result.model},
                                 {"plan_model", result.plan_model},
                                 {"synthetic", result.synthetic},
                                 {"dtype", result.dtype},
                                 {"logits", result.logits},
                                 {"seed", result.seed},
                                 {"prompt_tokens", result.prompt_tokens},
                                 {"max_tokens", result.max_tokens}};
  json["arms"] = nlohmann::ordered_json::array();
  for (const ArmResult& arm : result.arms) json["arms"].push_back(ArmJson(arm));
  json["margins"] = nlohmann::ordered_json::array();
  for (const TopTwo& top_two : result.reference) json["margins"].push_back(top_two.Margin());
  json["verdict"] = result.verdict;
  return json;
}

namespace {

// One response in the flat form that engineers keep of real servers (docs/formats.md). The margins
// are those of logits, which are those of log-probabilities.
nlohmann::ordered_json ResponseJson(const ExperimentResult& result, const ArmResult& arm,
                                    size_t trial) {
  const TrialCompany& met = arm.met[trial];
  nlohmann::ordered_json margins = nlohmann::ordered_json::array();
  for (const TopTwo& decision : arm.decisions[trial]) margins.push_back(decision.Margin());
  return {{"request_id", arm.name + "/" + std::to_string(trial)},
          {"prompt_sha256", result.prompt_digest.Hex()},
          {"model", result.model},
          {"params",
           {{"temperature", 0.0},
            {"top_p", 1.0},
            {"seed", arm.sampling_seed},
            {"max_tokens", result.max_tokens}}},
          {"status", 200},
          {"attempt", 1},
          {"finish_reason", "length"},
          {"gpu", arm.device},
          {"tp", arm.tp},
          {"system_fingerprint", arm.policies},
          {"concurrency", met.median_batch},
          {"running_min", met.min_batch},
          {"running_max", met.max_batch},
          {"arm", arm.name},
          {"usage",
           {{"prompt_tokens", result.prompt_tokens},
            {"completion_tokens", arm.texts[trial].size()},
            {"cached_tokens", met.cached_tokens}}},
          {"preemptions", met.preemptions},
          {"token_ids", arm.texts[trial]},
          {"margins", margins}};
}

}  // namespace

std::string ResponsesJsonl(const ExperimentResult& result) {
  std::string lines;
  for (const ArmResult& arm : result.arms) {
    for (size_t trial = 0; trial < arm.texts.size(); ++trial) {
      lines += ResponseJson(result, arm, trial).dump() + "\n";
    }
  }
  return lines;
}

}  // namespace batchvar
