// What the golden schedules of all engines have in common: the folder, the lines of a case, its
// requests and its clock. Formats: the READMEs of reference/scheduler and
// reference/scheduler_sglang.
#ifndef BATCHVAR_TESTS_GOLDEN_GOLDEN_SCHEDULE_H_
#define BATCHVAR_TESTS_GOLDEN_GOLDEN_SCHEDULE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/serving/request.h"
#include "tests/test_data.h"

namespace batchvar {

inline Request GoldenRequest(const nlohmann::json& line) {
  Request request;
  request.id = std::to_string(line.at("id").get<int64_t>());
  request.arrival_ns = line.at("arrival");
  request.output_tokens = line.at("output_len");
  request.max_tokens = line.value("max_tokens", 0);
  request.priority = line.value("priority", 0);
  for (const nlohmann::json& part : line.at("prompt")) {
    request.prefix.push_back({part.at(0).get<uint64_t>(), part.at(1).get<int32_t>()});
    request.prompt_tokens += part.at(1).get<int32_t>();
  }
  return request;
}

// How much time a step of `tokens` takes.
inline int64_t GoldenStepTime(const nlohmann::json& clock, int64_t tokens) {
  if (clock.at("mode") == "step") return 1;
  return clock.at("base").get<int64_t>() + clock.at("per_token").get<int64_t>() * tokens;
}

inline std::vector<nlohmann::json> GoldenLines(const std::string& path) {
  std::vector<nlohmann::json> lines;
  for (const std::string& text : ReadLinesOrDie(path)) lines.push_back(nlohmann::json::parse(text));
  return lines;
}

// A case file begins with a line of type "case"; a folder also holds an index and a workload. One
// empty name where the folder is missing, so that a test can say so.
inline std::vector<std::string> GoldenCases(const std::string& folder) {
  std::vector<std::string> cases;
  for (const std::string& path : ListFiles(ReferencePath(folder), ".jsonl")) {
    const std::vector<std::string> lines = ReadLinesOrDie(path);
    if (!lines.empty() && lines[0].find("\"type\":\"case\"") != std::string::npos) {
      cases.push_back(path);
    }
  }
  if (cases.empty()) cases.push_back("");
  return cases;
}

inline std::string GoldenCaseName(const testing::TestParamInfo<std::string>& info) {
  if (info.param.empty()) return "missing";
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  name.resize(name.size() - std::string(".jsonl").size());
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

// Fields that a case does not record are not compared.
inline nlohmann::json OnlyRecorded(const nlohmann::json& ours, const nlohmann::json& line) {
  nlohmann::json compared;
  for (const auto& [key, value] : line.items()) {
    if (ours.contains(key)) compared[key] = ours[key];
  }
  return compared;
}

// What the last line of a case counts.
struct GoldenTotals {
  size_t steps = 0;
  int64_t tokens = 0;
  int64_t preemptions = 0;
  int64_t finished = 0;

  void Count(const nlohmann::json& step) {
    ++steps;
    tokens += step.at("tot").get<int64_t>();
    preemptions += static_cast<int64_t>(step.at("preempted").size());
    finished += static_cast<int64_t>(step.at("finished").size());
  }
  void ExpectEqual(const nlohmann::json& summary) const {
    EXPECT_EQ(summary.at("steps"), steps);
    EXPECT_EQ(summary.at("tokens"), tokens);
    EXPECT_EQ(summary.at("preemptions"), preemptions);
    EXPECT_EQ(summary.at("finished"), finished);
  }
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_GOLDEN_GOLDEN_SCHEDULE_H_
