#include "sim/io/trace_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace batchvar {
namespace {

__extension__ using Wide = __int128;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double Ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : kNaN;
}

double PerSecond(double count, TimeNs span_ns) {
  return Ratio(count, static_cast<double>(span_ns) / kNsPerSecond);
}

Quantiles QuantilesOf(std::vector<int64_t> values) {
  Quantiles result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  const auto size = static_cast<int64_t>(values.size());
  const auto nearest_rank = [&](int64_t percent) {
    return values[CeilDiv(size * percent, 100) - 1];
  };
  Wide sum = 0;
  for (const int64_t value : values) sum += value;
  result.min = values.front();
  result.p50 = nearest_rank(50);
  result.p90 = nearest_rank(90);
  result.p99 = nearest_rank(99);
  result.max = values.back();
  result.mean = static_cast<double>(sum) / static_cast<double>(size);
  return result;
}

double VariationOf(const std::vector<int64_t>& values, double mean) {
  double squares = 0;
  for (const int64_t value : values) {
    const double off = static_cast<double>(value) - mean;
    squares += off * off;
  }
  return Ratio(std::sqrt(Ratio(squares, static_cast<double>(values.size()))), mean);
}

// One pass over arrivals in order. Empty windows need no step of their own, so a pause of a year
// costs nothing.
WindowCounts CountWindows(const std::vector<Request>& requests, TimeNs window_ns, TimeNs span_ns) {
  WindowCounts result;
  const int64_t full_windows = span_ns / window_ns;
  Wide sum = 0;
  Wide squares = 0;
  for (size_t begin = 0; begin < requests.size();) {
    const int64_t window = requests[begin].arrival_ns / window_ns;
    size_t end = begin;
    while (end < requests.size() && requests[end].arrival_ns / window_ns == window) ++end;
    const auto count = static_cast<int64_t>(end - begin);
    result.peak = std::max(result.peak, count);
    if (window < full_windows) {
      sum += count;
      squares += static_cast<Wide>(count) * count;
    }
    begin = end;
  }
  // variance / mean = (squares / n - (sum / n)^2) / (sum / n), in whole numbers up to the division.
  constexpr int64_t kFewestWindows = 3;
  result.dispersion = full_windows < kFewestWindows
                          ? kNaN
                          : static_cast<double>(full_windows * squares - sum * sum) /
                                (static_cast<double>(full_windows) * static_cast<double>(sum));
  return result;
}

// A request runs in [arrival, arrival + output * tpot).
void MeasureLoad(const std::vector<Request>& requests, TraceStatistics* result) {
  struct Ending {
    TimeNs at_ns;
    int64_t tokens;
  };
  std::vector<Ending> endings;
  endings.reserve(requests.size());
  Wide area_ns = 0;  // time run inside the span, over all requests
  for (const Request& request : requests) {
    const Wide end_ns =
        request.arrival_ns + static_cast<Wide>(request.output_tokens) * result->tpot_ns;
    const auto at_ns =
        static_cast<TimeNs>(std::min<Wide>(end_ns, std::numeric_limits<TimeNs>::max()));
    endings.push_back({at_ns, int64_t{request.prompt_tokens} + request.output_tokens});
    area_ns += std::min(at_ns, result->span_ns) - request.arrival_ns;
  }
  std::stable_sort(endings.begin(), endings.end(),
                   [](const Ending& a, const Ending& b) { return a.at_ns < b.at_ns; });
  size_t ended = 0;
  int64_t resident = 0;
  for (size_t begun = 0; begun < requests.size(); ++begun) {
    const Request& request = requests[begun];
    // Requests that end now make room before this one begins. None of them has yet to begin unless
    // it needs no time at all, and then it is in nobody's way.
    for (; ended < begun && endings[ended].at_ns <= request.arrival_ns; ++ended) {
      resident -= endings[ended].tokens;
    }
    resident += int64_t{request.prompt_tokens} + request.output_tokens;
    result->peak_concurrency =
        std::max(result->peak_concurrency, static_cast<int64_t>(begun + 1 - ended));
    result->peak_resident_tokens = std::max(result->peak_resident_tokens, resident);
  }
  result->mean_concurrency =
      Ratio(static_cast<double>(area_ns), static_cast<double>(result->span_ns));
}

// The prompts seen so far, as a tree of segments. What follows a segment depends on how much of it
// was there, so a child hangs below a segment at one length.
class PrefixTree {
 public:
  // Adds a prompt; returns what of it was known before.
  struct Found {
    int64_t segments = 0;
    int64_t tokens = 0;
  };
  Found Add(const std::vector<PrefixSegment>& prefix) {
    Found found;
    int node = kRoot;
    bool known = true;  // an earlier prompt began with all segments so far
    for (const PrefixSegment& segment : prefix) {
      Edge& edge = edges_[{node, segment.segment}];
      if (known) found.tokens += std::min(segment.length, edge.longest);
      if (known && segment.length <= edge.longest) ++found.segments;
      edge.longest = std::max(edge.longest, segment.length);
      auto child = std::find_if(edge.children.begin(), edge.children.end(),
                                [&](const auto& entry) { return entry.first == segment.length; });
      known = known && child != edge.children.end();
      if (child == edge.children.end()) {
        child = edge.children.insert(child, {segment.length, ++last_node_});
      }
      node = child->second;
    }
    return found;
  }

 private:
  static constexpr int kRoot = 0;

  struct Key {
    int node;
    uint64_t segment;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return (key.segment ^ (static_cast<uint64_t>(key.node) << 32)) * 0x9e3779b97f4a7c15u;
    }
  };
  struct Edge {
    int32_t longest = 0;                            // of this segment below this node
    std::vector<std::pair<int32_t, int>> children;  // by length
  };

  std::unordered_map<Key, Edge, KeyHash> edges_;
  int last_node_ = kRoot;
};

void MeasurePrefixes(const std::vector<Request>& requests, TraceStatistics* result) {
  PrefixTree tree;
  int64_t segments = 0;
  int64_t prompt_tokens = 0;
  PrefixTree::Found found;
  for (const Request& request : requests) {
    const PrefixTree::Found here = tree.Add(request.prefix);
    found.segments += here.segments;
    found.tokens += here.tokens;
    segments += static_cast<int64_t>(request.prefix.size());
    prompt_tokens += request.prompt_tokens;
  }
  result->block_hit_ratio =
      Ratio(static_cast<double>(found.segments), static_cast<double>(segments));
  result->token_hit_ratio =
      segments == 0 ? kNaN
                    : Ratio(static_cast<double>(found.tokens), static_cast<double>(prompt_tokens));
}

}  // namespace

TraceStatistics StatisticsOf(const Trace& trace, TimeNs tpot_ns) {
  const std::vector<Request>& requests = trace.requests;
  TraceStatistics result;
  result.requests = static_cast<int64_t>(requests.size());
  result.tpot_ns = tpot_ns;
  if (requests.empty()) return result;
  result.span_ns = requests.back().arrival_ns;

  std::vector<int64_t> gaps;
  std::vector<int64_t> prompts;
  std::vector<int64_t> outputs;
  int64_t prompt_sum = 0;
  int64_t output_sum = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i > 0) gaps.push_back(requests[i].arrival_ns - requests[i - 1].arrival_ns);
    prompts.push_back(requests[i].prompt_tokens);
    outputs.push_back(requests[i].output_tokens);
    prompt_sum += prompts.back();
    output_sum += outputs.back();
  }
  result.rate_per_s = PerSecond(static_cast<double>(gaps.size()), result.span_ns);
  result.gap_ns = QuantilesOf(gaps);
  result.gap_cv = VariationOf(gaps, result.gap_ns.mean);
  result.equal_time_pairs = std::count(gaps.begin(), gaps.end(), 0);
  result.per_second = CountWindows(requests, kNsPerSecond, result.span_ns);
  result.per_minute = CountWindows(requests, 60 * kNsPerSecond, result.span_ns);

  result.prompt_tokens = QuantilesOf(std::move(prompts));
  result.output_tokens = QuantilesOf(std::move(outputs));
  result.prompt_tokens_per_s = PerSecond(static_cast<double>(prompt_sum), result.span_ns);
  result.output_tokens_per_s = PerSecond(static_cast<double>(output_sum), result.span_ns);
  MeasureLoad(requests, &result);
  MeasurePrefixes(requests, &result);
  return result;
}

}  // namespace batchvar
