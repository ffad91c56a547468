#include "sim/serving/latency.h"

#include <gtest/gtest.h>

#include <vector>

namespace batchvar {
namespace {

constexpr TimeNs kMs = kNsPerMs;

Quantiles Of(std::vector<TokenGap> values) { return QuantilesOf(&values); }

TEST(QuantilesOf, InterpolatesLinearly) {
  // Positions 1.5, 2.7 and 2.97 of 0 to 3.
  const Quantiles q = Of({{10 * kMs, 1}, {20 * kMs, 1}, {30 * kMs, 1}, {40 * kMs, 1}});
  EXPECT_EQ(q.count, 4);
  EXPECT_DOUBLE_EQ(q.mean_ms, 25);
  EXPECT_DOUBLE_EQ(q.p50_ms, 25);
  EXPECT_DOUBLE_EQ(q.p90_ms, 37);
  EXPECT_DOUBLE_EQ(q.p99_ms, 39.7);
}

TEST(QuantilesOf, HitsOrderStatisticsExactly) {
  std::vector<TokenGap> values;
  for (int i = 0; i <= 100; ++i) values.push_back({i * kMs, 1});
  const Quantiles q = Of(values);
  EXPECT_DOUBLE_EQ(q.p50_ms, 50);
  EXPECT_DOUBLE_EQ(q.p90_ms, 90);
  EXPECT_DOUBLE_EQ(q.p99_ms, 99);
}

TEST(QuantilesOf, OrderOfInputDoesNotMatter) {
  const Quantiles q = Of({{40 * kMs, 1}, {10 * kMs, 1}, {30 * kMs, 1}, {20 * kMs, 1}});
  EXPECT_DOUBLE_EQ(q.p90_ms, 37);
}

TEST(QuantilesOf, CountsStandForRepetition) {
  // 10 10 10 20: positions 1.5, 2.7 and 2.97.
  const Quantiles q = Of({{10 * kMs, 3}, {20 * kMs, 1}});
  EXPECT_EQ(q.count, 4);
  EXPECT_DOUBLE_EQ(q.mean_ms, 12.5);
  EXPECT_DOUBLE_EQ(q.p50_ms, 10);
  EXPECT_DOUBLE_EQ(q.p90_ms, 17);
  EXPECT_DOUBLE_EQ(q.p99_ms, 19.7);
}

TEST(QuantilesOf, WeightsEqualWrittenOutValues) {
  const std::vector<TokenGap> weighted = {{7, 5}, {3, 2}, {7, 1}, {100, 9}, {50, 4}, {1, 1}};
  std::vector<TokenGap> written_out;
  for (const TokenGap& value : weighted) {
    for (int64_t i = 0; i < value.count; ++i) written_out.push_back({value.gap_ns, 1});
  }
  const Quantiles a = Of(weighted);
  const Quantiles b = Of(written_out);
  EXPECT_EQ(a.count, b.count);
  EXPECT_DOUBLE_EQ(a.mean_ms, b.mean_ms);
  EXPECT_DOUBLE_EQ(a.p50_ms, b.p50_ms);
  EXPECT_DOUBLE_EQ(a.p90_ms, b.p90_ms);
  EXPECT_DOUBLE_EQ(a.p99_ms, b.p99_ms);
}

TEST(QuantilesOf, OneValueIsEveryPercentile) {
  const Quantiles q = Of({{8 * kMs, 1}});
  EXPECT_DOUBLE_EQ(q.p50_ms, 8);
  EXPECT_DOUBLE_EQ(q.p99_ms, 8);
}

TEST(QuantilesOf, NothingHasCountZero) { EXPECT_EQ(Of({}).count, 0); }

TEST(QuantilesOf, AreExactForManyValues) {
  const Quantiles q = Of({{kMs, 3'000'000'000}, {2 * kMs, 1'000'000'000}});
  EXPECT_EQ(q.count, 4'000'000'000);
  EXPECT_DOUBLE_EQ(q.mean_ms, 1.25);
  EXPECT_DOUBLE_EQ(q.p50_ms, 1);
  EXPECT_DOUBLE_EQ(q.p90_ms, 2);
}

// Arrives and is scheduled 1 ms later; tokens at `first` and every `gap` ms from there.
RequestResult Finished(TimeNs arrival, TimeNs first, TimeNs gap, int32_t outputs) {
  RequestResult request;
  request.status = RequestStatus::kFinished;
  request.arrival_ns = arrival * kMs;
  request.first_scheduled_ns = request.arrival_ns + kMs;
  request.first_token_ns = first * kMs;
  request.last_token_ns = (first + gap * (outputs - 1)) * kMs;
  request.finish_ns = request.last_token_ns;
  request.prompt_tokens = 100;
  request.output_tokens = outputs;
  return request;
}

ServingMetrics Metrics(std::vector<RequestResult> requests, GoodputLimits limits = {}) {
  SimulationResult result;
  result.requests = std::move(requests);
  return ComputeMetrics(limits, &result);
}

TEST(ComputeMetrics, OneRequest) {
  const ServingMetrics m = Metrics({Finished(10, 30, 5, 4)});
  EXPECT_EQ(m.finished, 1);
  EXPECT_DOUBLE_EQ(m.ttft.mean_ms, 20);
  EXPECT_DOUBLE_EQ(m.tpot.mean_ms, 5);
  EXPECT_DOUBLE_EQ(m.e2el.mean_ms, 35);
  EXPECT_DOUBLE_EQ(m.queueing.mean_ms, 1);
  EXPECT_EQ(m.duration_ns, 35 * kMs);
}

TEST(ComputeMetrics, TpotNeedsTwoTokens) {
  const ServingMetrics m = Metrics({Finished(0, 10, 0, 1), Finished(0, 10, 4, 2)});
  EXPECT_EQ(m.ttft.count, 2);
  EXPECT_EQ(m.tpot.count, 1);
  EXPECT_DOUBLE_EQ(m.tpot.mean_ms, 4);
}

TEST(ComputeMetrics, TpotIsAMeanOverRequestsAndItlOverTokens) {
  SimulationResult result;
  result.requests = {Finished(0, 10, 10, 2), Finished(0, 10, 2, 10)};
  result.token_gaps = {{10 * kMs, 1}, {2 * kMs, 9}};
  const ServingMetrics m = ComputeMetrics({}, &result);
  EXPECT_DOUBLE_EQ(m.tpot.mean_ms, 6);
  EXPECT_DOUBLE_EQ(m.itl.mean_ms, 2.8);
  EXPECT_EQ(m.itl.count, 10);
}

TEST(ComputeMetrics, ThroughputIsOverFirstArrivalToLastCompletion) {
  const ServingMetrics m = Metrics({Finished(500, 600, 100, 5), Finished(600, 700, 100, 9)});
  EXPECT_EQ(m.duration_ns, 1000 * kMs);
  EXPECT_DOUBLE_EQ(m.requests_per_s, 2);
  EXPECT_DOUBLE_EQ(m.output_tokens_per_s, 14);
  EXPECT_DOUBLE_EQ(m.total_tokens_per_s, 214);
}

TEST(ComputeMetrics, OnlyFinishedRequestsCountButNoneVanishes) {
  RequestResult limit = Finished(0, 10, 5, 3);
  limit.status = RequestStatus::kModelLimit;
  RequestResult rejected;
  rejected.status = RequestStatus::kRejected;
  RequestResult unfinished = Finished(0, 10, 5, 3);
  unfinished.status = RequestStatus::kUnfinished;
  unfinished.last_token_ns = 10'000 * kMs;
  const ServingMetrics m = Metrics({Finished(0, 10, 5, 3), limit, rejected, unfinished});
  EXPECT_EQ(m.finished, 2);
  EXPECT_EQ(m.model_limit, 1);
  EXPECT_EQ(m.rejected, 1);
  EXPECT_EQ(m.unfinished, 1);
  EXPECT_EQ(m.output_tokens, 6);
  EXPECT_EQ(m.prompt_tokens, 200);
  EXPECT_EQ(m.ttft.count, 2);
  EXPECT_EQ(m.duration_ns, 20 * kMs);
}

TEST(ComputeMetrics, PreemptionsAndHits) {
  RequestResult a = Finished(0, 10, 5, 3);
  a.preemptions = 3;
  a.cached_tokens = 64;
  RequestResult b = Finished(0, 10, 5, 3);
  b.cached_tokens = 16;
  const ServingMetrics m = Metrics({a, b});
  EXPECT_EQ(m.preempted, 1);
  EXPECT_EQ(m.preemptions, 3);
  EXPECT_EQ(m.cached_tokens, 80);
}

TEST(ComputeMetrics, NothingFinishedHasNoRates) {
  RequestResult unfinished;
  unfinished.arrival_ns = 5;
  const ServingMetrics m = Metrics({unfinished});
  EXPECT_EQ(m.duration_ns, 0);
  EXPECT_EQ(m.requests_per_s, 0);
  EXPECT_EQ(Metrics({}).finished, 0);
}

TEST(Goodput, WithoutLimitsThereIsNone) {
  const ServingMetrics m = Metrics({Finished(0, 10, 5, 3)});
  EXPECT_EQ(m.good, 0);
  EXPECT_EQ(m.goodput_per_s, 0);
}

TEST(Goodput, ALimitIsMetWhenReached) {
  const std::vector<RequestResult> one = {Finished(0, 10, 5, 3)};  // TTFT 10, TPOT 5, E2EL 20
  EXPECT_EQ(Metrics(one, {.ttft_ms = 10}).good, 1);
  EXPECT_EQ(Metrics(one, {.ttft_ms = 9.999}).good, 0);
  EXPECT_EQ(Metrics(one, {.tpot_ms = 5}).good, 1);
  EXPECT_EQ(Metrics(one, {.tpot_ms = 4.999}).good, 0);
  EXPECT_EQ(Metrics(one, {.e2el_ms = 20}).good, 1);
  EXPECT_EQ(Metrics(one, {.e2el_ms = 19.999}).good, 0);
}

TEST(Goodput, EveryLimitMustBeMet) {
  const std::vector<RequestResult> one = {Finished(0, 10, 5, 3)};
  EXPECT_EQ(Metrics(one, {.ttft_ms = 10, .tpot_ms = 5, .e2el_ms = 20}).good, 1);
  EXPECT_EQ(Metrics(one, {.ttft_ms = 10, .tpot_ms = 5, .e2el_ms = 19}).good, 0);
}

TEST(Goodput, OneTokenMeetsAnyTpot) {
  EXPECT_EQ(Metrics({Finished(0, 10, 0, 1)}, {.tpot_ms = 0.001}).good, 1);
}

TEST(Goodput, IsARateOfGoodRequests) {
  const ServingMetrics m =
      Metrics({Finished(0, 10, 5, 3), Finished(0, 500, 100, 6)}, {.ttft_ms = 100});
  EXPECT_EQ(m.duration_ns, 1000 * kMs);
  EXPECT_EQ(m.good, 1);
  EXPECT_DOUBLE_EQ(m.goodput_per_s, 1);
}

}  // namespace
}  // namespace batchvar
