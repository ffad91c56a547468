#include "sim/io/trace_finish.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/time.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

// 146 years. A run goes on after its last arrival, and its times must fit as well.
constexpr int64_t kLatestNs = int64_t{1} << 62;

// time_ns * scale to the nearest nanosecond, halves up, exactly: a double is mantissa * 2^exponent.
// False if that is beyond kLatestNs. time_ns >= 0, scale > 0.
bool ScaleTime(int64_t time_ns, double scale, int64_t* scaled_ns) {
  __extension__ using Wide = unsigned __int128;
  constexpr int kMantissaBits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const double fraction = std::frexp(scale, &exponent);
  const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, kMantissaBits));
  exponent -= kMantissaBits;
  const Wide product = static_cast<Wide>(time_ns) * mantissa;  // below 2^116
  Wide result = product;
  if (exponent < 0) {
    const int shift = std::min(-exponent, 120);
    result = (product + (static_cast<Wide>(1) << (shift - 1))) >> shift;
  } else if (product > 0) {
    if (exponent >= 64 || product > (static_cast<Wide>(kLatestNs) >> exponent)) return false;
    result = product << exponent;
  }
  *scaled_ns = static_cast<int64_t>(result);
  return result <= static_cast<Wide>(kLatestNs);
}

}  // namespace

const char* ZeroTokens(const Request& request) {
  if (request.prompt_tokens == 0) return request.output_tokens == 0 ? "zero_both" : "zero_prompt";
  return request.output_tokens == 0 ? "zero_output" : nullptr;
}

std::vector<Request> SelectRows(const TraceOptions& options, std::vector<TraceRow>* rows,
                                TraceCounts* counts) {
  std::vector<Request> requests;
  if (rows->empty()) return requests;
  requests.reserve(rows->size());
  int64_t earliest_ns = rows->front().request.arrival_ns;
  for (const TraceRow& row : *rows) {
    earliest_ns = std::min<int64_t>(earliest_ns, row.request.arrival_ns);
  }
  const int64_t start_ns = std::llround(options.start_s * kNsPerSecond);
  const int64_t end_ns = std::llround(options.end_s * kNsPerSecond);  // 0: no end
  for (TraceRow& row : *rows) {
    const int64_t since_ns = row.request.arrival_ns - earliest_ns;
    const char* reason = ZeroTokens(row.request);
    if (reason == nullptr && (since_ns < start_ns || (end_ns > 0 && since_ns >= end_ns))) {
      reason = "outside_window";
    }
    if (reason == nullptr && options.max_requests > 0 &&
        static_cast<int64_t>(requests.size()) >= options.max_requests) {
      reason = "over_max_requests";
    }
    if (reason == nullptr) {
      requests.push_back(std::move(row.request));
    } else {
      ++counts->dropped[reason];
    }
  }
  return requests;
}

absl::Status PlaceInTime(const std::string& path, const TraceOptions& options,
                         std::vector<Request>* requests) {
  const auto earlier = [](const Request& a, const Request& b) {
    return a.arrival_ns < b.arrival_ns;
  };
  if (!std::is_sorted(requests->begin(), requests->end(), earlier)) {
    std::stable_sort(requests->begin(), requests->end(), earlier);
  }
  const int64_t origin_ns = requests->front().arrival_ns;
  for (Request& request : *requests) {
    if (!ScaleTime(request.arrival_ns - origin_ns, options.time_scale, &request.arrival_ns)) {
      return InputError({path, 0, 0, ""}, "request " + Quoted(request.id) +
                                              " arrives more than 146 years after the first one" +
                                              (options.time_scale == 1.0 ? "" : " (time_scale)"));
    }
  }
  return absl::OkStatus();
}

void CountWhatIsEmitted(const std::vector<Request>& requests, TraceCounts* counts) {
  std::set<std::string_view> sessions;
  std::vector<uint64_t> blocks;
  for (const Request& request : requests) {
    if (!request.session.empty()) sessions.insert(request.session);
    for (const PrefixSegment& segment : request.prefix) blocks.push_back(segment.segment);
  }
  counts->emitted = static_cast<int64_t>(requests.size());
  counts->sessions = static_cast<int64_t>(sessions.size());
  counts->block_refs = static_cast<int64_t>(blocks.size());
  std::sort(blocks.begin(), blocks.end());
  counts->distinct_blocks = std::unique(blocks.begin(), blocks.end()) - blocks.begin();
}

}  // namespace batchvar
