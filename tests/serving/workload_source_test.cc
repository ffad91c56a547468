#include "sim/serving/workload_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

namespace batchvar {
namespace {

SyntheticWorkload Workload(ArrivalProcess process, int64_t num_requests) {
  SyntheticWorkload workload;
  workload.arrivals.process = process;
  workload.arrivals.rate_per_s = 10;
  workload.prompt_len.distribution = LengthDistribution::kUniform;
  workload.prompt_len.max = 4096;
  workload.output_len.distribution = LengthDistribution::kLognormal;
  workload.output_len.mean = 200;
  workload.output_len.stddev = 150;
  workload.num_requests = num_requests;
  return workload;
}

// An open loop to its end.
std::vector<Request> Drain(WorkloadSource* source) {
  std::vector<Request> requests;
  while (!source->Exhausted()) {
    const TimeNs at = source->NextArrival().value();
    requests.push_back(source->Pop());
    EXPECT_EQ(requests.back().arrival_ns, at);
  }
  EXPECT_FALSE(source->NextArrival().has_value());
  return requests;
}

TEST(SyntheticSource, OpenLoopGivesEveryRequestOnce) {
  auto source = MakeSyntheticSource(Workload(ArrivalProcess::kPoisson, 500), 42);
  const std::vector<Request> requests = Drain(source.get());
  ASSERT_EQ(requests.size(), 500U);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].id.substr(1), std::to_string(i));
    EXPECT_GE(requests[i].prompt_tokens, 1);
    EXPECT_GE(requests[i].output_tokens, 1);
    EXPECT_TRUE(requests[i].prefix.empty());
    EXPECT_GE(requests[i].arrival_ns, requests[i > 0 ? i - 1 : 0].arrival_ns);
  }
}

TEST(SyntheticSource, AnswersDoNotMoveAnOpenLoop) {
  auto told = MakeSyntheticSource(Workload(ArrivalProcess::kGamma, 100), 42);
  auto untold = MakeSyntheticSource(Workload(ArrivalProcess::kGamma, 100), 42);
  for (int i = 0; i < 100; ++i) {
    told->OnFinished(1000 * i);
    EXPECT_EQ(told->Pop().arrival_ns, untold->Pop().arrival_ns);
  }
  EXPECT_TRUE(told->Exhausted());
}

TEST(SyntheticSource, LengthsDoNotDependOnTheArrivals) {
  auto poisson = MakeSyntheticSource(Workload(ArrivalProcess::kPoisson, 50), 42);
  auto at_once = MakeSyntheticSource(Workload(ArrivalProcess::kAllAtOnce, 50), 42);
  auto closed = Workload(ArrivalProcess::kClosedLoop, 50);
  closed.arrivals.concurrency = 50;
  auto loop = MakeSyntheticSource(closed, 42);
  for (int i = 0; i < 50; ++i) {
    const Request request = poisson->Pop();
    for (const Request& other : {at_once->Pop(), loop->Pop()}) {
      EXPECT_EQ(other.id, request.id);
      EXPECT_EQ(other.arrival_ns, 0);
      EXPECT_EQ(other.prompt_tokens, request.prompt_tokens);
      EXPECT_EQ(other.output_tokens, request.output_tokens);
    }
  }
}

TEST(SyntheticSource, EndsEarlyWithItsProcess) {
  SyntheticWorkload workload = Workload(ArrivalProcess::kPiecewise, 1000);
  workload.arrivals.rates = {{10, 5}, {1, 0}};
  auto source = MakeSyntheticSource(workload, 42);
  const size_t count = Drain(source.get()).size();
  EXPECT_GT(count, 20U);
  EXPECT_LT(count, 80U);
  workload.num_requests = 0;
  EXPECT_TRUE(MakeSyntheticSource(workload, 42)->Exhausted());
}

// A server that answers request i after 7 + i % 5 microseconds.
TEST(SyntheticSource, ClosedLoopKeepsItsConcurrency) {
  SyntheticWorkload workload = Workload(ArrivalProcess::kClosedLoop, 200);
  workload.arrivals.concurrency = 8;
  workload.arrivals.think_time_s = 2e-6;
  auto source = MakeSyntheticSource(workload, 42);
  std::priority_queue<TimeNs, std::vector<TimeNs>, std::greater<>> answers;
  std::multiset<TimeNs> may_arrive;
  std::set<std::string> ids;
  for (int i = 0; i < 8; ++i) may_arrive.insert(0);
  TimeNs last = 0;
  while (!source->Exhausted()) {
    const std::optional<TimeNs> next = source->NextArrival();
    if (next.has_value() && (answers.empty() || *next <= answers.top())) {
      const Request request = source->Pop();
      EXPECT_GE(request.arrival_ns, last);
      last = request.arrival_ns;
      EXPECT_TRUE(ids.insert(request.id).second);
      // Each arrival is one of the first 8 or one answer plus the think time.
      const auto cause = may_arrive.find(request.arrival_ns);
      ASSERT_NE(cause, may_arrive.end());
      may_arrive.erase(cause);
      answers.push(request.arrival_ns + 7000 + static_cast<TimeNs>(ids.size() % 5) * 1000);
      ASSERT_LE(answers.size(), 8U);
    } else {
      ASSERT_FALSE(answers.empty());
      may_arrive.insert(answers.top() + 2000);
      source->OnFinished(answers.top());
      answers.pop();
    }
  }
  EXPECT_EQ(ids.size(), 200U);
  EXPECT_FALSE(answers.empty());
  source->OnFinished(answers.top());  // the last answers ask for nothing more
  EXPECT_TRUE(source->Exhausted());
}

TEST(SyntheticSource, ClosedLoopPopsByTimeThenIssueOrder) {
  SyntheticWorkload workload = Workload(ArrivalProcess::kClosedLoop, 5);
  workload.arrivals.concurrency = 2;
  auto source = MakeSyntheticSource(workload, 42);
  EXPECT_EQ(source->Pop().id, "r0");
  EXPECT_EQ(source->Pop().id, "r1");
  EXPECT_FALSE(source->NextArrival().has_value());
  EXPECT_FALSE(source->Exhausted());
  source->OnFinished(900);
  source->OnFinished(500);
  source->OnFinished(500);
  EXPECT_EQ(source->NextArrival(), 500);
  EXPECT_EQ(source->Pop().id, "r3");
  EXPECT_EQ(source->Pop().id, "r4");
  EXPECT_EQ(source->Pop().id, "r2");
  EXPECT_TRUE(source->Exhausted());
}

TEST(SyntheticSource, ClosedLoopNeverIssuesMoreThanAsked) {
  SyntheticWorkload workload = Workload(ArrivalProcess::kClosedLoop, 3);
  workload.arrivals.concurrency = 10;
  auto source = MakeSyntheticSource(workload, 42);
  EXPECT_EQ(Drain(source.get()).size(), 3U);
}

TEST(TraceSource, ReplaysInOrder) {
  std::vector<Request> requests(3);
  requests[0].id = "a";
  requests[1].id = "b";
  requests[2].id = "c";
  requests[2].arrival_ns = 10;
  requests[2].prefix = {{7, 32}};
  auto source = MakeTraceSource(requests);
  source->OnFinished(5);
  const std::vector<Request> replayed = Drain(source.get());
  ASSERT_EQ(replayed.size(), 3U);
  EXPECT_EQ(replayed[0].id, "a");
  EXPECT_EQ(replayed[1].id, "b");
  EXPECT_EQ(replayed[2].prefix, requests[2].prefix);
  EXPECT_TRUE(MakeTraceSource({})->Exhausted());
}

TEST(WorkloadSourceDeathTest, MisuseIsChecked) {
  std::vector<Request> descending(2);
  descending[0].arrival_ns = 1;
  EXPECT_DEATH(MakeTraceSource(descending), "check failed");
  EXPECT_DEATH(MakeTraceSource({})->Pop(), "check failed");
  EXPECT_DEATH(MakeSyntheticSource(Workload(ArrivalProcess::kPoisson, 0), 1)->Pop(),
               "check failed");
}

}  // namespace
}  // namespace batchvar
