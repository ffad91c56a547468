// Stochastic workloads: when requests arrive and how long they are. Read from `workload:` by
// sim/config; keys have the names of the fields. Rates are true rates: no cut tails, no rescaling.
#ifndef BATCHVAR_SIM_SERVING_ARRIVAL_SPEC_H_
#define BATCHVAR_SIM_SERVING_ARRIVAL_SPEC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace batchvar {

enum class ArrivalProcess : uint8_t {
  kConstant,
  kPoisson,
  kGamma,
  kWeibull,
  kAllAtOnce,
  kClosedLoop,
  kPiecewise,
  kRamp,
};

struct RatePiece {
  double duration_s = 0;
  double rate_per_s = 0;
};

struct ArrivalSpec {
  ArrivalProcess process = ArrivalProcess::kPoisson;
  double rate_per_s = 1.0;  // constant, poisson, gamma, weibull
  double cv = 1.0;          // gamma, weibull: coefficient of variation of the gaps.
                            // YAML also accepts vLLM's `burstiness` b for gamma: cv = 1/sqrt(b)
  int32_t concurrency = 1;  // closed_loop: requests in flight
  double think_time_s = 0;  // closed_loop: from an answer's end to the next request
  std::vector<RatePiece> rates;  // piecewise: Poisson at each rate in turn; the last one goes on
  double start_rate_per_s = 0;  // ramp: Poisson, linear from start to end over duration_s, then end
  double end_rate_per_s = 0;
  double duration_s = 0;
};

enum class LengthDistribution : uint8_t {
  kFixed,
  kUniform,
  kNormal,
  kLognormal,
  kZipf,
  kEmpirical,
};

// Results are whole tokens in [min, max].
struct LengthSpec {
  LengthDistribution distribution = LengthDistribution::kFixed;
  int32_t fixed = 1;
  int32_t min = 1;
  int32_t max = 1 << 20;
  double mean = 0;  // normal, lognormal: of the length itself, before clamping to [min, max]
  double stddev = 0;
  double theta = 0;  // zipf: P(n) ~ (n - min + 1)^-theta over [min, max]
  std::string path;  // empirical: file as typed; a CSV of `tokens,weight` lines
  std::vector<std::pair<int32_t, double>> empirical;  // (tokens, weight), read from path
};

struct SyntheticWorkload {
  ArrivalSpec arrivals;
  LengthSpec prompt_len;
  LengthSpec output_len;
  int64_t num_requests = 1000;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_ARRIVAL_SPEC_H_
