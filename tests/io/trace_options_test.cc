// Order, strictness, window, scale and limit: what trace_reader.cc does for every format alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/io/trace_reader.h"
#include "sim/status/located_error.h"
#include "tests/io/temp_file.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TraceOptions Vidur() {
  TraceOptions options;
  options.format = "vidur";
  return options;
}

absl::StatusOr<Trace> Read(const std::string& rows, const TraceOptions& options) {
  const TempFile file("arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows);
  return ReadTrace(file.path(), options);
}

// (arrival, prompt) of what is emitted.
std::vector<std::pair<int64_t, int32_t>> Emitted(const std::string& rows,
                                                 const TraceOptions& options) {
  const absl::StatusOr<Trace> trace = Read(rows, options);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  std::vector<std::pair<int64_t, int32_t>> pairs;
  if (!trace.ok()) return pairs;
  for (const Request& request : trace->requests) {
    pairs.emplace_back(request.arrival_ns, request.prompt_tokens);
  }
  int64_t dropped = 0;
  for (const auto& [reason, count] : trace->counts.dropped) dropped += count;
  EXPECT_EQ(trace->counts.rows_read, trace->counts.emitted + dropped);
  EXPECT_EQ(trace->counts.emitted, static_cast<int64_t>(pairs.size()));
  return pairs;
}

TEST(TraceOrder, SortsByArrivalAndKeepsFileOrderOfEqualTimes) {
  const std::string rows = "2,101,1\n1,102,1\n2,103,1\n0,104,1\n2,105,1\n";
  EXPECT_THAT(Emitted(rows, Vidur()),
              ElementsAre(Pair(0, 104), Pair(1'000'000'000, 102), Pair(2'000'000'000, 101),
                          Pair(2'000'000'000, 103), Pair(2'000'000'000, 105)));
  EXPECT_EQ(Read(rows, Vidur())->counts.descents, 2);
  EXPECT_EQ(Read(rows, Vidur())->requests[0].id, "r3");  // its place in the file
}

TEST(TraceOrder, TheOriginIsTheFirstEmittedArrival) {
  EXPECT_THAT(Emitted("1,0,4\n3,7,1\n4,8,1\n", Vidur()),
              ElementsAre(Pair(0, 7), Pair(1'000'000'000, 8)));
}

TEST(TraceStrict, RefusesDescentsAndFailedRowsAtTheirLine) {
  TraceOptions strict = Vidur();
  strict.strict = true;
  EXPECT_EQ(Emitted("0,1,1\n0,1,1\n1,1,1\n", strict).size(), 3u);
  const std::string cases[][2] = {{"2,1,1\n1,1,1\n", "arrives before the row above it"},
                                  {"0,1,1\n1,0,1\n", "zero_prompt"},
                                  {"0,1,1\n1,1,0\n", "zero_output"},
                                  {"0,1,1\n1,0,0\n", "zero_both"}};
  for (const auto& [rows, message] : cases) {
    const absl::Status status = Read(rows, strict).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(LocationOf(status).line, 3) << rows;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  // What the window and the limit leave out was asked for.
  strict.max_requests = 1;
  EXPECT_EQ(Emitted("0,1,1\n1,1,1\n", strict).size(), 1u);
}

TEST(TraceWindow, IsHalfOpenAndCountsFromTheEarliestRow) {
  TraceOptions options = Vidur();
  options.start_s = 1;
  options.end_s = 2.5;
  const std::string rows = "100,1,1\n101,2,1\n102.499999999,3,1\n102.5,4,1\n100.999999999,5,1\n";
  EXPECT_THAT(Emitted(rows, options), ElementsAre(Pair(0, 2), Pair(1'499'999'999, 3)));
  EXPECT_THAT(Read(rows, options)->counts.dropped, ElementsAre(Pair("outside_window", 3)));
  options.end_s = 0;  // no end
  EXPECT_EQ(Emitted(rows, options).size(), 3u);
  options.start_s = 50;
  EXPECT_THAT(std::string(Read(rows, options).status().message()),
              HasSubstr("no requests: 5 rows dropped as outside_window"));
  // The earliest row counts even if it failed.
  options.start_s = 0;
  options.end_s = 1;
  EXPECT_THAT(Emitted("10,0,1\n10.5,1,1\n11.2,2,1\n", options), ElementsAre(Pair(0, 1)));
}

TEST(TraceLimit, TakesTheFirstUsableRowsInFileOrder) {
  TraceOptions options = Vidur();
  options.max_requests = 2;
  const std::string rows = "9,0,1\n3,1,1\n2,2,1\n1,3,1\n";
  EXPECT_THAT(Emitted(rows, options), ElementsAre(Pair(0, 2), Pair(1'000'000'000, 1)));
  EXPECT_THAT(Read(rows, options)->counts.dropped,
              ElementsAre(Pair("over_max_requests", 1), Pair("zero_prompt", 1)));
  options.max_requests = 100;
  EXPECT_EQ(Emitted(rows, options).size(), 3u);
  // Rows beyond the limit are read and checked all the same.
  options.max_requests = 1;
  EXPECT_EQ(LocationOf(Read("0,1,1\n1,-1,1\n", options).status()).line, 3);
}

TEST(TraceScale, RoundsHalfUpInWholeNumbers) {
  TraceOptions options = Vidur();
  const auto scaled = [&](const std::string& seconds, double scale) {
    options.time_scale = scale;
    return Emitted("0,1,1\n" + seconds + ",1,1\n", options).at(1).first;
  };
  EXPECT_EQ(scaled("1.000000001", 1.0), 1'000'000'001);
  EXPECT_EQ(scaled("1.000000001", 2.0), 2'000'000'002);
  EXPECT_EQ(scaled("0.000000003", 0.5), 2);  // 1.5
  EXPECT_EQ(scaled("0.000000001", 0.25), 0);
  EXPECT_EQ(scaled("0.000000010", 0.125), 1);
  EXPECT_EQ(scaled("9000000000.000000001", 0.5), 4'500'000'000'000'000'001);
  EXPECT_EQ(scaled("1", 1e-300), 0);
  EXPECT_EQ(scaled("0.000000001", std::ldexp(1.0, 62)), int64_t{1} << 62);  // the largest
  // Gaps, not absolute times, are scaled: an origin far away changes nothing.
  options.time_scale = 3.0;
  EXPECT_EQ(Emitted("1790000000.1,1,1\n1790000000.2,1,1\n", options)[1].first, 300'000'000);
}

TEST(TraceScale, RefusesTimesThatDoNotFit) {
  TraceOptions options = Vidur();
  for (const double scale : {1.0, 2.0, 1e60, 1e300}) {
    options.time_scale = scale;
    const absl::Status status = Read("0,1,1\n9000000000,1,1\n", options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << scale;
    EXPECT_THAT(std::string(status.message()), HasSubstr("'r1' arrives more than 146 years"));
  }
  options.time_scale = 0.5;
  EXPECT_TRUE(Read("0,1,1\n9000000000,1,1\n", options).ok());
}

TEST(TraceOptions, BadValuesAreUsageErrors) {
  const auto field_of = [](const TraceOptions& options) {
    const absl::Status status = Read("0,1,1\n", options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return LocationOf(status).field;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TraceOptions options = Vidur();
  options.block_size = -1;
  EXPECT_EQ(field_of(options), "block_size");
  options = Vidur();
  options.max_requests = -1;
  EXPECT_EQ(field_of(options), "max_requests");
  for (const double scale : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    options = Vidur();
    options.time_scale = scale;
    EXPECT_EQ(field_of(options), "time_scale");
  }
  for (const double start : {-1.0, nan, 1e10}) {
    options = Vidur();
    options.start_s = start;
    EXPECT_EQ(field_of(options), "start_s");
  }
  for (const double end : {-1.0, nan, 2.0, 3.0}) {
    options = Vidur();
    options.start_s = 3.0;
    options.end_s = end;
    EXPECT_EQ(field_of(options), "end_s");
  }
}

TEST(TraceOptions, FormatsAreNeverGuessed) {
  TraceOptions options = Vidur();
  options.format = "";
  EXPECT_THAT(std::string(Read("0,1,1\n", options).status().message()),
              HasSubstr(TraceFormatList()));
  options.format = "vidor";
  const absl::Status status = Read("0,1,1\n", options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'vidur'?"));
  EXPECT_THAT(TraceFormats(),
              testing::UnorderedElementsAre("azure", "burstgpt", "mooncake", "bailian", "vidur",
                                            "llmservingsim", "jsonl"));
}

}  // namespace
}  // namespace batchvar
