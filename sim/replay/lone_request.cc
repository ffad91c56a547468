#include "sim/replay/lone_request.h"

#include <memory>

#include "sim/replay/roofline_timer.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/simulator.h"
#include "sim/serving/workload_source.h"

namespace batchvar {

RequestHistory ServeAlone(const ExperimentSpec& spec, const PlanBook& book,
                          const Request& request) {
  Request lone = request;
  lone.arrival_ns = 0;
  lone.prefix.clear();
  lone.session.clear();
  RequestHistory history(lone.id, &book);
  SimulationOptions options;
  options.prompt_limit = PromptLimit(spec.scheduler);
  SchedulerConfig config = spec.scheduler;
  config.report_shared_prefix = book.attention().UsesSharedPrefix();
  const std::unique_ptr<Scheduler> scheduler = MakeScheduler(config);
  const std::unique_ptr<WorkloadSource> source = MakeTraceSource({lone});
  RooflineTimer timer(spec);
  Simulator(options, source.get(), scheduler.get(), &timer, {&history}).Run();
  return history;
}

}  // namespace batchvar
