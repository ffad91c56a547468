#include "sim/serving/scheduler.h"

#include "sim/base/check.h"
#include "sim/serving/batch_scheduler.h"
#include "sim/serving/sglang_scheduler.h"
#include "sim/serving/vllm_v1_scheduler.h"

namespace batchvar {

std::unique_ptr<Scheduler> MakeScheduler(const SchedulerConfig& config) {
  switch (config.policy) {
    case SchedulerPolicy::kVllmV1: return std::make_unique<VllmV1Scheduler>(config);
    case SchedulerPolicy::kStatic:
    case SchedulerPolicy::kOrca: return std::make_unique<BatchScheduler>(config);
    case SchedulerPolicy::kSglang: return std::make_unique<SglangScheduler>(config);
  }
  BV_CHECK(false);
}

}  // namespace batchvar
