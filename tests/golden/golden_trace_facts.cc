// Counts and sums of published traces that two other loaders agree on: facts.json, by file and
// sha256. A file that is absent or another is skipped by name.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/digest.h"
#include "sim/io/trace_reader.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

using nlohmann::json;

// Without the file, one entry that skips and says so.
std::vector<json> Facts() {
  const std::string path = TracesPath("facts.json");
  if (!FileExists(path)) return {json{{"file", "facts.json"}}};
  return json::parse(ReadFileOrDie(path)).get<std::vector<json>>();
}

class TraceFacts : public testing::TestWithParam<json> {
 protected:
  // Compares if the facts tell.
  static void Check(const char* key, int64_t actual) {
    if (GetParam().contains(key)) {
      EXPECT_EQ(actual, GetParam().at(key).get<int64_t>()) << key;
    }
  }
};

TEST_P(TraceFacts, Hold) {
  const json& fact = GetParam();
  const std::string file = fact.at("file");
  const std::string path = TracesPath(file);
  BATCHVAR_SKIP_WITHOUT(path);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string sha256 = fact.at("sha256");
  if (Sha256Hex(bytes) != sha256) GTEST_SKIP() << "another file than the facts': " << file;

  TraceOptions options;
  options.format = fact.at("format");
  options.block_size = fact.value("block_size", 0);
  const absl::StatusOr<Trace> trace = ReadTrace(path, options);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->sha256, sha256);
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;
  for (const Request& request : trace->requests) {
    prompt_tokens += request.prompt_tokens;
    output_tokens += request.output_tokens;
  }
  Check("rows", trace->counts.rows_read);
  Check("emitted", trace->counts.emitted);
  Check("prompt_tokens", prompt_tokens);
  Check("output_tokens", output_tokens);
  Check("span_ns", trace->requests.back().arrival_ns);
  Check("block_refs", trace->counts.block_refs);
  Check("distinct_blocks", trace->counts.distinct_blocks);
  EXPECT_EQ(trace->requests.front().arrival_ns, 0);
}

INSTANTIATE_TEST_SUITE_P(Files, TraceFacts, testing::ValuesIn(Facts()), [](const auto& test) {
  std::string name =
      std::to_string(test.index) + "_" + test.param.at("file").template get<std::string>();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace batchvar
