// Where a run's requests come from: a trace, or arrival processes and length distributions. The
// simulator asks for the next arrival, takes it, and tells the source of every answer that ends,
// because a closed loop sends its next request only then. A source is a deterministic function of
// its input, its seed and the OnFinished calls; it never looks at a host clock.
#ifndef BATCHVAR_SIM_SERVING_WORKLOAD_SOURCE_H_
#define BATCHVAR_SIM_SERVING_WORKLOAD_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/time.h"
#include "sim/serving/arrival_spec.h"
#include "sim/serving/request.h"

namespace batchvar {

class WorkloadSource {
 public:
  virtual ~WorkloadSource() = default;

  // The time of the request that Pop would return. nullopt: none is known now, and if Exhausted()
  // is false, one will be after an OnFinished.
  virtual std::optional<TimeNs> NextArrival() const = 0;

  // The request of NextArrival(); there must be one. Arrival times never descend, as long as
  // OnFinished is never told of a time before the last popped arrival.
  virtual Request Pop() = 0;

  // A request left the system at `when`: answered, cut at a limit or refused. To be called once
  // for each request, or a closed loop dries up.
  virtual void OnFinished(TimeNs when) = 0;

  // Nothing more will ever come.
  virtual bool Exhausted() const = 0;
};

// Ids "r0", "r1", ... in the order in which the requests are issued. Request i's lengths depend on
// (seed, i) only: another arrival process, rate or order of answers leaves them as they are.
//   open loop:   arrivals are generated as they are popped, so memory does not grow with
//                num_requests; fewer come if the process itself ends (a last rate of 0).
//   closed_loop: min(concurrency, num_requests) requests at time 0, then every OnFinished(when)
//                issues one at when + think_time_s until num_requests were issued. Arrivals come
//                out by (time, issue order).
std::unique_ptr<WorkloadSource> MakeSyntheticSource(const SyntheticWorkload& workload,
                                                    uint64_t seed);

// Replays `requests`, which must ascend by arrival; equal arrivals keep their order.
std::unique_ptr<WorkloadSource> MakeTraceSource(std::vector<Request> requests);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_WORKLOAD_SOURCE_H_
