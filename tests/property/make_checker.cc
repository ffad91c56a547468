#include "tests/property/make_checker.h"

#include "sim/base/check.h"
#include "tests/property/running_first_checker.h"
#include "tests/property/sglang_checker.h"

namespace batchvar {

std::unique_ptr<ScheduleChecker> MakeChecker(const SchedulerConfig& config) {
  switch (config.policy) {
    case SchedulerPolicy::kVllmV1: return std::make_unique<VllmV1Checker>(config);
    case SchedulerPolicy::kStatic:
    case SchedulerPolicy::kOrca: return std::make_unique<ReservingChecker>(config);
    case SchedulerPolicy::kSglang: return std::make_unique<SglangChecker>(config);
  }
  BV_CHECK(false);
}

}  // namespace batchvar
