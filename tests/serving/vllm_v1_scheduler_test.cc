// Who gets how many tokens, without pressure on memory. Golden schedules of the real scheduler are
// in tests/golden; these tests name the rules.
#include "sim/serving/vllm_v1_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/serving/schedule_run.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(VllmV1, WholePromptsShareAStepThenDecodeTogether) {
  ScheduleRun run(PlainConfig());
  run.Add(30, 2);
  run.Add(20, 3);
  EXPECT_EQ(run.Step(), "0:30@0L 1:20@0L");
  EXPECT_THAT(run.outputs().got_token, ElementsAre(0, 1));
  EXPECT_EQ(run.batch().num_tokens, 50);
  EXPECT_EQ(run.Step(), "0:1@30D 1:1@20D");
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_EQ(run.Step(), "1:1@21D");
  EXPECT_TRUE(run.IsFinished(1));
  EXPECT_EQ(run.Step(), "");
  EXPECT_FALSE(run.outputs().applied);
  EXPECT_FALSE(run.scheduler().HasUnfinished());
}

TEST(VllmV1, RunningGoesBeforeWaiting) {
  ScheduleRun run(PlainConfig());
  run.Add(30, 5);
  run.Step();
  run.Add(20, 5);
  EXPECT_EQ(run.Step(), "0:1@30D 1:20@0L");
}

TEST(VllmV1, BudgetCutsTheLastPrompt) {
  SchedulerConfig config = PlainConfig();
  config.max_num_batched_tokens = 50;
  ScheduleRun run(config);
  run.Add(30, 5);
  run.Add(40, 5);
  run.Add(10, 5);
  EXPECT_EQ(run.Step(), "0:30@0L 1:20@0C");
  EXPECT_THAT(run.outputs().got_token, ElementsAre(0));  // a chunk samples nothing
  EXPECT_EQ(run.Step(), "0:1@30D 1:20@20L 2:10@0L");
}

TEST(VllmV1, ACutMayLeaveASingleToken) {
  SchedulerConfig config = PlainConfig();
  config.max_num_batched_tokens = 50;
  ScheduleRun run(config);
  run.Add(51, 2);
  EXPECT_EQ(run.Step(), "0:50@0C");
  EXPECT_EQ(run.Step(), "0:1@50L");  // not a decode: the token is the prompt's
  EXPECT_EQ(run.Step(), "0:1@51D");
}

TEST(VllmV1, RunningRequestsBeyondTheBudgetWait) {
  SchedulerConfig config = PlainConfig();
  config.max_num_batched_tokens = 2;
  ScheduleRun run(config);
  for (int i = 0; i < 3; ++i) run.Add(1, 2);
  EXPECT_EQ(run.Step(), "0:1@0L 1:1@0L");
  EXPECT_EQ(run.Step(), "0:1@1D 1:1@1D");
  EXPECT_EQ(run.Step(), "2:1@0L");
}

TEST(VllmV1, MaxNumSeqsCountsRunningRequests) {
  SchedulerConfig config = PlainConfig();
  config.max_num_seqs = 2;
  ScheduleRun run(config);
  run.Add(5, 3);
  run.Add(5, 1);
  run.Add(5, 1);
  EXPECT_EQ(run.Step(), "0:5@0L 1:5@0L");
  EXPECT_EQ(run.Step(), "0:1@5D 2:5@0L");
  EXPECT_EQ(run.scheduler().num_running(), 1);
}

// The same prompt among 0, 5, 20 and 60 decodes: every cut moves with the neighbours.
std::vector<int32_t> CutsOfLongPrompt(int neighbours, SchedulerConfig config = PlainConfig()) {
  ScheduleRun run(config);
  for (int i = 0; i < neighbours; ++i) run.Add(4, 100);
  if (neighbours > 0) run.Step();
  run.Add(3000, 1);
  std::vector<int32_t> cuts;
  while (!run.IsFinished(neighbours)) {
    run.Step();
    cuts.push_back(run.TokensOf(neighbours));
  }
  return cuts;
}

TEST(VllmV1, NeighboursMoveEveryCutOfALongPrompt) {
  SchedulerConfig config = PlainConfig();
  config.max_num_batched_tokens = 512;
  EXPECT_THAT(CutsOfLongPrompt(0, config), ElementsAre(512, 512, 512, 512, 512, 440));
  EXPECT_THAT(CutsOfLongPrompt(5, config), ElementsAre(507, 507, 507, 507, 507, 465));
  EXPECT_THAT(CutsOfLongPrompt(20, config), ElementsAre(492, 492, 492, 492, 492, 492, 48));
  EXPECT_THAT(CutsOfLongPrompt(60, config), ElementsAre(452, 452, 452, 452, 452, 452, 288));
}

TEST(VllmV1, ALargerBudgetCutsLessOften) {
  EXPECT_THAT(CutsOfLongPrompt(0), ElementsAre(2048, 952));
  EXPECT_THAT(CutsOfLongPrompt(20), ElementsAre(2028, 972));
}

TEST(VllmV1, ThresholdCapsChunksButNeverALoneRequest) {
  SchedulerConfig config = PlainConfig();
  config.long_prefill_token_threshold = 256;
  std::vector<int32_t> capped(11, 256);
  capped.push_back(184);
  EXPECT_EQ(CutsOfLongPrompt(20, config), capped);
  EXPECT_THAT(CutsOfLongPrompt(0, config), ElementsAre(2048, 952));
}

TEST(VllmV1, ThresholdLetsSeveralPromptsBePartlyDone) {
  SchedulerConfig config = PlainConfig();
  config.long_prefill_token_threshold = 100;
  ScheduleRun run(config);
  run.Add(250, 1);
  run.Add(90, 2);
  run.Add(150, 1);
  EXPECT_EQ(run.Step(), "0:100@0C 1:90@0L 2:100@0C");
  EXPECT_EQ(run.Step(), "0:100@100C 1:1@90D 2:50@100L");
  EXPECT_EQ(run.Step(), "0:50@200L");
}

TEST(VllmV1, AWaitingRequestCountsAgainstBeingAlone) {
  SchedulerConfig config = PlainConfig();
  config.long_prefill_token_threshold = 100;
  config.max_num_seqs = 1;
  ScheduleRun run(config);
  run.Add(250, 1);
  run.Add(90, 1);
  EXPECT_EQ(run.Step(), "0:100@0C");
}

TEST(VllmV1, AdaptiveThresholdSharesTheBudget) {
  SchedulerConfig config = PlainConfig();
  config.long_prefill_token_threshold = 100;
  config.long_prefill_token_threshold_adaptive = true;
  ScheduleRun run(config);
  for (int i = 0; i < 3; ++i) run.Add(1000, 1);
  EXPECT_EQ(run.Step(), "0:682@0C 1:682@0C 2:682@0C");  // 2048 / 3
  EXPECT_EQ(run.Step(), "0:318@682L 1:318@682L 2:318@682L");
}

TEST(VllmV1, AdaptiveThresholdIsNeverBelowTheFixedOne) {
  SchedulerConfig config = PlainConfig();
  config.long_prefill_token_threshold = 900;
  config.long_prefill_token_threshold_adaptive = true;
  ScheduleRun run(config);
  for (int i = 0; i < 3; ++i) run.Add(1000, 1);
  EXPECT_EQ(run.Step(), "0:900@0C 1:900@0C 2:248@0C");
}

TEST(VllmV1, WithoutChunkedPrefillALongHeadBlocksTheQueue) {
  SchedulerConfig config = PlainConfig();
  config.max_num_batched_tokens = 4096;
  config.enable_chunked_prefill = false;
  ScheduleRun run(config);
  run.Add(3000, 5);
  run.Add(2000, 5);
  run.Add(10, 5);
  EXPECT_EQ(run.Step(), "0:3000@0L");  // 1,096 tokens stay unused; nobody looks past the head
  EXPECT_EQ(run.Step(), "0:1@3000D 1:2000@0L 2:10@0L");
}

TEST(VllmV1, ThresholdCutsEvenWithoutChunkedPrefill) {
  SchedulerConfig config = PlainConfig();
  config.max_num_batched_tokens = 4096;
  config.enable_chunked_prefill = false;
  config.long_prefill_token_threshold = 1000;
  ScheduleRun run(config);
  run.Add(1500, 1);
  run.Add(10, 1);
  EXPECT_EQ(run.Step(), "0:1000@0C 1:10@0L");
  EXPECT_EQ(run.Step(), "0:500@1000L");
}

TEST(VllmV1, OneTokenOutputsNeverDecode) {
  ScheduleRun run(PlainConfig());
  run.Add(30, 1);
  run.Add(20, 1);
  EXPECT_EQ(run.Step(), "0:30@0L 1:20@0L");
  EXPECT_TRUE(run.IsFinished(0) && run.IsFinished(1));
  EXPECT_EQ(run.scheduler().num_free_blocks(), PlainConfig().num_gpu_blocks - 1);
  EXPECT_EQ(run.Step(), "");
}

TEST(VllmV1, ARequestEndsAtMaxModelLen) {
  SchedulerConfig config = PlainConfig();
  config.max_model_len = 34;
  ScheduleRun run(config);
  run.Add(30, 100);
  run.Add(30, 4);  // gets there with its own last token
  ASSERT_TRUE(run.StepToTheEnd());
  EXPECT_EQ(run.NumTokens(0), 4);
  EXPECT_EQ(run.ReasonOf(0), FinishReason::kModelLimit);
  EXPECT_EQ(run.NumTokens(1), 4);
  EXPECT_EQ(run.ReasonOf(1), FinishReason::kStop);
}

TEST(VllmV1, FinishedInBatchOrder) {
  ScheduleRun run(PlainConfig());
  for (const int32_t outputs : {2, 1, 2, 1}) run.Add(5, outputs);
  run.Step();
  EXPECT_EQ(run.outputs().finished[0].request, 1);
  EXPECT_EQ(run.outputs().finished[1].request, 3);
  EXPECT_EQ(run.Step(), "0:1@5D 2:1@5D");
  EXPECT_EQ(run.outputs().finished.size(), 2U);
}

TEST(VllmV1, PriorityDecidesWhoIsAdmitted) {
  SchedulerConfig config = PlainConfig();
  config.priority = QueuePriority::kPriority;
  config.max_num_seqs = 2;
  ScheduleRun run(config);
  run.Add(5, 1, /*priority=*/3);
  run.Add(5, 1, /*priority=*/1);
  run.Add(5, 1, /*priority=*/2);
  EXPECT_EQ(run.Step(), "1:5@0L 2:5@0L");
  EXPECT_EQ(run.Step(), "0:5@0L");
}

TEST(VllmV1, FcfsDoesNotLookAtPriorities) {
  ScheduleRun run(PlainConfig());
  run.Add(5, 1, /*priority=*/3);
  run.Add(5, 1, /*priority=*/1);
  EXPECT_EQ(run.Step(), "0:5@0L 1:5@0L");
}

TEST(VllmV1, AnEmptySchedulerSchedulesNothing) {
  ScheduleRun run(PlainConfig());
  EXPECT_EQ(run.Step(), "");
  EXPECT_THAT(run.batch().rows, IsEmpty());
  EXPECT_FALSE(run.scheduler().HasStepInFlight());
}

TEST(VllmV1DeathTest, AddRefusesWhatCannotRun) {
  SchedulerConfig config = PlainConfig();
  config.max_model_len = 10;
  ScheduleRun run(config);
  EXPECT_DEATH(run.Add(10, 1), "check failed");
  EXPECT_DEATH(run.Add(5, 0), "check failed");
}

}  // namespace
}  // namespace batchvar
