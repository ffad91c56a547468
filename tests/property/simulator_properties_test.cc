// The random cases again, through the Simulator: time, results and spans against the record of what
// the scheduler did. The scheduler's own rules are checked on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/serving/latency.h"
#include "sim/serving/simulator.h"
#include "tests/property/random_case.h"
#include "tests/property/watched_scheduler.h"

namespace batchvar {
namespace {

constexpr uint64_t kNumCases = 2000;
constexpr TimeNs kUnitNs = 150;  // of a case's arrivals; steps take some 100 to 400 ns

class ToyTimer final : public StepTimer {
 public:
  TimeNs DurationNs(const StepBatch& batch, int64_t* padded_m) override {
    *padded_m = (batch.M() + 7) / 8 * 8;
    int64_t kv = 0;
    for (const ScheduledRow& row : batch.rows) kv += row.num_computed + row.num_scheduled;
    durations.push_back(100 + 3 * *padded_m + kv / 8);
    padded.push_back(*padded_m);
    return durations.back();
  }

  std::vector<TimeNs> durations;
  std::vector<int64_t> padded;
};

class SpanRecord final : public RunSink {
 public:
  void OnRequest(int32_t index, const Request& request) override {
    EXPECT_EQ(index, static_cast<int32_t>(requests.size()));
    requests.push_back(request);
  }
  void OnSpan(const StepSpan& span) override { spans.push_back(span); }

  std::vector<Request> requests;
  std::vector<StepSpan> spans;
};

struct Step {
  TimeNs start_ns;
  TimeNs end_ns;
  size_t recorded;  // index into WatchedScheduler::steps()
};

// One run and its record.
struct Outcome {
  RandomCase random_case;
  std::unique_ptr<WatchedScheduler> scheduler;
  ToyTimer timer;
  SpanRecord record;
  SimulationResult result;
  std::vector<Step> steps;  // those that ran, from the spans
};

// Stops before round `most_rounds`.
void Simulate(RandomCase random_case, WorkloadSource* source, int64_t most_rounds, Outcome* run) {
  run->random_case = std::move(random_case);
  run->scheduler = std::make_unique<WatchedScheduler>(run->random_case.config);
  SimulationOptions options;
  options.prompt_limit = PromptLimit(run->random_case.config);
  options.interrupted = [most_rounds]() mutable { return most_rounds-- <= 0; };
  Simulator simulator(options, source, run->scheduler.get(), &run->timer, {&run->record});
  run->result = simulator.Run();
}

void SimulateCase(uint64_t seed, int64_t most_rounds, Outcome* run) {
  RandomCase c = MakeRandomCase(seed);
  for (size_t i = 0; i < c.requests.size(); ++i) {
    c.requests[i].arrival_ns *= kUnitNs;
    if (seed % 5 == 0 && i % 6 == 3) {  // to be rejected
      c.requests[i].prompt_tokens = PromptLimit(c.config) + static_cast<int32_t>(seed % 2);
      c.requests[i].prefix.clear();
    }
  }
  const auto source = MakeTraceSource(c.requests);
  Simulate(std::move(c), source.get(), most_rounds, run);
}

// Spans, expanded, are the steps; start and end times come out on the way.
void ExpandSpans(Outcome* run) {
  const std::vector<RecordedStep>& recorded = run->scheduler->steps();
  size_t next = 0;
  TimeNs before = 0;
  std::vector<int32_t> preempted;  // since the last step: a round of the loop may only preempt
  for (const StepSpan& span : run->record.spans) {
    ASSERT_EQ(span.first_step, static_cast<int64_t>(run->steps.size()));
    ASSERT_GE(span.start_ns, before);
    TimeNs now = span.start_ns;
    for (int32_t i = 0; i < span.num_steps; ++i) {
      for (; next < recorded.size(); ++next) {
        preempted.insert(preempted.end(), recorded[next].preempted.begin(),
                         recorded[next].preempted.end());
        if (!recorded[next].rows.empty()) break;
      }
      ASSERT_LT(next, recorded.size());
      const size_t step = run->steps.size();
      ASSERT_EQ(i == 0 ? span.preempted : std::vector<int32_t>{}, preempted) << "step " << step;
      preempted.clear();
      ASSERT_EQ(span.padded_m, run->timer.padded[step]);
      ASSERT_EQ(span.batch.padding_tokens, recorded[next].padding_tokens);
      std::vector<ScheduledRow> rows = span.batch.rows;
      for (ScheduledRow& row : rows) row.num_computed += i;
      ASSERT_TRUE(rows == recorded[next].rows) << "step " << step;
      run->steps.push_back({now, now + run->timer.durations[step], next++});
      now = run->steps.back().end_ns;
    }
    ASSERT_EQ(now, span.end_ns);
    before = span.end_ns;
  }
  EXPECT_EQ(static_cast<int64_t>(run->steps.size()), run->result.num_steps);
  EXPECT_EQ(run->timer.durations.size(), run->steps.size());
  EXPECT_EQ(run->result.end_ns, before);
}

// Who has arrived is known to the scheduler, and an engine with work never waits.
void CheckArrivals(const Outcome& run) {
  TimeNs before = 0;
  for (const Step& step : run.steps) {
    size_t arrived = 0;
    bool at_an_arrival = false;
    for (const Request& request : run.record.requests) {
      if (request.prompt_tokens >= PromptLimit(run.random_case.config)) continue;
      arrived += request.arrival_ns <= step.start_ns ? 1 : 0;
      at_an_arrival = at_an_arrival || request.arrival_ns == step.start_ns;
    }
    EXPECT_EQ(run.scheduler->steps()[step.recorded].num_added, arrived);
    EXPECT_TRUE(step.start_ns == before || at_an_arrival);
    before = step.end_ns;
  }
}

// Every time and count of the results, from the record of steps.
void CheckResults(const Outcome& run) {
  std::vector<RequestResult> expected;
  for (const Request& request : run.record.requests) {
    RequestResult& result = expected.emplace_back();
    result.arrival_ns = request.arrival_ns;
    if (request.prompt_tokens >= PromptLimit(run.random_case.config)) {
      result.status = RequestStatus::kRejected;
    }
  }
  std::map<TimeNs, int64_t> gaps;
  std::deque<Step> in_flight;
  size_t next = 0;
  for (size_t i = 0; i < run.scheduler->steps().size(); ++i) {
    const RecordedStep& recorded = run.scheduler->steps()[i];
    if (!recorded.rows.empty()) in_flight.push_back(run.steps[next++]);
    for (const ScheduledRow& row : recorded.rows) {
      RequestResult& result = expected[row.request];
      if (result.first_scheduled_ns != kNever) continue;
      result.first_scheduled_ns = in_flight.back().start_ns;
      result.cached_tokens = row.num_computed;
    }
    for (const int32_t request : recorded.preempted) ++expected[request].preemptions;
    if (!recorded.applied) continue;
    for (const int32_t request : recorded.got_token) {
      RequestResult& result = expected[request];
      const TimeNs when = in_flight.front().end_ns;
      if (result.output_tokens++ == 0) result.first_token_ns = when;
      if (result.output_tokens > 1) ++gaps[when - result.last_token_ns];
      result.last_token_ns = when;
    }
    for (const int32_t request : recorded.finished) {
      const bool whole = expected[request].output_tokens ==
                         WholeOutputs(run.record.requests[request], run.random_case.config);
      expected[request].status = whole ? RequestStatus::kFinished : RequestStatus::kModelLimit;
      expected[request].finish_ns = expected[request].last_token_ns;
    }
    in_flight.pop_front();
  }
  ASSERT_EQ(run.result.requests.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const RequestResult& ours = run.result.requests[i];
    EXPECT_EQ(ours.id, run.record.requests[i].id);
    EXPECT_EQ(ours.arrival_ns, expected[i].arrival_ns);
    EXPECT_EQ(ours.first_scheduled_ns, expected[i].first_scheduled_ns) << i;
    EXPECT_EQ(ours.first_token_ns, expected[i].first_token_ns) << i;
    EXPECT_EQ(ours.last_token_ns, expected[i].last_token_ns) << i;
    EXPECT_EQ(ours.finish_ns, expected[i].finish_ns) << i;
    EXPECT_EQ(ours.output_tokens, expected[i].output_tokens) << i;
    EXPECT_EQ(ours.preemptions, expected[i].preemptions) << i;
    EXPECT_EQ(ours.cached_tokens, expected[i].cached_tokens) << i;
    EXPECT_EQ(ours.status, expected[i].status) << i;
  }
  for (const TokenGap& gap : run.result.token_gaps) gaps[gap.gap_ns] -= gap.count;
  for (const auto& [gap_ns, count] : gaps) EXPECT_EQ(count, 0) << "gaps of " << gap_ns;
}

void CheckMetrics(Outcome* run) {
  const ServingMetrics metrics = ComputeMetrics(GoodputLimits{}, &run->result);
  EXPECT_EQ(metrics.finished + metrics.rejected + metrics.unfinished,
            static_cast<int64_t>(run->record.requests.size()));
  EXPECT_EQ(metrics.preemptions, run->result.num_preemptions);
  EXPECT_EQ(metrics.ttft.count, metrics.finished);
  EXPECT_LE(metrics.ttft.p50_ms, metrics.ttft.p90_ms);
  EXPECT_LE(metrics.ttft.p90_ms, metrics.ttft.p99_ms);
  EXPECT_LE(metrics.ttft.p99_ms, metrics.e2el.p99_ms);
  EXPECT_LE(metrics.queueing.p50_ms, metrics.ttft.p50_ms);
}

TEST(SimulatorProperties, TimesResultsAndSpansFollowTheSteps) {
  for (uint64_t seed = 0; seed < kNumCases; ++seed) {
    Outcome run;
    SimulateCase(seed, INT64_MAX, &run);
    EXPECT_EQ(run.scheduler->checker().breach(), "");
    ExpandSpans(&run);
    if (run.result.server_failure.has_value()) {  // all else is what was until then
      EXPECT_EQ(run.result.server_failure->step, run.result.num_steps);
      EXPECT_EQ(run.result.server_failure->reason, run.scheduler->failure());
    } else {
      run.scheduler->checker().AtEnd(*run.scheduler);
      EXPECT_EQ(run.scheduler->checker().breach(), "");
      EXPECT_EQ(run.record.requests.size(), run.random_case.requests.size());
    }
    CheckArrivals(run);
    CheckResults(run);
    CheckMetrics(&run);
    ASSERT_FALSE(HasFailure()) << Describe(run.random_case);
  }
}

TEST(SimulatorProperties, AnInterruptedRunIsABeginningOfTheWholeOne) {
  for (uint64_t seed = 0; seed < kNumCases / 5; ++seed) {
    Outcome whole;
    SimulateCase(seed, INT64_MAX, &whole);
    Outcome part;
    SimulateCase(seed, 5 + static_cast<int64_t>(seed % 11), &part);
    ExpandSpans(&whole);
    ExpandSpans(&part);
    CheckResults(part);
    CheckMetrics(&part);
    ASSERT_FALSE(HasFailure()) << Describe(part.random_case);
    ASSERT_LE(part.steps.size(), whole.steps.size());
    const std::vector<RecordedStep>& steps = whole.scheduler->steps();
    const size_t length = part.scheduler->steps().size();
    ASSERT_TRUE(std::equal(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(length),
                           part.scheduler->steps().begin()))
        << Describe(part.random_case);
  }
}

TEST(SimulatorProperties, AClosedLoopKeepsItsConcurrency) {
  for (uint64_t seed = 0; seed < kNumCases / 5; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    SyntheticWorkload workload;
    workload.arrivals.process = ArrivalProcess::kClosedLoop;
    workload.arrivals.concurrency = 1 + static_cast<int32_t>(seed % 7);
    workload.arrivals.think_time_s = static_cast<double>(seed % 3) * 1e-7;
    workload.prompt_len.distribution = LengthDistribution::kUniform;
    workload.prompt_len.max = std::min(c.config.max_model_len, 40);  // some are rejected
    workload.output_len.distribution = LengthDistribution::kUniform;
    workload.output_len.max = 12;
    workload.num_requests = 30;
    const auto source = MakeSyntheticSource(workload, seed);
    // Equal arrivals under priority could go on for ever, see NeedsDistinctArrivals.
    if (!c.config.scheduler_reserve_full_isl) c.config.priority = QueuePriority::kFcfs;
    Outcome run;
    Simulate(std::move(c), source.get(), INT64_MAX, &run);
    ExpandSpans(&run);
    CheckResults(run);
    EXPECT_EQ(run.scheduler->checker().breach(), "");
    if (run.result.server_failure.has_value()) continue;
    EXPECT_EQ(run.record.requests.size(), 30U);
    std::map<TimeNs, int32_t> change;
    for (const RequestResult& result : run.result.requests) {
      if (result.status == RequestStatus::kRejected) continue;
      ++change[result.arrival_ns];
      --change[result.finish_ns];
    }
    int32_t in_system = 0;
    for (const auto& [when, difference] : change) {
      in_system += difference;
      EXPECT_LE(in_system, workload.arrivals.concurrency) << "at " << when;
    }
    ASSERT_FALSE(HasFailure()) << Describe(run.random_case);
  }
}

}  // namespace
}  // namespace batchvar
