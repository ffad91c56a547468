// What a scheduler's settings promise to everybody, whatever its rules are: the one place in these
// tests, besides the rules of each engine (make_checker.cc), that reads a policy's own keys.
#ifndef BATCHVAR_TESTS_PROPERTY_SCHEDULER_FACTS_H_
#define BATCHVAR_TESTS_PROPERTY_SCHEDULER_FACTS_H_

#include <cstdint>

#include "sim/serving/request.h"
#include "sim/serving/scheduler_config.h"

namespace batchvar {

struct SchedulerFacts {
  int32_t max_rows = 0;    // of a step, and requests that run at once
  int64_t max_tokens = 0;  // of a step; 0: no bound
  int32_t block_size = 0;
  int32_t num_blocks = 0;  // that can be used
  int32_t prompt_limit = 0;
  bool caching = false;
  bool steps_ahead = false;  // a step is scheduled before the outputs of the one before are known
  bool preempts = false;
  bool drops_outputs_of_preempted = false;  // what they have in flight is not delivered
};

SchedulerFacts FactsOf(const SchedulerConfig& config);

// What the request generates before it ends.
int32_t OutputsOf(const Request& request, const SchedulerConfig& config);
// After how many outputs the scheduler knows that it ends.
int32_t ToldOutputs(const Request& request, const SchedulerConfig& config);
// What it generates if no limit of the engine ends it.
int32_t WholeOutputs(const Request& request, const SchedulerConfig& config);

void SetCaching(bool on, SchedulerConfig* config);

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_SCHEDULER_FACTS_H_
