#include "sim/report/experiment_json.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace batchvar {
namespace {

nlohmann::ordered_json DivergenceJson(const TextDivergence& divergence) {
  nlohmann::ordered_json json = {{"trial", divergence.trial},     {"position", divergence.position},
                                 {"token_a", divergence.token_a}, {"token_b", divergence.token_b},
                                 {"margin", divergence.margin},   {"tie", divergence.tie}};
  if (divergence.row < 0) return json;
  json["row"] = divergence.row;
  json["first_op"] = OpName(divergence.first_op);
  json["layer"] = divergence.bits_differ ? divergence.bits_layer : 0;
  json["m_a"] = divergence.m_a;
  json["m_b"] = divergence.m_b;
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

std::string ResponsesJsonl(const ExperimentResult& result) {
  std::string lines;
  for (const ArmResult& arm : result.arms) {
    for (size_t trial = 0; trial < arm.texts.size(); ++trial) {
      const nlohmann::ordered_json line = {
          {"arm", arm.name}, {"trial", trial}, {"token_ids", arm.texts[trial]}};
      lines += line.dump() + "\n";
    }
  }
  return lines;
}

}  // namespace batchvar
