// Watches a scheduler from outside and says which rule it broke first. It keeps its own, simpler
// account of every request and knows nothing of the scheduler's inside but the block tables.
#ifndef BATCHVAR_TESTS_PROPERTY_SCHEDULE_CHECKER_H_
#define BATCHVAR_TESTS_PROPERTY_SCHEDULE_CHECKER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/serving/scheduler.h"
#include "sim/serving/vllm_v1_scheduler.h"
#include "tests/property/prompt_text.h"

namespace batchvar {

class ScheduleChecker {
 public:
  explicit ScheduleChecker(const SchedulerConfig& config) : config_(config) {}

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

 private:
  struct Tracked {
    Request request;
    std::vector<TextHash> text;
    int32_t outputs = 0;       // that it will generate
    int32_t told_outputs = 0;  // after which the scheduler knows that it ends
    int32_t delivered = 0;     // outputs known
    int32_t pending = 0;       // outputs being sampled, counted since the last preemption
    int32_t computed = 0;
    int32_t stale_rows = 0;    // rows in flight that a preemption made worthless
    int32_t samples = 0;       // rows that sampled, in all
    bool running = false;
    bool finished = false;
    std::vector<BlockId> table;

    int32_t known() const { return request.prompt_tokens + delivered; }
    int32_t total() const { return known() + pending; }
    bool last_token_in_flight() const { return pending > 0 && delivered + pending >= told_outputs; }
  };
  struct InFlight {
    int32_t request;
    bool samples;
    bool stale;
  };

  void Require(bool holds, const char* rule, int32_t request = -1);
  void OnPreempted(int32_t request);
  void OnAdmitted(const ScheduledRow& row);
  void CheckRow(const ScheduledRow& row);
  void CheckHit(const ScheduledRow& row);
  void CheckTotals(const Scheduler& scheduler, const StepBatch& batch);
  void CheckUnscheduled(const StepBatch& batch, size_t num_admitted);
  void CheckStatic(const StepBatch& batch);
  void CheckTables(const VllmV1Scheduler& scheduler, const StepBatch& batch);
  void CheckReservations(const Scheduler& scheduler);
  void OnToken(int32_t request, bool stale);
  void OnFinished(const StepOutputs::Finished& done);
  void Remember(const Tracked& tracked, int32_t num_tokens);
  bool GoesBefore(int32_t a, int32_t b) const;
  bool is_vllm() const { return config_.policy == SchedulerPolicy::kVllmV1; }
  bool caching() const { return is_vllm() && config_.enable_prefix_caching; }
  bool async() const { return is_vllm() && config_.async_scheduling; }
  int32_t BlocksFor(int64_t tokens) const {
    return static_cast<int32_t>((tokens + config_.block_size - 1) / config_.block_size);
  }

  SchedulerConfig config_;
  std::map<int32_t, Tracked> requests_;
  std::vector<int32_t> running_;  // in order of admission
  std::deque<int32_t> waiting_;
  std::deque<std::vector<InFlight>> in_flight_;
  std::set<TextHash> computed_texts_;  // at block edges
  int64_t blocks_wanted_ = 0;          // by all requests, had nobody shared any
  int32_t eligible_ = 0;
  int32_t batch_size_ = 0;  // static: rows of the batch when it was assembled
  bool batch_was_empty_ = true;
  int64_t step_ = -1;
  int64_t num_preemptions_ = 0;
  int64_t num_hit_tokens_ = 0;
  int64_t num_wasted_rows_ = 0;
  int64_t num_chunks_ = 0;
  std::string breach_;
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_SCHEDULE_CHECKER_H_
