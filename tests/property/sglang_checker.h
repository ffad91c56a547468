// Rules of sglang: prompts first, one unfinished prompt at a time, decodes only when nobody else
// can go (or mixed in behind), retracted requests to the end of the queue.
#ifndef BATCHVAR_TESTS_PROPERTY_SGLANG_CHECKER_H_
#define BATCHVAR_TESTS_PROPERTY_SGLANG_CHECKER_H_

#include "tests/property/schedule_checker.h"

namespace batchvar {

class SglangChecker final : public ScheduleChecker {
 public:
  using ScheduleChecker::ScheduleChecker;

 private:
  void CheckAdmission(const ScheduledRow& row) override;
  void CheckRowRules(const ScheduledRow& row, bool admitted, bool samples) override;
  void CheckStepRules(const Scheduler& scheduler, const StepBatch& batch,
                      size_t num_admitted) override;
  void Requeue(int32_t request) override { waiting_.push_back(request); }
  void CheckPool(const Scheduler& scheduler);

  int32_t unfinished_prompt_ = -1;
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_SGLANG_CHECKER_H_
