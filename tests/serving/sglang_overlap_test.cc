// sglang with overlap: a step is planned before the results of the one before are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/serving/sglang_scheduler.h"
#include "sim/serving/simulator.h"
#include "tests/serving/schedule_run.h"
#include "tests/serving/sglang_config.h"

namespace batchvar {
namespace {

SchedulerConfig Overlapped() {
  SchedulerConfig config = PlainSglang();
  config.sglang.disable_overlap_schedule = false;
  return config;
}

TEST(SglangOverlap, ResultsComeOneStepLate) {
  ScheduleRun run(Overlapped());
  run.Add(10, 3);
  EXPECT_EQ(run.Step(), "0:10@0L");
  EXPECT_FALSE(run.outputs().applied);
  EXPECT_EQ(run.Step(), "0:1@10D");
  EXPECT_EQ(run.NumTokens(0), 1);
  EXPECT_EQ(run.Step(), "0:1@11D");
  EXPECT_EQ(run.NumTokens(0), 2);
  EXPECT_EQ(run.Step(), "");  // its last token is in flight, and its limit is known
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_EQ(run.NumTokens(0), 3);
}

TEST(SglangOverlap, AStopTokenCostsARow) {
  SchedulerConfig config = Overlapped();
  config.output_ends_by = OutputEndsBy::kEos;
  ScheduleRun run(config);
  run.Add(10, 2);
  run.Steps(2);
  EXPECT_EQ(run.Step(), "0:1@11D");
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_EQ(run.NumTokens(0), 2);
  EXPECT_EQ(run.Step(), "");
  EXPECT_EQ(run.NumTokens(0), 2);
  EXPECT_FALSE(run.scheduler().HasStepInFlight());
}

TEST(SglangOverlap, WhatARetractedRequestHasInFlightIsLost) {
  SchedulerConfig config = Overlapped();
  config.sglang.max_total_tokens = 120;
  config.sglang.max_running_requests = 8;
  config.sglang.schedule_conservativeness = 0.01;
  ScheduleRun run(config);
  for (int i = 0; i < 2; ++i) run.Add(25, 40);
  int32_t had = 0;
  for (int i = 0; i < 60 && run.scheduler().preempted().empty(); ++i) {
    had = run.NumTokens(1);
    run.Step();
  }
  ASSERT_THAT(run.scheduler().preempted(), testing::ElementsAre(1));
  EXPECT_TRUE(run.outputs().applied);
  EXPECT_EQ(run.NumTokens(1), had);  // its row of the step before gave no token
  ASSERT_TRUE(run.StepToTheEnd());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run.NumTokens(i), 40) << i;
}

// What an engine has learnt of the lengths of outputs is forgotten when it idles.
TEST(SglangOverlap, AnIdleRoundResetsTheRatio) {
  SglangScheduler scheduler(Overlapped());
  Request request;
  request.prompt_tokens = 10;
  request.output_tokens = 50;
  const double first = scheduler.LookInside().new_token_ratio;
  scheduler.Add(request, 0);
  while (scheduler.HasUnfinished() || scheduler.HasStepInFlight()) {
    scheduler.Schedule();
    scheduler.ApplyOutputs();
  }
  EXPECT_LT(scheduler.LookInside().new_token_ratio, first);
  scheduler.Schedule();
  scheduler.ApplyOutputs();
  EXPECT_EQ(scheduler.LookInside().new_token_ratio, first);
}

}  // namespace
}  // namespace batchvar
