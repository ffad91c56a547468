// The checker of a scheduler: what holds for all of them, and the rules of its own engine.
#ifndef BATCHVAR_TESTS_PROPERTY_MAKE_CHECKER_H_
#define BATCHVAR_TESTS_PROPERTY_MAKE_CHECKER_H_

#include <memory>

#include "tests/property/schedule_checker.h"

namespace batchvar {

std::unique_ptr<ScheduleChecker> MakeChecker(const SchedulerConfig& config);

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_MAKE_CHECKER_H_
