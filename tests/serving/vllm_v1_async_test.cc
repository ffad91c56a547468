// Asynchronous scheduling: step k + 1 is scheduled before the outputs of step k are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serving/schedule_run.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SchedulerConfig AsyncConfig(OutputEndsBy ends_by) {
  SchedulerConfig config = PlainConfig();
  config.async_scheduling = true;
  config.output_ends_by = ends_by;
  return config;
}

TEST(VllmV1Async, OutputsComeOneStepLate) {
  ScheduleRun run(AsyncConfig(OutputEndsBy::kLength));
  run.Add(30, 3);
  EXPECT_EQ(run.Step(), "0:30@0L");
  EXPECT_FALSE(run.outputs().applied);
  EXPECT_EQ(run.Step(), "0:1@30D");  // of a token that is not known yet
  EXPECT_TRUE(run.outputs().applied);
  EXPECT_THAT(run.outputs().got_token, ElementsAre(0));
  EXPECT_TRUE(run.scheduler().HasStepInFlight());
}

TEST(VllmV1Async, AForeseenEndWastesNoRow) {
  ScheduleRun run(AsyncConfig(OutputEndsBy::kLength));
  run.Add(30, 2);
  EXPECT_EQ(run.Step(), "0:30@0L");
  EXPECT_EQ(run.Step(), "0:1@30D");
  EXPECT_EQ(run.Step(), "");  // its last token is in flight
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_EQ(run.NumTokens(0), 2);
  EXPECT_FALSE(run.scheduler().HasStepInFlight());
}

TEST(VllmV1Async, AStopTokenWastesOneRow) {
  ScheduleRun run(AsyncConfig(OutputEndsBy::kEos));
  run.Add(30, 2);
  EXPECT_EQ(run.Step(), "0:30@0L");
  EXPECT_EQ(run.Step(), "0:1@30D");
  EXPECT_EQ(run.Step(), "0:1@31D");  // behind its end, which becomes known only now
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_FALSE(run.scheduler().HasUnfinished());
  EXPECT_TRUE(run.scheduler().HasStepInFlight());
  EXPECT_EQ(run.Step(), "");
  EXPECT_TRUE(run.outputs().applied);
  EXPECT_THAT(run.outputs().got_token, IsEmpty());
  EXPECT_EQ(run.NumTokens(0), 2);
  EXPECT_FALSE(run.scheduler().HasStepInFlight());
}

TEST(VllmV1Async, MaxTokensOfTheRequestIsForeseen) {
  SchedulerConfig config = AsyncConfig(OutputEndsBy::kEos);
  const auto scheduler = MakeScheduler(config);
  Request request;
  request.id = "x";
  request.prompt_tokens = 30;
  request.output_tokens = request.max_tokens = 2;
  scheduler->Add(request, 0);
  int64_t tokens = 0;
  while (scheduler->HasUnfinished() || scheduler->HasStepInFlight()) {
    tokens += scheduler->Schedule().num_tokens;
    scheduler->ApplyOutputs();
  }
  EXPECT_EQ(tokens, 31);
}

TEST(VllmV1Async, OneTokenOutputs) {
  ScheduleRun by_length(AsyncConfig(OutputEndsBy::kLength));
  by_length.Add(30, 1);
  EXPECT_EQ(by_length.Step(), "0:30@0L");
  EXPECT_EQ(by_length.Step(), "");
  EXPECT_TRUE(by_length.IsFinished(0));
  ScheduleRun by_stop(AsyncConfig(OutputEndsBy::kEos));
  by_stop.Add(30, 1);
  EXPECT_EQ(by_stop.Step(), "0:30@0L");
  EXPECT_EQ(by_stop.Step(), "0:1@30D");
  EXPECT_TRUE(by_stop.IsFinished(0));
}

TEST(VllmV1Async, MaxModelLenIsForeseen) {
  for (const OutputEndsBy ends_by : {OutputEndsBy::kEos, OutputEndsBy::kLength}) {
    SchedulerConfig config = AsyncConfig(ends_by);
    config.max_model_len = 33;
    ScheduleRun run(config);
    run.Add(30, 100);
    EXPECT_EQ(run.Step(), "0:30@0L");
    EXPECT_EQ(run.Step(), "0:1@30D");
    EXPECT_EQ(run.Step(), "0:1@31D");
    EXPECT_EQ(run.Step(), "");
    EXPECT_EQ(run.ReasonOf(0), FinishReason::kModelLimit);
    EXPECT_EQ(run.NumTokens(0), 3);
  }
}

TEST(VllmV1Async, ASlotIsFreeOneStepLater) {
  for (const bool async : {false, true}) {
    SchedulerConfig config = AsyncConfig(OutputEndsBy::kEos);
    config.async_scheduling = async;
    config.max_num_seqs = 1;
    ScheduleRun run(config);
    run.Add(30, 1);
    run.Add(20, 1);
    EXPECT_EQ(run.Step(), "0:30@0L");
    EXPECT_EQ(run.Step(), async ? "0:1@30D" : "1:20@0L");
    EXPECT_EQ(run.Step(), async ? "1:20@0L" : "");
  }
}

TEST(VllmV1Async, ChunksHaveNothingInFlightButTokens) {
  SchedulerConfig config = AsyncConfig(OutputEndsBy::kLength);
  config.max_num_batched_tokens = 20;
  ScheduleRun run(config);
  run.Add(50, 2);
  EXPECT_EQ(run.Step(), "0:20@0C");
  EXPECT_EQ(run.Step(), "0:20@20C");
  EXPECT_EQ(run.Step(), "0:10@40L");
  EXPECT_THAT(run.outputs().got_token, IsEmpty());
  EXPECT_EQ(run.Step(), "0:1@50D");
  EXPECT_THAT(run.outputs().got_token, ElementsAre(0));
}

TEST(VllmV1Async, ATokenInFlightSurvivesAPreemption) {
  SchedulerConfig config = TightConfig(5);
  config.async_scheduling = true;
  ScheduleRun run(config);
  run.Add(10, 3);
  run.Add(8, 9);
  EXPECT_EQ(run.Step(), "0:10@0L 1:8@0L");
  EXPECT_EQ(run.Step(), "0:1@10D preempted 1");
  EXPECT_EQ(run.NumTokens(1), 1);
  EXPECT_EQ(run.scheduler().num_waiting(), 1);
  ASSERT_TRUE(run.StepToTheEnd());
  EXPECT_EQ(run.NumTokens(1), 9);
}

TEST(VllmV1Async, APreemptedRequestMayEndWhileItWaits) {
  SchedulerConfig config = TightConfig(5);
  config.async_scheduling = true;
  ScheduleRun run(config);
  run.Add(10, 3);
  run.Add(8, 1);  // its only token is in flight when it is preempted
  run.Step();
  EXPECT_EQ(run.Step(), "0:1@10D preempted 1");
  EXPECT_TRUE(run.IsFinished(1));
  EXPECT_EQ(run.scheduler().num_waiting(), 0);
  EXPECT_EQ(run.scheduler().num_free_blocks(), 2);
}

// Known tokens fill blocks, so the last output makes its block findable just before it is freed.
TEST(VllmV1Async, TheLastOutputStillRegistersItsBlock) {
  SchedulerConfig config = TightConfig(3);
  config.max_model_len = 12;
  config.async_scheduling = true;
  config.enable_prefix_caching = true;
  config.output_ends_by = OutputEndsBy::kLength;
  ScheduleRun run(config);
  run.Add(6, 3);  // computes 8 tokens: blocks 1 and 2
  ASSERT_TRUE(run.StepToTheEnd());
  run.Add(1, 1);
  run.Step();
  EXPECT_THAT(run.Table(1), ElementsAre(3));  // 2 went to the tail of the free list
}

// A round may do nothing but preempt.
TEST(VllmV1Async, TheOnlyOneThatCouldRunPreemptsItself) {
  SchedulerConfig config = TightConfig(5);
  config.async_scheduling = true;
  config.output_ends_by = OutputEndsBy::kLength;
  ScheduleRun run(config);
  run.Add(10, 1);
  run.Add(8, 3);
  EXPECT_EQ(run.Step(), "0:10@0L 1:8@0L");
  EXPECT_EQ(run.Step(), "preempted 1");  // 0 only waits for its last token, but holds 3 blocks
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_EQ(run.Step(), "1:9@0L");
}

}  // namespace
}  // namespace batchvar
