// What a trace looks like: arrivals, lengths, load, prefix reuse. A pure function of the trace.
// Percentiles are nearest rank: the smallest value that at least p of all values do not exceed.
// A number that the trace is too short for is NaN. Definitions: docs/traces.md.
// Used by `batchvar trace inspect` (trace_statistics_text.h renders it).
#ifndef BATCHVAR_SIM_IO_TRACE_STATISTICS_H_
#define BATCHVAR_SIM_IO_TRACE_STATISTICS_H_

#include <cstdint>

#include "sim/base/time.h"
#include "sim/io/trace_reader.h"

namespace batchvar {

struct Quantiles {
  int64_t min = 0;
  int64_t p50 = 0;
  int64_t p90 = 0;
  int64_t p99 = 0;
  int64_t max = 0;
  double mean = 0;
};

// Counts in windows of one length that begin at the first arrival.
struct WindowCounts {
  int64_t peak = 0;       // most arrivals in a window, the last and partial one included
  double dispersion = 0;  // variance / mean of the counts in the full windows; NaN below three
};

struct TraceStatistics {
  int64_t requests = 0;
  // Arrivals. A gap is the time between two arrivals in order.
  TimeNs span_ns = 0;            // last arrival - first
  double rate_per_s = 0;         // gaps / span
  Quantiles gap_ns;              // all 0 for a single request
  double gap_cv = 0;             // population standard deviation / mean
  int64_t equal_time_pairs = 0;  // gaps of 0
  WindowCounts per_second;
  WindowCounts per_minute;
  // Lengths.
  Quantiles prompt_tokens;
  Quantiles output_tokens;
  // Load if every request ran from its arrival for output_tokens * tpot_ns: no queue, no prefill.
  TimeNs tpot_ns = 0;
  int64_t peak_concurrency = 0;
  double mean_concurrency = 0;       // over the span
  int64_t peak_resident_tokens = 0;  // prompt + output of the requests that run
  double prompt_tokens_per_s = 0;    // over the span
  double output_tokens_per_s = 0;
  // Prefix reuse with an unlimited cache, in arrival order: what an earlier prompt began with.
  double block_hit_ratio = 0;  // segments found whole / segments; NaN without any
  double token_hit_ratio = 0;  // tokens found / prompt tokens; NaN without any segment
};

inline constexpr TimeNs kDefaultTpotNs = 30 * kNsPerMs;

TraceStatistics StatisticsOf(const Trace& trace, TimeNs tpot_ns = kDefaultTpotNs);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_TRACE_STATISTICS_H_
