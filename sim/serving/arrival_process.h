// Arrival times of open-loop traffic, in whole nanoseconds from the run's origin. The first request
// comes one gap after the origin, so N requests span N gaps; `all_at_once` puts all of them at 0.
//
//   constant           gaps of 1/rate
//   gamma, weibull     independent gaps of mean 1/rate and the given coefficient of variation
//   poisson            a rate that never changes
//   piecewise, ramp    Poisson with a rate that is constant or linear in time: unit exponentials
//                      mapped through the inverse of the cumulative rate, which is exact across
//                      the edges, where drawing whole gaps at the old rate would not be
//
// Rates are true: no gap is cut, rescaled or rounded by itself. The clock keeps the fraction of a
// nanosecond that an arrival's rounding dropped, so arrival i is the floor of the true sum of gaps
// and rounding costs less than a nanosecond in all, not per gap.
//
// Draws come from the stream "arrivals" of the seed. closed_loop is no process in time; it lives in
// workload_source.h, the only caller.
#ifndef BATCHVAR_SIM_SERVING_ARRIVAL_PROCESS_H_
#define BATCHVAR_SIM_SERVING_ARRIVAL_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/rng.h"
#include "sim/base/time.h"
#include "sim/serving/arrival_spec.h"

namespace batchvar {

// Arrivals end here, 73 years on: far enough for any run, and a service time added to it still
// fits.
inline constexpr TimeNs kArrivalHorizonNs = TimeNs{1} << 61;

// To the nearest nanosecond, the horizon at most. Not for negative times.
TimeNs NsFromSeconds(double seconds);

// Whole nanoseconds and the fraction in [0, 1) that did not fit.
class NsClock {
 public:
  TimeNs now() const { return now_; }
  double fraction() const { return fraction_; }
  void Advance(double ns);  // stops at the horizon
  void Set(TimeNs now);

 private:
  TimeNs now_ = 0;
  double fraction_ = 0;
};

class ArrivalTimes {
 public:
  // The spec is sim/config's and therefore valid: rates finite and not negative, cv >= 0. A cv of 0
  // is `constant`. Not for closed_loop.
  ArrivalTimes(const ArrivalSpec& spec, uint64_t seed);

  // Never before the last one. nullopt, from then on always: the process has ended, because its
  // last rate is 0 or the next arrival lies beyond the horizon.
  std::optional<TimeNs> Next();

 private:
  // A stretch of linear rate; the last one goes on for ever at its start rate.
  struct Segment {
    TimeNs end_ns = kArrivalHorizonNs;
    double start_rate = 0;  // per nanosecond
    double end_rate = 0;
  };

  void AddSegment(double duration_s, double start_rate_per_s, double end_rate_per_s);
  void SetRenewal(const ArrivalSpec& spec);
  double NextGapNs();  // gamma, weibull
  bool AdvanceByRate();

  ArrivalProcess process_;
  double rate_per_s_;
  RandomStream stream_;
  NsClock clock_;
  bool ended_ = false;

  int64_t count_ = 0;    // constant: arrivals so far
  double scale_ns_ = 0;  // gamma, weibull: what the unit draw is multiplied by
  double shape_ = 1;     // gamma: its shape; weibull: 1 / shape

  std::vector<Segment> segments_;  // by rate
  size_t segment_ = 0;
  TimeNs segment_start_ns_ = 0;
};

// The Weibull shape whose coefficient of variation is `cv` > 0, by bisection on
// 1 + cv^2 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2; k is held in [0.02, 10^4].
double WeibullShapeOfCv(double cv);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_ARRIVAL_PROCESS_H_
