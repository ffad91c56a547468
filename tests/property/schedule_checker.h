// Watches a scheduler from outside and says which rule it broke first. It keeps its own, simpler
// account of every request. What is here must hold for every engine: a request's tokens are
// computed once and in order, rows sample what they should, nothing is hit that nobody computed,
// limits are kept, blocks are conserved, every request ends exactly once with exactly its tokens.
// Rules that only one engine has are added by a class of its own, see make_checker.h.
#ifndef BATCHVAR_TESTS_PROPERTY_SCHEDULE_CHECKER_H_
#define BATCHVAR_TESTS_PROPERTY_SCHEDULE_CHECKER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/serving/scheduler.h"
#include "tests/property/prompt_text.h"
#include "tests/property/scheduler_facts.h"

namespace batchvar {

class ScheduleChecker {
 public:
  explicit ScheduleChecker(const SchedulerConfig& config)
      : config_(config), facts_(FactsOf(config)) {}
  virtual ~ScheduleChecker() = default;

  void OnAdd(const Request& request, int32_t index);
  // After Schedule(), with what it returned.
  void OnSchedule(const Scheduler& scheduler, const StepBatch& batch);
  // After ApplyOutputs().
  void OnOutputs(const Scheduler& scheduler, const StepOutputs& outputs);
  void AtEnd(const Scheduler& scheduler);

  // Empty, or the first breach.
  const std::string& breach() const { return breach_; }
  int64_t num_preemptions() const { return num_preemptions_; }
  int64_t num_hit_tokens() const { return num_hit_tokens_; }
  int64_t num_wasted_rows() const { return num_wasted_rows_; }
  int64_t num_chunks() const { return num_chunks_; }

 protected:
  struct Tracked {
    Request request;
    std::vector<TextHash> text;
    int32_t outputs = 0;       // that it will generate
    int32_t told_outputs = 0;  // after which the scheduler knows that it ends
    int32_t delivered = 0;     // outputs known
    int32_t pending = 0;       // outputs being sampled, counted since the last preemption
    int32_t computed = 0;
    int32_t stale_rows = 0;  // rows in flight that a preemption made worthless
    int32_t samples = 0;     // rows that sampled, in all, without those that were dropped
    bool running = false;
    bool finished = false;

    int32_t known() const { return request.prompt_tokens + delivered; }
    int32_t total() const { return known() + pending; }
    bool last_token_in_flight() const { return pending > 0 && delivered + pending >= told_outputs; }
  };

  // An engine's own rules. `admitted`: the row's request was waiting before this step.
  virtual void BeginStep() {}
  virtual void CheckAdmission(const ScheduledRow&) {}  // before the account knows of it
  virtual void CheckRowRules(const ScheduledRow&, bool /*admitted*/, bool /*samples*/) {}
  virtual void CheckStepRules(const Scheduler&, const StepBatch&, size_t /*num_admitted*/) {}
  // Where a preempted request goes in waiting_.
  virtual void Requeue(int32_t request) { waiting_.push_front(request); }
  // Whether a hit may name content that nobody computed.
  virtual bool MayHitTheUncomputed() const { return false; }

  void Require(bool holds, const char* rule, int32_t request = -1);
  int32_t BlocksFor(int64_t tokens) const {
    return static_cast<int32_t>((tokens + facts_.block_size - 1) / facts_.block_size);
  }
  bool IsComputed(const Tracked& tracked, int32_t num_tokens) const {
    return computed_texts_.contains(tracked.text[static_cast<size_t>(num_tokens)]);
  }

  SchedulerConfig config_;
  SchedulerFacts facts_;
  std::map<int32_t, Tracked> requests_;
  std::vector<int32_t> running_;  // in order of admission
  std::deque<int32_t> waiting_;
  int64_t blocks_wanted_ = 0;  // by all requests, had nobody shared any
  int64_t num_preemptions_ = 0;

 private:
  struct InFlight {
    int32_t request;
    bool samples;
    bool stale;
  };

  void OnPreempted(int32_t request);
  void OnAdmitted(const ScheduledRow& row);
  void CheckHit(const ScheduledRow& row);
  void CheckRow(const ScheduledRow& row, bool admitted);
  void CheckTotals(const Scheduler& scheduler, const StepBatch& batch);
  void OnToken(int32_t request, bool stale);
  void OnFinished(const StepOutputs::Finished& done);
  void Remember(const Tracked& tracked, int32_t num_tokens);

  std::deque<std::vector<InFlight>> in_flight_;
  std::set<TextHash> computed_texts_;  // at block edges
  bool batch_was_empty_ = true;
  int64_t step_ = -1;
  int64_t num_hit_tokens_ = 0;
  int64_t num_wasted_rows_ = 0;
  int64_t num_chunks_ = 0;
  std::string breach_;
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_SCHEDULE_CHECKER_H_
