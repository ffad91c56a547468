// Latency and throughput of a run, with the definitions of docs/metrics.md:
//   TTFT = first token - arrival; TPOT = (last - first token) / (n - 1) of requests with n >= 2;
//   ITL = every gap between two tokens, all requests pooled; E2EL = last token - arrival.
// Only finished requests count (those ended at max_model_len included). Percentiles interpolate
// linearly between order statistics, as NumPy and vLLM's benchmark do.
#ifndef BATCHVAR_SIM_SERVING_LATENCY_H_
#define BATCHVAR_SIM_SERVING_LATENCY_H_

#include <cstdint>
#include <vector>

#include "sim/serving/simulator.h"

namespace batchvar {

struct Quantiles {
  int64_t count = 0;  // 0: the others mean nothing
  double mean_ms = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
};

// Limits in milliseconds, 0 for none; met when <=. A request without a TPOT (one output token)
// meets any TPOT limit, as in vLLM and SGLang.
struct GoodputLimits {
  double ttft_ms = 0;
  double tpot_ms = 0;
  double e2el_ms = 0;
  bool Any() const { return ttft_ms > 0 || tpot_ms > 0 || e2el_ms > 0; }
};

struct ServingMetrics {
  int64_t finished = 0;  // model_limit included
  int64_t model_limit = 0;
  int64_t rejected = 0;
  int64_t unfinished = 0;  // only after an interruption or a server's death
  int64_t preempted = 0;   // requests preempted at least once
  int64_t preemptions = 0;
  int64_t cached_tokens = 0;
  int64_t prompt_tokens = 0;  // of finished requests
  int64_t output_tokens = 0;
  Quantiles ttft;
  Quantiles tpot;
  Quantiles itl;
  Quantiles e2el;
  Quantiles queueing;      // first scheduled - arrival
  TimeNs duration_ns = 0;  // last completion - first arrival
  double requests_per_s = 0;
  double output_tokens_per_s = 0;
  double total_tokens_per_s = 0;
  int64_t good = 0;  // requests that meet every limit
  double goodput_per_s = 0;
};

// Sorts the gaps of `result` on the way; nothing else of it changes.
ServingMetrics ComputeMetrics(const GoodputLimits& limits, SimulationResult* result);

// Quantiles of weighted values; sorts `values` by gap. Counts must be positive.
Quantiles QuantilesOf(std::vector<TokenGap>* values);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_LATENCY_H_
