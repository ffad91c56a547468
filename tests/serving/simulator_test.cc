#include "sim/serving/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/serving/schedule_run.h"
#include "tests/serving/sglang_config.h"

namespace batchvar {
namespace {

using testing::ElementsAre;

// 10 ns a step and `per_token` for each token.
class FixedTimer final : public StepTimer {
 public:
  explicit FixedTimer(TimeNs per_token = 0) : per_token_(per_token) {}
  TimeNs DurationNs(const StepBatch& batch, int64_t* padded_m) override {
    *padded_m = batch.M() + 1;
    return 10 + per_token_ * batch.num_tokens;
  }

 private:
  TimeNs per_token_;
};

class EventLog final : public RunSink {
 public:
  void OnRequest(int32_t index, const Request& request) override {
    events.push_back("request " + std::to_string(index) + " " + request.id);
  }
  void OnSpan(const StepSpan& span) override {
    events.push_back("steps " + std::to_string(span.first_step) + " x" +
                     std::to_string(span.num_steps));
    spans.push_back(span);
  }
  std::vector<std::string> events;
  std::vector<StepSpan> spans;
};

Request At(TimeNs arrival_ns, int32_t prompt_tokens, int32_t output_tokens) {
  Request request;
  request.id = "at" + std::to_string(arrival_ns);
  request.arrival_ns = arrival_ns;
  request.prompt_tokens = prompt_tokens;
  request.output_tokens = output_tokens;
  return request;
}

SimulationResult Simulate(
    std::vector<Request> requests, SchedulerConfig config = PlainConfig(), TimeNs per_token = 0,
    EventLog* log = nullptr, std::function<bool()> interrupted = [] { return false; }) {
  const auto source = MakeTraceSource(std::move(requests));
  const auto scheduler = MakeScheduler(config);
  FixedTimer timer(per_token);
  SimulationOptions options;
  options.prompt_limit = PromptLimit(config);
  options.interrupted = std::move(interrupted);
  std::vector<RunSink*> sinks;
  if (log != nullptr) sinks.push_back(log);
  return Simulator(options, source.get(), scheduler.get(), &timer, sinks).Run();
}

TEST(Simulator, ATokenExistsFromTheEndOfItsStep) {
  const SimulationResult result = Simulate({At(100, 4, 3)});
  ASSERT_EQ(result.requests.size(), 1U);
  const RequestResult& request = result.requests[0];
  EXPECT_EQ(request.id, "at100");
  EXPECT_EQ(request.status, RequestStatus::kFinished);
  EXPECT_EQ(request.arrival_ns, 100);
  EXPECT_EQ(request.first_scheduled_ns, 100);
  EXPECT_EQ(request.first_token_ns, 110);
  EXPECT_EQ(request.last_token_ns, 130);
  EXPECT_EQ(request.finish_ns, 130);
  EXPECT_EQ(request.prompt_tokens, 4);
  EXPECT_EQ(request.output_tokens, 3);
  ASSERT_EQ(result.token_gaps.size(), 1U);
  EXPECT_EQ(result.token_gaps[0].gap_ns, 10);
  EXPECT_EQ(result.token_gaps[0].count, 2);
  EXPECT_EQ(result.num_steps, 3);
  EXPECT_EQ(result.num_tokens_scheduled, 6);
  EXPECT_EQ(result.peak_running, 1);
  EXPECT_EQ(result.end_ns, 130);
  EXPECT_FALSE(result.interrupted);
}

TEST(Simulator, AStepLastsAsLongAsItsTimerSays) {
  const SimulationResult result = Simulate({At(0, 100, 2)}, PlainConfig(), /*per_token=*/1);
  EXPECT_EQ(result.requests[0].first_token_ns, 110);
  EXPECT_EQ(result.requests[0].last_token_ns, 121);
}

TEST(Simulator, AnArrivalWaitsForTheEndOfTheStep) {
  const SimulationResult result = Simulate({At(0, 4, 5), At(5, 4, 1)});
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 10);
  EXPECT_EQ(result.requests[1].first_token_ns, 20);
}

TEST(Simulator, AnArrivalAtTheEndOfAStepJoinsTheNext) {
  const SimulationResult result = Simulate({At(0, 4, 5), At(10, 4, 1), At(11, 4, 1)});
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 10);
  EXPECT_EQ(result.requests[2].first_scheduled_ns, 20);
  EXPECT_EQ(result.peak_running, 2);
}

TEST(Simulator, AFinishedRequestMakesRoomForAnArrivalOfThatInstant) {
  SchedulerConfig config = PlainConfig();
  config.max_num_seqs = 1;
  const SimulationResult result = Simulate({At(0, 4, 1), At(10, 4, 1)}, config);
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 10);
}

TEST(Simulator, IdleTimeIsSkipped) {
  EventLog log;
  const SimulationResult result = Simulate({At(0, 4, 2), At(1000, 4, 2)}, PlainConfig(), 0, &log);
  EXPECT_EQ(result.num_steps, 4);
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 1000);
  EXPECT_EQ(result.end_ns, 1020);
  EXPECT_EQ(log.spans[2].start_ns, 1000);
}

TEST(Simulator, APromptThatReachesMaxModelLenIsRejected) {
  SchedulerConfig config = PlainConfig();
  config.max_model_len = 100;
  const SimulationResult result = Simulate({At(0, 100, 5), At(0, 99, 5), At(7, 300, 1)}, config);
  EXPECT_EQ(result.requests[0].status, RequestStatus::kRejected);
  EXPECT_EQ(result.requests[0].first_scheduled_ns, kNever);
  EXPECT_EQ(result.requests[0].finish_ns, kNever);
  EXPECT_EQ(result.requests[0].output_tokens, 0);
  EXPECT_EQ(result.requests[1].status, RequestStatus::kModelLimit);
  EXPECT_EQ(result.requests[1].output_tokens, 1);
  EXPECT_EQ(result.requests[2].status, RequestStatus::kRejected);
}

TEST(Simulator, NothingButRejections) {
  SchedulerConfig config = PlainConfig();
  config.max_model_len = 10;
  const SimulationResult result = Simulate({At(0, 10, 5), At(50, 11, 5)}, config);
  EXPECT_EQ(result.requests.size(), 2U);
  EXPECT_EQ(result.num_steps, 0);
}

TEST(Simulator, NoRequestsNoSteps) {
  const SimulationResult result = Simulate({});
  EXPECT_TRUE(result.requests.empty());
  EXPECT_EQ(result.num_steps, 0);
  EXPECT_EQ(result.end_ns, 0);
}

TEST(Simulator, AsyncTokensHaveTheTimeOfTheirOwnStep) {
  SchedulerConfig config = PlainConfig();
  config.async_scheduling = true;
  const SimulationResult result = Simulate({At(0, 4, 3)}, config);
  EXPECT_EQ(result.requests[0].first_token_ns, 10);
  EXPECT_EQ(result.requests[0].finish_ns, 30);
  EXPECT_EQ(result.num_steps, 4);  // and one wasted row after that
  EXPECT_EQ(result.end_ns, 40);
}

TEST(Simulator, AsyncFreesASlotOneStepLater) {
  SchedulerConfig config = PlainConfig();
  config.max_num_seqs = 1;
  config.async_scheduling = true;
  const SimulationResult result = Simulate({At(0, 4, 1), At(0, 4, 1)}, config);
  EXPECT_EQ(result.requests[0].finish_ns, 10);
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 20);
}

TEST(Simulator, CachedTokensAreThoseOfTheFirstAdmission) {
  SchedulerConfig config = PlainConfig();
  config.enable_prefix_caching = true;
  std::vector<Request> requests = {At(0, 40, 1), At(10, 40, 1)};
  for (Request& request : requests) request.prefix = {{7, 35}};
  const SimulationResult result = Simulate(requests, config);
  EXPECT_EQ(result.requests[0].cached_tokens, 0);
  EXPECT_EQ(result.requests[1].cached_tokens, 32);
  EXPECT_EQ(result.num_tokens_scheduled, 48);
}

TEST(Simulator, PreemptionsAreCountedPerRequest) {
  const SimulationResult result = Simulate({At(0, 10, 5), At(0, 8, 5)}, TightConfig(5));
  EXPECT_EQ(result.num_preemptions, 1);
  EXPECT_EQ(result.requests[0].preemptions, 0);
  EXPECT_EQ(result.requests[1].preemptions, 1);
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 0);  // a restart does not move it
  EXPECT_EQ(result.requests[1].output_tokens, 5);
}

TEST(Simulator, APreemptionOfAnEmptyRoundIsToldWithTheNextStep) {
  SchedulerConfig config = TightConfig(5);
  config.async_scheduling = true;
  config.output_ends_by = OutputEndsBy::kLength;
  EventLog log;
  const SimulationResult result = Simulate({At(0, 10, 1), At(0, 8, 3)}, config, 0, &log);
  EXPECT_EQ(result.num_preemptions, 1);
  ASSERT_GE(log.spans.size(), 2U);
  EXPECT_TRUE(log.spans[0].preempted.empty());
  EXPECT_THAT(log.spans[1].preempted, ElementsAre(1));
}

TEST(Simulator, SinksHearOfARequestBeforeItsSpans) {
  EventLog log;
  Simulate({At(0, 4, 4), At(25, 4, 2)}, PlainConfig(), 0, &log);
  EXPECT_THAT(log.events, ElementsAre("request 0 at0", "steps 0 x1", "request 1 at25", "steps 1 x2",
                                      "steps 3 x1", "steps 4 x1"));
  EXPECT_EQ(log.spans[1].padded_m, 2);  // as the timer said
}

TEST(Simulator, AnInterruptionLeavesAPartialResult) {
  int rounds = 0;
  EventLog log;
  const SimulationResult result = Simulate({At(0, 4, 10), At(0, 4, 2), At(1000, 4, 1)},
                                           PlainConfig(), 0, &log, [&] { return ++rounds > 4; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.num_steps, 4);
  EXPECT_EQ(result.end_ns, 40);
  ASSERT_EQ(result.requests.size(), 2U);  // the third had not arrived
  EXPECT_EQ(result.requests[0].status, RequestStatus::kUnfinished);
  EXPECT_EQ(result.requests[0].output_tokens, 4);
  EXPECT_EQ(result.requests[0].finish_ns, kNever);
  EXPECT_EQ(result.requests[1].status, RequestStatus::kFinished);
  EXPECT_EQ(log.events.back(), "steps 2 x2");  // the open span is told, too
}

SimulationResult SimulateClosedLoop(int32_t concurrency, double think_time_s, int64_t num_requests,
                                    int32_t prompt_tokens = 4) {
  SyntheticWorkload workload;
  workload.arrivals.process = ArrivalProcess::kClosedLoop;
  workload.arrivals.concurrency = concurrency;
  workload.arrivals.think_time_s = think_time_s;
  workload.prompt_len.fixed = prompt_tokens;
  workload.output_len.fixed = 2;
  workload.num_requests = num_requests;
  const auto source = MakeSyntheticSource(workload, 1);
  SchedulerConfig config = PlainConfig();
  config.max_model_len = 100;
  const auto scheduler = MakeScheduler(config);
  FixedTimer timer;
  SimulationOptions options;
  options.prompt_limit = PromptLimit(config);
  return Simulator(options, source.get(), scheduler.get(), &timer, {}).Run();
}

TEST(Simulator, AClosedLoopAsksAgainAfterItsThinkTime) {
  const SimulationResult result = SimulateClosedLoop(1, 5e-9, 3);
  ASSERT_EQ(result.requests.size(), 3U);
  EXPECT_EQ(result.requests[0].finish_ns, 20);
  EXPECT_EQ(result.requests[1].arrival_ns, 25);
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 25);
  EXPECT_EQ(result.requests[2].arrival_ns, 50);
}

TEST(Simulator, AClosedLoopWithoutThinkTimeKeepsTheBatchFull) {
  const SimulationResult result = SimulateClosedLoop(3, 0, 9);
  EXPECT_EQ(result.requests.size(), 9U);
  EXPECT_EQ(result.num_steps, 6);
  EXPECT_EQ(result.peak_running, 3);
}

TEST(Simulator, ARejectionIsAnAnswerToAClosedLoop) {
  const SimulationResult result = SimulateClosedLoop(2, 0, 5, /*prompt_tokens=*/100);
  EXPECT_EQ(result.requests.size(), 5U);
  for (const RequestResult& request : result.requests) {
    EXPECT_EQ(request.status, RequestStatus::kRejected);
  }
}

// Nobody can be admitted although nobody runs: a limit that fills the pool, and ends that the
// engine foresees. The real server hangs.
TEST(Simulator, AHangingServerIsAFailure) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_total_tokens = 60;
  config.sglang.max_running_requests = 8;
  config.sglang.disable_radix_cache = true;
  config.sglang.ignore_eos = true;
  const SimulationResult result = Simulate({At(0, 10, 5), At(100, 20, 100)}, config);
  ASSERT_TRUE(result.server_failure.has_value());
  EXPECT_EQ(result.server_failure->step, 5);
  EXPECT_EQ(result.server_failure->at_ns, 100);
  EXPECT_NE(
      result.server_failure->Words().find("at step 5 (0.000000100 s): requests wait for ever"),
      std::string::npos);
  EXPECT_EQ(result.requests[0].status, RequestStatus::kFinished);
  EXPECT_EQ(result.requests[1].status, RequestStatus::kUnfinished);
}

TEST(Simulator, ADeadServerLeavesWhatWasUntilThen) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_total_tokens = 1440;
  config.sglang.chunked_prefill_size = 64;
  config.sglang.enable_mixed_chunk = true;
  config.sglang.schedule_conservativeness = 0.03;
  std::vector<Request> requests(20, At(0, 16, 60));
  requests.push_back(At(0, 800, 10));
  EventLog log;
  const SimulationResult result = Simulate(requests, config, 0, &log);
  ASSERT_TRUE(result.server_failure.has_value());
  EXPECT_EQ(result.server_failure->step, result.num_steps);
  EXPECT_EQ(result.server_failure->at_ns, result.end_ns);
  EXPECT_GT(result.num_steps, 10);
  EXPECT_GT(result.requests[0].output_tokens, 10);
  EXPECT_EQ(log.spans.back().end_ns, result.end_ns);
}

// Between two requests the engine turns its loop once with nothing to do; without time between them
// it does not.
TEST(Simulator, AnIdleEngineTurnsItsLoop) {
  const auto turns = [](TimeNs second) {
    const auto source = MakeTraceSource({At(0, 4, 2), At(second, 4, 1)});
    const auto scheduler = MakeScheduler(PlainConfig());
    FixedTimer timer;
    int rounds = 0;
    SimulationOptions options;
    options.prompt_limit = 4096;
    options.progress = [&](int64_t, TimeNs) { ++rounds; };
    Simulator(options, source.get(), scheduler.get(), &timer, {}).Run();
    return rounds;
  };
  EXPECT_EQ(turns(20), 3);
  EXPECT_EQ(turns(21), 4);
}

TEST(Simulator, ProgressIsToldOnceARound) {
  const auto source = MakeTraceSource({At(0, 4, 2), At(0, 4, 1)});
  const auto scheduler = MakeScheduler(PlainConfig());
  FixedTimer timer;
  std::vector<std::pair<int64_t, TimeNs>> told;
  SimulationOptions options;
  options.prompt_limit = 4096;
  options.progress = [&](int64_t done, TimeNs now) { told.emplace_back(done, now); };
  Simulator(options, source.get(), scheduler.get(), &timer, {}).Run();
  EXPECT_THAT(told, ElementsAre(std::pair(1, 10), std::pair(2, 20)));
}

TEST(Simulator, StaticBatchesMakeArrivalsWait) {
  SchedulerConfig config = PlainConfig();
  config.policy = SchedulerPolicy::kStatic;
  const SimulationResult result = Simulate({At(0, 4, 5), At(5, 4, 1)}, config);
  EXPECT_EQ(result.requests[1].first_scheduled_ns, 50);
  config.policy = SchedulerPolicy::kOrca;
  EXPECT_EQ(Simulate({At(0, 4, 5), At(5, 4, 1)}, config).requests[1].first_scheduled_ns, 10);
}

}  // namespace
}  // namespace batchvar
