#include "sim/io/trace_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/io/trace_statistics_text.h"

namespace batchvar {
namespace {

constexpr TimeNs kSecond = kNsPerSecond;

Request At(TimeNs arrival_ns, int32_t prompt, int32_t output,
           std::vector<PrefixSegment> prefix = {}) {
  Request request;
  request.arrival_ns = arrival_ns;
  request.prompt_tokens = prompt;
  request.output_tokens = output;
  request.prefix = std::move(prefix);
  return request;
}

TraceStatistics Of(std::vector<Request> requests, TimeNs tpot_ns = kDefaultTpotNs) {
  Trace trace;
  trace.requests = std::move(requests);
  return StatisticsOf(trace, tpot_ns);
}

TEST(TraceStatistics, Arrivals) {
  const TraceStatistics s =
      Of({At(0, 1, 1), At(kSecond, 1, 1), At(kSecond, 1, 1), At(4 * kSecond, 1, 1)});
  EXPECT_EQ(s.requests, 4);
  EXPECT_EQ(s.span_ns, 4 * kSecond);
  EXPECT_DOUBLE_EQ(s.rate_per_s, 0.75);  // three gaps in four seconds
  EXPECT_EQ(s.equal_time_pairs, 1);
  EXPECT_EQ(s.gap_ns.min, 0);
  EXPECT_EQ(s.gap_ns.p50, kSecond);
  EXPECT_EQ(s.gap_ns.max, 3 * kSecond);
  EXPECT_NEAR(s.gap_cv, std::sqrt(14.0 / 9.0) / (4.0 / 3.0), 1e-12);  // gaps 1, 0, 3
}

TEST(TraceStatistics, WindowsBeginAtTheFirstArrival) {
  // Counts per second: 3, 0, 1, 2 in full windows, then 4 in a partial one.
  std::vector<Request> requests;
  for (const TimeNs ms : {0, 500, 999, 2000, 3000, 3999, 4000, 4001, 4002, 4003}) {
    requests.push_back(At(ms * kNsPerMs, 1, 1));
  }
  const TraceStatistics s = Of(std::move(requests));
  EXPECT_EQ(s.per_second.peak, 4);
  EXPECT_DOUBLE_EQ(s.per_second.dispersion, (14.0 / 4 - 1.5 * 1.5) / 1.5);
  EXPECT_EQ(s.per_minute.peak, 10);
  EXPECT_TRUE(std::isnan(s.per_minute.dispersion));
}

TEST(TraceStatistics, DispersionNeedsThreeFullWindows) {
  EXPECT_TRUE(std::isnan(Of({At(0, 1, 1), At(3 * kSecond - 1, 1, 1)}).per_second.dispersion));
  EXPECT_FALSE(std::isnan(Of({At(0, 1, 1), At(3 * kSecond, 1, 1)}).per_second.dispersion));
  // A pause of two centuries takes no time to count.
  EXPECT_NEAR(Of({At(0, 1, 1), At(6'000'000'000 * kSecond, 1, 1)}).per_second.dispersion, 1, 1e-9);
}

TEST(TraceStatistics, PercentilesAreNearestRank) {
  std::vector<Request> requests;
  for (int i = 1; i <= 200; ++i) requests.push_back(At(i, i, 7));
  const TraceStatistics s = Of(std::move(requests));
  EXPECT_EQ(s.prompt_tokens.min, 1);
  EXPECT_EQ(s.prompt_tokens.p50, 100);
  EXPECT_EQ(s.prompt_tokens.p90, 180);
  EXPECT_EQ(s.prompt_tokens.p99, 198);
  EXPECT_EQ(s.prompt_tokens.max, 200);
  EXPECT_DOUBLE_EQ(s.prompt_tokens.mean, 100.5);
  EXPECT_EQ(s.output_tokens.p99, 7);
}

TEST(TraceStatistics, LoadHoldsARequestForItsOutput) {
  // At 1 s a token: [0, 2), [1, 4), [2, 3), and a last arrival at 4.
  const TraceStatistics s = Of(
      {At(0, 100, 2), At(kSecond, 10, 3), At(2 * kSecond, 5, 1), At(4 * kSecond, 1, 50)}, kSecond);
  EXPECT_EQ(s.peak_concurrency, 2);  // the first one ends as the third begins
  EXPECT_EQ(s.peak_resident_tokens, 115);
  EXPECT_DOUBLE_EQ(s.mean_concurrency, 6.0 / 4.0);  // what lies beyond the span does not count
  EXPECT_DOUBLE_EQ(s.prompt_tokens_per_s, 29.0);
  EXPECT_DOUBLE_EQ(s.output_tokens_per_s, 14.0);
}

TEST(TraceStatistics, LoadOfRequestsThatTakeNoTime) {
  const TraceStatistics s = Of({At(0, 5, 1), At(0, 6, 1), At(kSecond, 7, 1)}, 0);
  EXPECT_EQ(s.peak_concurrency, 1);
  EXPECT_EQ(s.mean_concurrency, 0);
}

TEST(TraceStatistics, OneRequestHasNoRates) {
  const TraceStatistics s = Of({At(0, 5, 1)});
  EXPECT_EQ(s.requests, 1);
  EXPECT_EQ(s.peak_concurrency, 1);
  for (const double value : {s.rate_per_s, s.gap_cv, s.mean_concurrency, s.prompt_tokens_per_s,
                             s.block_hit_ratio, s.token_hit_ratio}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(TraceStatistics, PrefixesAreFoundAsTheyBegin) {
  // Prompts of 10 tokens. The second shares 4 + 3, the third only 2 of the first 4 (so its equal
  // second segment is other text), the fourth begins otherwise.
  const TraceStatistics s = Of({At(0, 10, 1, {{1, 4}, {2, 3}}), At(0, 10, 1, {{1, 4}, {2, 6}}),
                                At(0, 10, 1, {{1, 2}, {2, 3}}), At(0, 10, 1, {{2, 3}, {1, 4}}),
                                At(0, 10, 1, {{1, 2}, {2, 3}})});
  EXPECT_DOUBLE_EQ(s.token_hit_ratio, (7 + 2 + 0 + 5) / 50.0);
  EXPECT_DOUBLE_EQ(s.block_hit_ratio, (1 + 1 + 0 + 2) / 10.0);
}

// The same by brute force: the longest run of tokens that some earlier prompt began with.
TEST(TraceStatistics, PrefixesAgreeWithATokenByTokenCount) {
  uint32_t state = 1;
  const auto next = [&](uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
  };
  std::vector<Request> requests;
  std::set<std::vector<std::pair<uint64_t, int>>> seen;  // every beginning of every prompt
  int64_t found = 0;
  int64_t total = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<PrefixSegment> prefix;
    std::vector<std::pair<uint64_t, int>> text;  // (segment, token within)
    for (uint32_t k = 0; k <= next(4); ++k) {
      prefix.push_back({next(2), static_cast<int32_t>(1 + next(3))});
    }
    bool hit = true;
    std::vector<std::vector<std::pair<uint64_t, int>>> beginnings;
    for (const PrefixSegment& segment : prefix) {
      for (int token = 0; token < segment.length; ++token) {
        text.emplace_back(segment.segment, token);
        beginnings.push_back(text);
        hit = hit && seen.contains(text);
        found += hit ? 1 : 0;
      }
      // The end of a segment is text of its own: what follows stands after that many tokens.
      text.emplace_back(segment.segment, -segment.length);
    }
    seen.insert(beginnings.begin(), beginnings.end());
    total += 20;
    requests.push_back(At(i, 20, 1, std::move(prefix)));
  }
  EXPECT_GT(found, 0);
  EXPECT_DOUBLE_EQ(Of(std::move(requests)).token_hit_ratio,
                   static_cast<double>(found) / static_cast<double>(total));
}

TEST(TraceStatisticsText, TableAndJson) {
  Trace trace;
  trace.requests = {At(0, 10, 1), At(2 * kSecond, 30, 3)};
  trace.counts.rows_read = 3;
  trace.counts.emitted = 2;
  trace.counts.dropped["zero_both"] = 1;
  trace.sha256 = "ab";
  const TraceStatistics statistics = StatisticsOf(trace);
  EXPECT_EQ(StatisticsTable(trace, statistics),
            "rows read                         3\n"
            "requests                          2\n"
            "dropped, zero_both                1\n"
            "rows out of order                 0\n"
            "span, s                       2.000\n"
            "rate, 1/s                       0.5\n"
            "variation of the gaps (CV)    0.000\n"
            "pairs at the same time            0\n"
            "dispersion of counts in 1 s       -\n"
            "dispersion of counts in 60 s      -\n"
            "most arrivals in 1 s              1\n"
            "most arrivals in 60 s             2\n"
            "\n"
            "                         min  p50  p90  p99  max  mean\n"
            "gap between arrivals, s    2    2    2    2    2     2\n"
            "prompt tokens             10   10   30   30   30  20.0\n"
            "output tokens              1    1    3    3    3   2.0\n"
            "\n"
            "If every output token took 30 ms, without queues:\n"
            "concurrency, peak       1\n"
            "concurrency, mean     0.0\n"
            "tokens held, peak      33\n"
            "prompt tokens per s  20.0\n"
            "output tokens per s   2.0\n");
  EXPECT_EQ(
      StatisticsJson("vidur", trace, statistics),
      R"({"schema_version":1,"kind":"trace_statistics","format":"vidur","sha256":"ab",)"
      R"("requests":{"read":3,"emitted":2,"dropped":{"zero_both":1},"descents":0,"sessions":0},)"
      R"("arrivals":{"span_ns":2000000000,"rate_per_s":0.5,"gap_ns":{"min":2000000000,)"
      R"("p50":2000000000,"p90":2000000000,"p99":2000000000,"max":2000000000,)"
      R"("mean":2000000000.0},"gap_cv":0.0,"equal_time_pairs":0,"peak_per_1s":1,)"
      R"("peak_per_60s":2,"dispersion_1s":null,"dispersion_60s":null},)"
      R"("prompt_tokens":{"min":10,"p50":10,"p90":30,"p99":30,"max":30,"mean":20.0},)"
      R"("output_tokens":{"min":1,"p50":1,"p90":3,"p99":3,"max":3,"mean":2.0},)"
      R"("load":{"tpot_ms":30.0,"peak_concurrency_requests":1,)"
      R"("mean_concurrency_requests":0.015,"peak_resident_tokens":33,)"
      R"("prompt_tokens_per_s":20.0,"output_tokens_per_s":2.0},)"
      R"("prefix":{"block_refs":0,"distinct_blocks":0,"block_hit_ratio":null,)"
      R"("token_hit_ratio":null}})"
      "\n");
}

}  // namespace
}  // namespace batchvar
