// Simulated time. Arrivals and step edges are whole nanoseconds; step costs are computed in whole
// picoseconds and rounded up to a nanosecond once per step, so n equal steps cost exactly n times
// one step. No host clock ever enters a result.
#ifndef BATCHVAR_SIM_BASE_TIME_H_
#define BATCHVAR_SIM_BASE_TIME_H_

#include <cstdint>

namespace batchvar {

using TimeNs = int64_t;  // since the first arrival of the run
using TimePs = int64_t;  // a duration

inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kPsPerNs = 1'000;
inline constexpr int64_t kPsPerSecond = 1'000'000'000'000;

constexpr TimeNs NsFromPsRoundUp(TimePs ps) { return (ps + kPsPerNs - 1) / kPsPerNs; }

constexpr int64_t CeilDiv(int64_t numerator, int64_t denominator) {
  return (numerator + denominator - 1) / denominator;
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_BASE_TIME_H_
