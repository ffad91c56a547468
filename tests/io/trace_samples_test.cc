// The samples in traces/ load, and are what traces/README.md says.
#include <gtest/gtest.h>

#include "sim/io/trace_reader.h"
#include "sim/io/trace_statistics.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

struct Sample {
  const char* file;
  const char* format;
};

const Sample kSamples[] = {
    {"azure_sample.csv", "azure"},
    {"burstgpt_sample.csv", "burstgpt"},
    {"burstgpt3_sample.csv", "burstgpt"},
    {"mooncake_sample.jsonl", "mooncake"},
    {"bailian_sample.jsonl", "bailian"},
    {"vidur_sample.csv", "vidur"},
    {"llmservingsim_sample.jsonl", "llmservingsim"},
    {"vllm_log_sample.jsonl", "llmservingsim"},
    {"sample.jsonl", "jsonl"},
};

Trace Read(const Sample& sample) {
  TraceOptions options;
  options.format = sample.format;
  absl::StatusOr<Trace> trace =
      ReadTrace(ProjectPath("traces/" + std::string(sample.file)), options);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? *std::move(trace) : Trace();
}

TEST(TraceSamples, AllLoad) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.file);
    const Trace trace = Read(sample);
    EXPECT_GE(trace.counts.emitted, 10);
    EXPECT_EQ(trace.counts.descents, 0);
  }
}

TEST(TraceSamples, EveryFormatHasOne) {
  for (const std::string& format : TraceFormats()) {
    bool found = false;
    for (const Sample& sample : kSamples) found = found || sample.format == format;
    EXPECT_TRUE(found) << format;
  }
}

TEST(TraceSamples, TheLargeOneIsBurstyAndShared) {
  const Trace trace = Read({"sample.jsonl", "jsonl"});
  ASSERT_FALSE(trace.requests.empty());
  const TraceStatistics statistics = StatisticsOf(trace);
  EXPECT_NEAR(static_cast<double>(statistics.requests), 400, 50);
  EXPECT_NEAR(static_cast<double>(statistics.span_ns) / kNsPerSecond, 120, 5);
  EXPECT_GT(statistics.per_second.dispersion, 2);
  EXPECT_GT(statistics.token_hit_ratio, 0.3);
  EXPECT_LE(statistics.prompt_tokens.max, 4000);
  EXPECT_LE(statistics.output_tokens.max, 400);
  EXPECT_GT(trace.counts.sessions, 10);
}

}  // namespace
}  // namespace batchvar
