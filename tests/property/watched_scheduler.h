// A scheduler with a checker around it, and a record of what it did.
#ifndef BATCHVAR_TESTS_PROPERTY_WATCHED_SCHEDULER_H_
#define BATCHVAR_TESTS_PROPERTY_WATCHED_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/serving/scheduler.h"
#include "tests/property/make_checker.h"

namespace batchvar {

struct RecordedStep {
  std::vector<ScheduledRow> rows;
  int32_t padding_tokens = 0;
  std::vector<int32_t> preempted;
  size_t num_added = 0;  // requests added before it, in all
  bool applied = false;  // outputs were, right after it: these
  std::vector<int32_t> got_token;
  std::vector<int32_t> finished;
  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

class WatchedScheduler final : public Scheduler {
 public:
  explicit WatchedScheduler(const SchedulerConfig& config)
      : inner_(MakeScheduler(config)), checker_(MakeChecker(config)) {}

  void Add(const Request& request, int32_t index) override {
    inner_->Add(request, index);
    checker_->OnAdd(request, index);
    ++num_added_;
  }
  const StepBatch& Schedule() override {
    const StepBatch& batch = inner_->Schedule();
    RecordedStep& step = steps_.emplace_back();
    step.rows = batch.rows;
    step.padding_tokens = batch.padding_tokens;
    step.preempted = inner_->preempted();
    step.num_added = num_added_;
    if (inner_->failure() == nullptr) checker_->OnSchedule(*inner_, batch);
    return batch;
  }
  const char* failure() const override { return inner_->failure(); }
  const std::vector<int32_t>& preempted() const override { return inner_->preempted(); }
  const std::vector<PrefixHit>& prefix_hits() const override { return inner_->prefix_hits(); }
  const StepOutputs& ApplyOutputs() override {
    const StepOutputs& outputs = inner_->ApplyOutputs();
    checker_->OnOutputs(*inner_, outputs);
    steps_.back().applied = outputs.applied;
    steps_.back().got_token = outputs.got_token;
    for (const auto& done : outputs.finished) steps_.back().finished.push_back(done.request);
    return outputs;
  }
  bool HasUnfinished() const override { return inner_->HasUnfinished(); }
  bool HasStepInFlight() const override { return inner_->HasStepInFlight(); }
  int32_t num_running() const override { return inner_->num_running(); }
  int32_t num_waiting() const override { return inner_->num_waiting(); }
  int32_t num_free_blocks() const override { return inner_->num_free_blocks(); }

  ScheduleChecker& checker() { return *checker_; }
  const std::vector<RecordedStep>& steps() const { return steps_; }

 private:
  std::unique_ptr<Scheduler> inner_;
  std::unique_ptr<ScheduleChecker> checker_;
  std::vector<RecordedStep> steps_;
  size_t num_added_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_WATCHED_SCHEDULER_H_
