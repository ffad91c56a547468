// Damaged files: whatever is flipped, cut or doubled, a trace is read whole or refused with one
// line of text. The counts hold either way (ReadTrace checks them).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/io/trace_reader.h"
#include "sim/status/located_error.h"
#include "tests/io/temp_file.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

class Damage {
 public:
  explicit Damage(uint64_t seed) : state_(seed) {}

  // One to four changes.
  std::string Of(std::string text) {
    for (uint64_t changes = 1 + Below(4); changes > 0; --changes) Change(&text);
    return text;
  }

 private:
  uint64_t Below(uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % limit;
  }

  void Change(std::string* text) {
    static constexpr const char* kOdd[] = {"-",  "\"",    ",",   "\n",   "{", "]",
                                           "e9", ".",     "nan", "null", "0", "99999999999",
                                           "\r", "\\u12", "[",   ":"};
    if (text->empty()) return;
    const size_t at = Below(text->size());
    const size_t length = 1 + Below(8);
    switch (Below(5)) {
      case 0: (*text)[at] = static_cast<char>(Below(256)); break;
      case 1: text->erase(at, length); break;
      case 2: text->insert(at, kOdd[Below(std::size(kOdd))]); break;
      case 3: text->insert(at, text->substr(at, length)); break;
      default: text->resize(std::max<size_t>(at, text->size() / 2)); break;
    }
  }

  uint64_t state_;
};

class DamagedTrace : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DamagedTrace, IsReadOrRefusedInOneLine) {
  const auto& [name, format] = GetParam();
  const std::string whole = ReadFileOrDie(ProjectPath(std::string("traces/") + name));
  const std::string head = whole.substr(0, std::min<size_t>(whole.size(), 1500));
  TraceOptions options;
  options.format = format;
  int refused = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const TempFile file(Damage(seed).Of(head));
    const absl::StatusOr<Trace> trace = ReadTrace(file.path(), options);
    if (trace.ok()) {
      EXPECT_FALSE(trace->requests.empty());
      EXPECT_EQ(trace->requests.front().arrival_ns, 0);
      continue;
    }
    ++refused;
    EXPECT_EQ(trace.status().code(), absl::StatusCode::kDataLoss) << seed;
    EXPECT_EQ(LocationOf(trace.status()).file, file.path()) << seed;
    const std::string message(trace.status().message());
    EXPECT_TRUE(std::all_of(message.begin(), message.end(),
                            [](char c) { return static_cast<unsigned char>(c) >= 0x20; }))
        << seed << ": " << message;
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Samples, DamagedTrace,
                         testing::Values(std::pair("azure_sample.csv", "azure"),
                                         std::pair("burstgpt3_sample.csv", "burstgpt"),
                                         std::pair("vidur_sample.csv", "vidur"),
                                         std::pair("mooncake_sample.jsonl", "mooncake"),
                                         std::pair("bailian_sample.jsonl", "bailian"),
                                         std::pair("vllm_log_sample.jsonl", "llmservingsim"),
                                         std::pair("sample.jsonl", "jsonl")));

}  // namespace
}  // namespace batchvar
