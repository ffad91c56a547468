#include "sim/serving/latency.h"

#include <algorithm>

#include "sim/base/time.h"

namespace batchvar {
namespace {

double Ms(double ns) { return ns / static_cast<double>(kNsPerMs); }

double PerSecond(int64_t count, TimeNs duration_ns) {
  if (duration_ns <= 0) return 0;
  return static_cast<double>(count) * static_cast<double>(kNsPerSecond) /
         static_cast<double>(duration_ns);
}

// The value at 0-based rank `rank` of the sorted weighted list whose running counts are `upto`.
TimeNs ValueAtRank(const std::vector<TokenGap>& values, const std::vector<int64_t>& upto,
                   int64_t rank) {
  const auto found = std::upper_bound(upto.begin(), upto.end(), rank);
  return values[static_cast<size_t>(found - upto.begin())].gap_ns;
}

bool Meets(const GoodputLimits& limits, const RequestResult& request) {
  const auto within = [](double limit_ms, TimeNs value) {
    return limit_ms <= 0 || Ms(static_cast<double>(value)) <= limit_ms;
  };
  const int64_t gaps = request.output_tokens - 1;
  const double tpot_ns = gaps > 0
                             ? static_cast<double>(request.last_token_ns - request.first_token_ns) /
                                   static_cast<double>(gaps)
                             : 0;
  return within(limits.ttft_ms, request.first_token_ns - request.arrival_ns) &&
         within(limits.e2el_ms, request.last_token_ns - request.arrival_ns) &&
         (limits.tpot_ms <= 0 || Ms(tpot_ns) <= limits.tpot_ms);
}

}  // namespace

Quantiles QuantilesOf(std::vector<TokenGap>* values) {
  Quantiles out;
  std::sort(values->begin(), values->end(),
            [](const TokenGap& a, const TokenGap& b) { return a.gap_ns < b.gap_ns; });
  std::vector<int64_t> upto;
  upto.reserve(values->size());
  double sum = 0;  // in sorted order, so the same on every machine
  for (const TokenGap& value : *values) {
    out.count += value.count;
    upto.push_back(out.count);
    sum += static_cast<double>(value.gap_ns) * static_cast<double>(value.count);
  }
  if (out.count == 0) return out;
  const auto percentile = [&](int percent) {
    // Linear interpolation at position (count - 1) * percent / 100.
    const int64_t scaled = (out.count - 1) * percent;
    const int64_t rank = scaled / 100;
    const double fraction = static_cast<double>(scaled % 100) / 100.0;
    const auto low = static_cast<double>(ValueAtRank(*values, upto, rank));
    const auto high =
        static_cast<double>(ValueAtRank(*values, upto, std::min(rank + 1, out.count - 1)));
    return Ms(low + (high - low) * fraction);
  };
  out.mean_ms = Ms(sum / static_cast<double>(out.count));
  out.p50_ms = percentile(50);
  out.p90_ms = percentile(90);
  out.p99_ms = percentile(99);
  return out;
}

ServingMetrics ComputeMetrics(const GoodputLimits& limits, SimulationResult* result) {
  ServingMetrics out;
  std::vector<TokenGap> ttft;
  std::vector<TokenGap> tpot;
  std::vector<TokenGap> e2el;
  std::vector<TokenGap> queueing;
  TimeNs last_completion = 0;
  for (const RequestResult& request : result->requests) {
    out.preemptions += request.preemptions;
    out.preempted += request.preemptions > 0 ? 1 : 0;
    out.cached_tokens += request.cached_tokens;
    if (request.status == RequestStatus::kRejected) ++out.rejected;
    if (request.status == RequestStatus::kUnfinished) ++out.unfinished;
    if (request.status == RequestStatus::kModelLimit) ++out.model_limit;
    if (!request.Done()) continue;
    ++out.finished;
    out.prompt_tokens += request.prompt_tokens;
    out.output_tokens += request.output_tokens;
    last_completion = std::max(last_completion, request.finish_ns);
    ttft.push_back({request.first_token_ns - request.arrival_ns, 1});
    e2el.push_back({request.last_token_ns - request.arrival_ns, 1});
    queueing.push_back({request.first_scheduled_ns - request.arrival_ns, 1});
    const int64_t gaps = request.output_tokens - 1;
    if (gaps > 0) tpot.push_back({(request.last_token_ns - request.first_token_ns) / gaps, 1});
    if (limits.Any() && Meets(limits, request)) ++out.good;
  }
  out.ttft = QuantilesOf(&ttft);
  out.tpot = QuantilesOf(&tpot);
  out.e2el = QuantilesOf(&e2el);
  out.queueing = QuantilesOf(&queueing);
  out.itl = QuantilesOf(&result->token_gaps);
  if (!result->requests.empty() && out.finished > 0) {
    out.duration_ns = last_completion - result->requests.front().arrival_ns;
  }
  out.requests_per_s = PerSecond(out.finished, out.duration_ns);
  out.output_tokens_per_s = PerSecond(out.output_tokens, out.duration_ns);
  out.total_tokens_per_s = PerSecond(out.prompt_tokens + out.output_tokens, out.duration_ns);
  out.goodput_per_s = PerSecond(out.good, out.duration_ns);
  return out;
}

}  // namespace batchvar
