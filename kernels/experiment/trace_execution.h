// Requests of a replayed workload, executed under the orders that they met there and compared with
// the same requests served alone (docs/experiment.md).
#ifndef BATCHVAR_KERNELS_EXPERIMENT_TRACE_EXECUTION_H_
#define BATCHVAR_KERNELS_EXPERIMENT_TRACE_EXECUTION_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/cpu/isa.h"
#include "sim/config/execution_spec.h"
#include "sim/divergence/executed_trace.h"
#include "sim/replay/prefix_sources.h"

namespace batchvar {

struct TraceExecutionOptions {
  std::string weights_folder;  // empty where weights are synthetic
  Isa isa = Isa::kScalar;
  int32_t threads = 1;  // never changes a bit
  std::function<void(int64_t rows)> progress = [](int64_t) {};
};

// `spec.execute` is there. `sources` has listened to a replay of the same experiment, which is
// replayed once more to keep what the chosen requests and their producers met. Errors name the
// request: one that is unknown, was rejected, or is longer than the executed model's positions.
absl::StatusOr<ExecutedTrace> ExecuteTrace(const ReplaySpec& spec, const PrefixSources& sources,
                                           const TraceExecutionOptions& options);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_TRACE_EXECUTION_H_
