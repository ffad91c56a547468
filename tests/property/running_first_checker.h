// Rules of the engines in which running requests come first in every step and the waiting queue
// gives its head or nobody: vllm_v1, static, orca.
#ifndef BATCHVAR_TESTS_PROPERTY_RUNNING_FIRST_CHECKER_H_
#define BATCHVAR_TESTS_PROPERTY_RUNNING_FIRST_CHECKER_H_

#include <cstdint>

#include "tests/property/schedule_checker.h"

namespace batchvar {

class RunningFirstChecker : public ScheduleChecker {
 public:
  using ScheduleChecker::ScheduleChecker;

 protected:
  void BeginStep() override;
  void CheckAdmission(const ScheduledRow& row) override;
  void CheckRowRules(const ScheduledRow& row, bool admitted, bool samples) override;
  void CheckStepRules(const Scheduler& scheduler, const StepBatch& batch,
                      size_t num_admitted) override;
  // A running request that gets nothing although its last token is not in flight.
  virtual void CheckLeftOut(int32_t request, const StepBatch& batch, size_t num_admitted) = 0;
  virtual bool GoesBefore(int32_t /*a*/, int32_t /*b*/) const { return false; }

  int32_t eligible_ = 0;
  bool was_idle_ = true;

 private:
  size_t position_ = 0;  // in running_, of the next row
  bool seen_admitted_ = false;
};

class VllmV1Checker final : public RunningFirstChecker {
 public:
  using RunningFirstChecker::RunningFirstChecker;

 private:
  void CheckAdmission(const ScheduledRow& row) override;
  void CheckRowRules(const ScheduledRow& row, bool admitted, bool samples) override;
  void CheckStepRules(const Scheduler& scheduler, const StepBatch& batch,
                      size_t num_admitted) override;
  void CheckLeftOut(int32_t request, const StepBatch& batch, size_t num_admitted) override;
  bool GoesBefore(int32_t a, int32_t b) const override;
  bool MayHitTheUncomputed() const override;
  void CheckTables(const Scheduler& scheduler, const StepBatch& batch);

  std::map<int32_t, std::vector<int32_t>> tables_;  // last seen block table of each request
};

class ReservingChecker final : public RunningFirstChecker {
 public:
  using RunningFirstChecker::RunningFirstChecker;

 private:
  void CheckStepRules(const Scheduler& scheduler, const StepBatch& batch,
                      size_t num_admitted) override;
  void CheckLeftOut(int32_t request, const StepBatch& batch, size_t num_admitted) override;
  void CheckPadding(const StepBatch& batch);
  void CheckReservations(const Scheduler& scheduler);
  bool is_static() const { return config_.policy == SchedulerPolicy::kStatic; }

  int32_t batch_size_ = 0;  // static: rows of the batch when it was assembled
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_RUNNING_FIRST_CHECKER_H_
