// Random workloads under random settings, step by step: what must hold for every schedule. A case
// that fails prints its seed and its settings; MakeRandomCase(seed) makes it again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/property/random_case.h"
#include "tests/property/watched_scheduler.h"

namespace batchvar {
namespace {

constexpr uint64_t kNumCases = 5000;

struct Totals {
  int64_t steps = 0;
  int64_t preemptions = 0;
  int64_t hit_tokens = 0;
  int64_t wasted_rows = 0;
  int64_t chunks = 0;
  int64_t failures = 0;  // cases in which the server died
};

// Far more than any case takes unless two requests keep each other from ending.
size_t StepLimit(const RandomCase& c) {
  int64_t tokens = 0;
  for (const Request& request : c.requests) tokens += request.prompt_tokens + request.output_tokens;
  return static_cast<size_t>(100 + c.requests.back().arrival_ns + 8 * tokens);
}

// Runs the case with steps as the clock; the record ends at the first breach.
std::vector<RecordedStep> RunCase(const RandomCase& c, std::string* breach, Totals* totals) {
  WatchedScheduler scheduler(c.config);
  const size_t limit = StepLimit(c);
  size_t next = 0;
  TimeNs now = 0;
  while (breach->empty()) {
    if (!scheduler.HasUnfinished() && !scheduler.HasStepInFlight()) {
      if (next == c.requests.size()) break;
      now = std::max(now, c.requests[next].arrival_ns);
    }
    for (; next < c.requests.size() && c.requests[next].arrival_ns <= now; ++next) {
      scheduler.Add(c.requests[next], static_cast<int32_t>(next));
    }
    scheduler.Schedule();
    if (scheduler.failure() != nullptr) break;
    scheduler.ApplyOutputs();
    ++now;
    *breach = scheduler.checker().breach();
    if (scheduler.steps().size() > limit) *breach = "somebody starves";
  }
  totals->failures += scheduler.failure() != nullptr ? 1 : 0;
  if (breach->empty() && scheduler.failure() == nullptr) {
    scheduler.checker().AtEnd(scheduler);
    *breach = scheduler.checker().breach();
  }
  totals->steps += static_cast<int64_t>(scheduler.steps().size());
  totals->preemptions += scheduler.checker().num_preemptions();
  totals->hit_tokens += scheduler.checker().num_hit_tokens();
  totals->wasted_rows += scheduler.checker().num_wasted_rows();
  totals->chunks += scheduler.checker().num_chunks();
  return scheduler.steps();
}

TEST(SchedulerProperties, EveryRuleHoldsInEveryStep) {
  Totals totals;
  for (uint64_t seed = 0; seed < kNumCases; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    std::string breach;
    RunCase(c, &breach, &totals);
    ASSERT_EQ(breach, "") << Describe(c);
  }
  // The cases are worth something only if they come to these corners.
  EXPECT_GT(totals.preemptions, 1000);
  EXPECT_GT(totals.hit_tokens, 1000);
  EXPECT_GT(totals.wasted_rows, 1000);
  EXPECT_GT(totals.chunks, 1000);
  EXPECT_LT(totals.failures, static_cast<int64_t>(kNumCases / 50));
  RecordProperty("steps", std::to_string(totals.steps));
}

TEST(SchedulerProperties, SameInputSameSchedule) {
  for (uint64_t seed = 0; seed < kNumCases / 6; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    std::string breach;
    Totals totals;
    const std::vector<RecordedStep> first = RunCase(c, &breach, &totals);
    ASSERT_TRUE(first == RunCase(c, &breach, &totals)) << Describe(c);
  }
}

// Names break ties of (priority, arrival) only.
TEST(SchedulerProperties, NamesOfRequestsDecideNothingElse) {
  for (uint64_t seed = 0; seed < kNumCases / 6; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    if (c.config.priority == QueuePriority::kPriority) {
      for (size_t i = 0; i < c.requests.size(); ++i) {
        c.requests[i].arrival_ns += static_cast<TimeNs>(i);
      }
    }
    std::string breach;
    Totals totals;
    const std::vector<RecordedStep> first = RunCase(c, &breach, &totals);
    for (size_t i = 0; i < c.requests.size(); ++i) {
      c.requests[i].id = "name" + std::to_string(c.requests.size() - i);
    }
    ASSERT_TRUE(first == RunCase(c, &breach, &totals)) << Describe(c);
  }
}

// Names of segments are only names.
TEST(SchedulerProperties, NamesOfSegmentsDecideNothing) {
  for (uint64_t seed = 0; seed < kNumCases / 6; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    std::string breach;
    Totals totals;
    const std::vector<RecordedStep> first = RunCase(c, &breach, &totals);
    for (Request& request : c.requests) {
      for (PrefixSegment& segment : request.prefix) segment.segment = ~(segment.segment * 977);
    }
    ASSERT_TRUE(first == RunCase(c, &breach, &totals)) << Describe(c);
  }
}

// With nothing shared, caching changes no schedule as long as nobody is preempted.
TEST(SchedulerProperties, CachingWithoutSharingChangesNothing) {
  int compared = 0;
  for (uint64_t seed = 0; seed < kNumCases / 6; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    for (Request& request : c.requests) request.prefix.clear();
    std::string breach;
    Totals totals;
    SetCaching(true, &c.config);
    c.config.sglang.ignore_eos = false;  // without a cache it has an admission of its own
    const std::vector<RecordedStep> with = RunCase(c, &breach, &totals);
    if (totals.preemptions > 0) continue;
    SetCaching(false, &c.config);
    ASSERT_TRUE(with == RunCase(c, &breach, &totals)) << Describe(c);
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace batchvar
