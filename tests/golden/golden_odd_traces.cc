// Every entry of odd/expected.json: inputs that made public replay tools fail or go wrong. The
// folder says what to expect, so another folder of the same form can take its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/io/trace_reader.h"
#include "sim/status/located_error.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

using nlohmann::json;

TraceOptions OptionsOf(const json& entry) {
  TraceOptions options;
  options.format = entry.at("format");
  options.block_size = entry.value("block_size", 0);
  options.strict = entry.value("strict", false);
  options.time_scale = entry.value("time_scale", 1.0);
  options.start_s = entry.value("start_s", 0.0);
  options.end_s = entry.value("end_s", 0.0);
  options.max_requests = entry.value("max_requests", int64_t{0});
  return options;
}

// Without the file, one entry that skips and says so.
std::vector<json> Entries() {
  const std::string path = TracesPath("odd/expected.json");
  if (!FileExists(path)) return {json{{"file", "expected.json"}, {"expect", "missing"}}};
  return json::parse(ReadFileOrDie(path)).get<std::vector<json>>();
}

void CheckAccepted(const json& entry, const Trace& trace) {
  EXPECT_EQ(trace.counts.rows_read, entry.at("rows_read").get<int64_t>());
  EXPECT_EQ(trace.counts.emitted, entry.at("emitted").get<int64_t>());
  EXPECT_EQ(trace.counts.descents, entry.at("descents").get<int64_t>());
  EXPECT_EQ(json(trace.counts.dropped), entry.at("dropped"));
  json arrivals = json::array();
  json prompts = json::array();
  json outputs = json::array();
  for (const Request& request : trace.requests) {
    arrivals.push_back(request.arrival_ns);
    prompts.push_back(request.prompt_tokens);
    outputs.push_back(request.output_tokens);
  }
  EXPECT_EQ(arrivals, entry.at("arrival_ns"));
  EXPECT_EQ(prompts, entry.at("prompt_tokens"));
  EXPECT_EQ(outputs, entry.at("output_tokens"));
}

void CheckRefused(const json& entry, const std::string& path, const absl::Status& status) {
  ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << status.message();
  const std::string message(status.message());
  EXPECT_THAT(message, testing::StartsWith(path + ":"));
  EXPECT_THAT(message, testing::Not(testing::HasSubstr("\n")));
  const Location where = LocationOf(status);
  EXPECT_EQ(where.file, path);
  if (entry.contains("line")) {
    EXPECT_EQ(where.line, entry.at("line").get<int>()) << message;
  }
  if (entry.contains("why") && !where.field.empty()) {
    EXPECT_THAT(entry.at("why").get<std::string>(), testing::HasSubstr(where.field)) << message;
  }
}

// Reads the first `lines` lines of the file, as a file.
absl::Status ReadHead(const std::vector<std::string>& all, int lines, const TraceOptions& options) {
  const std::string path = testing::TempDir() + "batchvar_odd_" + std::to_string(getpid()) + ".txt";
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < lines; ++i) out << all[static_cast<size_t>(i)] << '\n';
  out.close();
  const absl::Status status = ReadTrace(path, options).status();
  std::remove(path.c_str());
  return status;
}

class OddTrace : public testing::TestWithParam<json> {};

TEST_P(OddTrace, IsReadAsExpected) {
  const json& entry = GetParam();
  const std::string path = TracesPath("odd/" + entry.at("file").get<std::string>());
  BATCHVAR_SKIP_WITHOUT(path);
  const absl::StatusOr<Trace> trace = ReadTrace(path, OptionsOf(entry));
  if (entry.at("expect") == "accept") {
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    CheckAccepted(entry, *trace);
  } else {
    ASSERT_FALSE(trace.ok());
    CheckRefused(entry, path, trace.status());
  }
}

// Strict refuses exactly the files with a descent or a failed row, at the first line that has one:
// the lines above it are fine.
TEST_P(OddTrace, StrictRefusesTheFirstOddRow) {
  const json& entry = GetParam();
  const std::string path = TracesPath("odd/" + entry.at("file").get<std::string>());
  BATCHVAR_SKIP_WITHOUT(path);
  TraceOptions options = OptionsOf(entry);
  const absl::StatusOr<Trace> lax = ReadTrace(path, options);
  options.strict = true;
  const absl::StatusOr<Trace> strict = ReadTrace(path, options);
  if (!lax.ok()) {
    EXPECT_FALSE(strict.ok());
    return;
  }
  bool odd = lax->counts.descents > 0;
  for (const auto& [reason, count] : lax->counts.dropped) odd = odd || reason.starts_with("zero_");
  if (!odd) {
    ASSERT_TRUE(strict.ok()) << strict.status().message();
    CheckAccepted(entry, *strict);
    return;
  }
  ASSERT_EQ(strict.status().code(), absl::StatusCode::kDataLoss);
  const int line = LocationOf(strict.status()).line;
  const std::vector<std::string> lines = ReadLinesOrDie(path);
  ASSERT_GE(line, 1);
  ASSERT_LE(line, std::ssize(lines));
  EXPECT_EQ(LocationOf(ReadHead(lines, line, options)).line, line);
  const absl::Status above = ReadHead(lines, line - 1, options);
  EXPECT_EQ(LocationOf(above).line, 0) << above.message();  // fine, or nothing left to read
}

INSTANTIATE_TEST_SUITE_P(Files, OddTrace, testing::ValuesIn(Entries()), [](const auto& test) {
  std::string name =
      std::to_string(test.index) + "_" + test.param.at("file").template get<std::string>();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace batchvar
