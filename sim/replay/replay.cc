#include "sim/replay/replay.h"

#include <utility>

#include "sim/io/gemm_table.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/workload_source.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

absl::StatusOr<std::unique_ptr<WorkloadSource>> OpenWorkload(const ExperimentSpec& spec,
                                                             ReplayResult* result) {
  if (!spec.workload.has_trace) return MakeSyntheticSource(spec.workload.synthetic, spec.seed);
  const TraceSpec& trace_spec = spec.workload.trace;
  TraceOptions options;
  options.format = trace_spec.format;
  options.block_size = trace_spec.block_size;
  options.strict = trace_spec.strict;
  options.time_scale = trace_spec.time_scale;
  options.start_s = trace_spec.start_s;
  options.end_s = trace_spec.end_s;
  options.max_requests = trace_spec.max_requests;
  absl::StatusOr<Trace> trace = ReadTrace(trace_spec.resolved_path, options);
  if (!trace.ok()) return trace.status();
  result->trace = trace->counts;
  result->trace_sha256 = trace->sha256;
  return MakeTraceSource(std::move(trace->requests));
}

std::vector<int64_t> KeysOf(const std::map<int64_t, StepCount>& counts) {
  std::vector<int64_t> keys;
  for (const auto& [key, count] : counts) keys.push_back(key);
  return keys;
}

}  // namespace

absl::StatusOr<ReplayResult> Replay(const ExperimentSpec& spec, const ReplayOptions& options) {
  ReplayResult result;
  absl::StatusOr<std::unique_ptr<WorkloadSource>> source = OpenWorkload(spec, &result);
  if (!source.ok()) return source.status();
  ExperimentSpec planned = spec;
  const absl::Status tables = LoadGemmTables(&planned.policies.gemm);
  if (!tables.ok()) return tables;
  result.book = std::make_unique<PlanBook>(planned);
  result.timer = std::make_unique<RooflineTimer>(spec);
  result.census = std::make_unique<StepCensus>(result.book.get(), result.timer.get());

  std::vector<RunSink*> sinks = options.sinks;
  sinks.push_back(result.census.get());
  for (const std::string& id : options.requests) {
    result.histories.push_back(std::make_unique<RequestHistory>(id, result.book.get()));
    sinks.push_back(result.histories.back().get());
  }
  SimulationOptions simulation;
  simulation.prompt_limit = PromptLimit(spec.scheduler);
  simulation.interrupted = options.interrupted;
  simulation.progress = options.progress;
  SchedulerConfig config = spec.scheduler;
  config.report_shared_prefix = result.book->attention().UsesSharedPrefix();
  const std::unique_ptr<Scheduler> scheduler = MakeScheduler(config);
  result.simulation =
      Simulator(simulation, source->get(), scheduler.get(), result.timer.get(), sinks).Run();

  if (result.simulation.livelock) {
    return ConfigError({},
                       "requests preempt each other for ever: equal priorities and arrivals do "
                       "not fit together; set scheduler.scheduler_reserve_full_isl: true or "
                       "raise scheduler.num_gpu_blocks");
  }
  if (!spec.workload.has_trace) {
    result.trace.rows_read = static_cast<int64_t>(result.simulation.requests.size());
    result.trace.emitted = result.trace.rows_read;
  }
  const std::vector<int64_t> padded_m = KeysOf(result.census->by_padded_m());
  const std::vector<int64_t> heads = KeysOf(result.census->by_requests());
  const std::string missing = result.book->FirstMissing(padded_m, heads);
  if (!missing.empty()) return ConfigError({}, missing);
  result.book->PlanAll(padded_m, heads, options.threads);
  result.classes = VisitedClasses(*result.census, *result.book);
  result.metrics = ComputeMetrics(spec.goodput, &result.simulation);
  for (const auto& history : result.histories) {
    if (history->found()) continue;
    std::vector<std::string> ids;
    for (const RequestResult& request : result.simulation.requests) ids.push_back(request.id);
    const std::string nearest = NearestName(history->id(), ids);
    return ConfigError({}, "no request '" + history->id() + "' in this run" +
                               (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  return result;
}

}  // namespace batchvar
