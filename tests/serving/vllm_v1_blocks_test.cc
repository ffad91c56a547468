// vllm_v1 under pressure: blocks, admission, preemption, prefix caching.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sim/serving/vllm_v1_scheduler.h"
#include "tests/serving/schedule_run.h"

namespace batchvar {
namespace {

using testing::ElementsAre;

TEST(VllmV1Blocks, BlocksFollowTheTokens) {
  ScheduleRun run(TightConfig(20));
  run.Add(10, 10);
  run.Step();
  EXPECT_THAT(run.Table(0), ElementsAre(1, 2, 3));
  run.Steps(2);  // tokens 11 and 12
  EXPECT_EQ(run.scheduler().num_free_blocks(), 17);
  run.Step();
  EXPECT_THAT(run.Table(0), ElementsAre(1, 2, 3, 4));
}

TEST(VllmV1Blocks, AChunkTakesItsOwnBlocksOnly) {
  SchedulerConfig config = TightConfig(20);
  config.max_num_batched_tokens = 6;
  ScheduleRun run(config);
  run.Add(17, 2);
  EXPECT_EQ(run.Step(), "0:6@0C");
  EXPECT_EQ(run.scheduler().num_free_blocks(), 18);
  EXPECT_EQ(run.Step(), "0:6@6C");
  EXPECT_EQ(run.scheduler().num_free_blocks(), 17);
}

TEST(VllmV1Blocks, BlocksAreFreeWhenARequestEnds) {
  ScheduleRun run(TightConfig(20));
  run.Add(10, 2);
  run.Steps(2);
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_EQ(run.scheduler().num_free_blocks(), 20);
}

// 2 of 5 blocks are held; a prompt of 4 blocks comes, of which the budget allows 2.
TEST(VllmV1Blocks, ReserveFullIslWantsRoomForTheWholePrompt) {
  for (const bool reserve : {true, false}) {
    SchedulerConfig config = TightConfig(5);
    config.max_num_batched_tokens = 8;
    config.scheduler_reserve_full_isl = reserve;
    ScheduleRun run(config);
    run.Add(7, 5);
    run.Step();
    run.Add(16, 1);
    EXPECT_EQ(run.Step(), reserve ? "0:1@7D" : "0:1@7D 1:7@0C");
  }
}

TEST(VllmV1Blocks, ReserveChecksButDoesNotHold) {
  SchedulerConfig config = TightConfig(8);
  config.max_num_batched_tokens = 8;
  ScheduleRun run(config);
  run.Add(24, 1);
  EXPECT_EQ(run.Step(), "0:8@0C");
  EXPECT_EQ(run.scheduler().num_free_blocks(), 6);  // 4 of them would be the prompt's
}

TEST(VllmV1Blocks, TheHeadOfTheQueueBlocksTheRest) {
  ScheduleRun run(TightConfig(5));
  run.Add(8, 5);
  run.Add(16, 1);
  run.Add(4, 1);  // would fit
  EXPECT_EQ(run.Step(), "0:8@0L");
}

TEST(VllmV1Blocks, WatermarkCountsOnlyWhileSomethingRuns) {
  SchedulerConfig config = TightConfig(10);
  config.watermark = 0.5;  // of 11 blocks: 5
  ScheduleRun run(config);
  run.Add(21, 2);  // 6 of 10
  run.Add(4, 1);
  EXPECT_EQ(run.Step(), "0:21@0L");
  EXPECT_EQ(run.Step(), "0:1@21D");
  EXPECT_EQ(run.Step(), "1:4@0L");
}

TEST(VllmV1Blocks, FcfsPreemptsTheLastOne) {
  ScheduleRun run(TightConfig(6));
  run.Add(8, 6);
  run.Add(8, 20);
  run.Steps(5);  // 12 tokens and 3 blocks each
  run.Add(1, 1);
  EXPECT_EQ(run.Step(), "0:1@12D preempted 1");  // nobody is admitted in such a step
  EXPECT_TRUE(run.IsFinished(0));
  EXPECT_EQ(run.NumTokens(1), 5);
  EXPECT_EQ(run.Step(), "1:13@0L 2:1@0L");  // all its tokens again, and its next one
  EXPECT_EQ(run.NumTokens(1), 6);
}

TEST(VllmV1Blocks, APreemptedRequestGoesToTheFrontOfTheQueue) {
  ScheduleRun run(TightConfig(6));
  run.Add(8, 8);
  run.Add(8, 20);
  run.Steps(5);
  run.Add(1, 1);
  EXPECT_EQ(run.Step(), "0:1@12D preempted 1");
  EXPECT_EQ(run.Step(), "0:1@13D");  // it needs 4 blocks of 2; the one-token prompt waits behind
  EXPECT_EQ(run.scheduler().num_waiting(), 2);
}

TEST(VllmV1Blocks, TheLastOnePreemptsItself) {
  ScheduleRun run(TightConfig(5));
  run.Add(10, 5);
  run.Add(8, 5);
  EXPECT_EQ(run.Step(), "0:10@0L 1:8@0L");
  EXPECT_EQ(run.Step(), "0:1@10D preempted 1");
}

TEST(VllmV1Blocks, SeveralVictimsComeBackInTheirOldOrder) {
  SchedulerConfig config = TightConfig(6);
  config.max_num_batched_tokens = 24;
  config.long_prefill_token_threshold = 8;
  config.scheduler_reserve_full_isl = false;
  ScheduleRun run(config);
  run.Add(24, 1);
  for (int i = 0; i < 4; ++i) run.Add(4, 5);
  EXPECT_EQ(run.Step(), "0:8@0C 1:4@0L 2:4@0L 3:4@0L 4:4@0L");
  EXPECT_EQ(run.Step(), "0:8@8C 1:1@4D preempted 4 3 2");
  EXPECT_EQ(run.Step(), "0:8@16L preempted 1");
  EXPECT_EQ(run.Step(), "1:6@0L 2:5@0L 3:5@0L");
}

SchedulerConfig PriorityConfig(int32_t usable) {
  SchedulerConfig config = TightConfig(usable);
  config.priority = QueuePriority::kPriority;
  return config;
}

TEST(VllmV1Blocks, PriorityPreemptsTheWorstEvenIfItWasScheduled) {
  ScheduleRun run(PriorityConfig(4));
  run.Add(4, 9, /*priority=*/1);
  run.Step();
  run.Add(8, 9, /*priority=*/0);
  EXPECT_EQ(run.Step(), "0:1@4D 1:8@0L");
  EXPECT_EQ(run.Step(), "1:1@8D preempted 0");  // its row left the batch again
  EXPECT_EQ(run.batch().num_tokens, 1);
  EXPECT_THAT(run.outputs().got_token, ElementsAre(1));
}

TEST(VllmV1Blocks, NobodyIsAdmittedInAStepWithAPreemption) {
  ScheduleRun run(PriorityConfig(4));
  run.Add(4, 9, /*priority=*/1);
  run.Step();
  run.Add(8, 9, /*priority=*/0);
  run.Step();
  run.Add(1, 1, /*priority=*/0);
  EXPECT_EQ(run.Step(), "1:1@8D preempted 0");  // a block is free now
  EXPECT_EQ(run.Step(), "1:1@9D 2:1@0L");
}

TEST(VllmV1Blocks, TokensOfAScheduledVictimAreRefunded) {
  SchedulerConfig config = PriorityConfig(9);
  config.max_num_batched_tokens = 12;
  config.long_prefill_token_threshold = 6;
  config.scheduler_reserve_full_isl = false;
  ScheduleRun run(config);
  run.Add(4, 20, /*priority=*/1);
  run.Step();
  run.Add(40, 1, /*priority=*/0);
  run.Add(40, 1, /*priority=*/0);
  EXPECT_EQ(run.Step(), "0:1@4D 1:6@0C 2:5@0C");
  EXPECT_EQ(run.Step(), "0:1@5D 1:6@6C 2:5@5C");
  EXPECT_EQ(run.Step(), "1:6@12C 2:6@10C preempted 0");  // 2 has the token that 0 gave back
}

TEST(VllmV1Blocks, AVictimBehindTheCursorOfPriorityIsNotRefunded) {
  ScheduleRun run(PriorityConfig(4));
  run.Add(8, 9, /*priority=*/0);
  run.Add(8, 9, /*priority=*/1);
  EXPECT_EQ(run.Step(), "0:8@0L 1:8@0L");
  EXPECT_EQ(run.Step(), "0:1@8D preempted 1");
}

TEST(VllmV1Blocks, WaitingRequestsPreemptNobody) {
  ScheduleRun run(PriorityConfig(4));
  run.Add(12, 3, /*priority=*/9);
  run.Step();
  run.Add(8, 1, /*priority=*/0);
  EXPECT_EQ(run.Step(), "0:1@12D");
}

TEST(VllmV1Blocks, OfEqualsTheFirstIsTheVictim) {
  ScheduleRun run(PriorityConfig(4));
  run.Add(7, 9);
  run.Add(8, 9);
  EXPECT_EQ(run.Step(), "0:7@0L 1:8@0L");
  EXPECT_EQ(run.Step(), "1:1@8D preempted 0");  // although 0 came first and needed no block
}

// So partial prefills of equals may push each other out for ever. vLLM has the rule, too, but its
// arrivals are clock readings and hardly ever equal.
TEST(VllmV1Blocks, EqualsWithoutReservationMayNeverEnd) {
  SchedulerConfig config = PriorityConfig(8);
  config.max_num_batched_tokens = 12;
  config.long_prefill_token_threshold = 4;
  config.scheduler_reserve_full_isl = false;
  config.max_model_len = 32;
  ScheduleRun equal(config);
  for (int i = 0; i < 3; ++i) equal.Add(28, 1);
  EXPECT_FALSE(equal.StepToTheEnd());
  ScheduleRun ranked(config);
  for (int i = 0; i < 3; ++i) ranked.Add(28, 1, /*priority=*/i);
  EXPECT_TRUE(ranked.StepToTheEnd());
  config.scheduler_reserve_full_isl = true;
  ScheduleRun reserved(config);
  for (int i = 0; i < 3; ++i) reserved.Add(28, 1);
  EXPECT_TRUE(reserved.StepToTheEnd());
}

SchedulerConfig CachingConfig(int32_t usable) {
  SchedulerConfig config = TightConfig(usable);
  config.enable_prefix_caching = true;
  return config;
}

TEST(VllmV1Caching, APromptOfTheSameStepIsAHitAlready) {
  ScheduleRun run(CachingConfig(40));
  run.Add(16, 2, 0, {{7, 16}});
  run.Add(16, 2, 0, {{7, 16}});
  run.Add(19, 2, 0, {{7, 16}});
  // A full hit leaves the last token, and with it the last block, to be computed again.
  EXPECT_EQ(run.Step(), "0:16@0L 1:4@12L 2:3@16L");
  EXPECT_THAT(run.Table(0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(run.Table(1), ElementsAre(1, 2, 3, 5));  // a duplicate of block 4
  EXPECT_THAT(run.Table(2), ElementsAre(1, 2, 3, 4, 6));
  EXPECT_EQ(run.scheduler().num_free_blocks(), 34);
}

TEST(VllmV1Caching, HitsOutliveTheirRequest) {
  ScheduleRun run(CachingConfig(40));
  run.Add(17, 1, 0, {{7, 16}});
  run.Steps(1);
  EXPECT_TRUE(run.IsFinished(0));
  run.Add(17, 1, 0, {{7, 12}});
  EXPECT_EQ(run.Step(), "1:5@12L");
}

TEST(VllmV1Caching, HitsSaveBudget) {
  SchedulerConfig config = CachingConfig(40);
  config.max_num_batched_tokens = 20;
  ScheduleRun run(config);
  run.Add(16, 1, 0, {{7, 16}});
  run.Add(20, 1, 0, {{7, 16}});
  EXPECT_EQ(run.Step(), "0:16@0L 1:4@16L");
}

TEST(VllmV1Caching, FreeHitsCountAgainstTheRoomThatIsLeft) {
  ScheduleRun run(CachingConfig(6));
  run.Add(13, 1, 0, {{7, 12}});
  run.Step();  // 3 cached blocks and the 4th are free now
  run.Add(12, 2);
  run.Add(16, 1, 0, {{7, 12}});
  // The second prompt takes blocks 4, 5 and 6. The third has 3 hits, all free, and finds no 4th.
  EXPECT_EQ(run.Step(), "1:12@0L");
  EXPECT_EQ(run.Step(), "1:1@12D");  // takes block 3
  EXPECT_EQ(run.Step(), "2:8@8L");
}

TEST(VllmV1Caching, APreemptedRequestFindsItsOwnBlocks) {
  ScheduleRun run(CachingConfig(6));
  run.Add(8, 6);
  run.Add(8, 20);
  run.Steps(5);
  EXPECT_EQ(run.Step(), "0:1@12D preempted 1");  // 0 took the deepest of its 3 cached blocks
  EXPECT_EQ(run.Step(), "1:5@8L");
}

TEST(VllmV1Caching, TheSharedPrefixIsWhatEveryRunningSequenceHolds) {
  SchedulerConfig config = CachingConfig(40);
  ScheduleRun silent(config);
  config.report_shared_prefix = true;
  ScheduleRun run(config);
  for (ScheduleRun* each : {&silent, &run}) {
    each->Add(14, 20, 0, {{7, 12}});
    each->Step();
    each->Add(18, 4, 0, {{7, 8}, {8, 10}});
  }
  EXPECT_EQ(run.batch().shared_prefix, 16);  // alone, it shares all its blocks with itself
  silent.Step();
  EXPECT_EQ(silent.batch().shared_prefix, 0);
  EXPECT_EQ(run.Step(), "0:1@14D 1:10@8L");
  EXPECT_EQ(run.batch().shared_prefix, 8);
  run.Add(9, 2);  // a stranger
  run.Step();
  EXPECT_EQ(run.batch().shared_prefix, 0);
  run.Steps(2);
  EXPECT_TRUE(run.IsFinished(2));
  EXPECT_EQ(run.batch().shared_prefix, 8);
}

// Blocks are findable as soon as their row is scheduled. A priority victim's row may leave the
// batch after that, and then the victim finds blocks that nobody computed (docs/scheduler.md).
TEST(VllmV1Caching, AScheduledVictimFindsWhatItNeverComputed) {
  SchedulerConfig config = CachingConfig(10);
  config.priority = QueuePriority::kPriority;
  config.max_num_batched_tokens = 16;
  config.long_prefill_token_threshold = 8;
  config.scheduler_reserve_full_isl = false;
  ScheduleRun run(config);
  run.Add(40, 2, /*priority=*/1);
  EXPECT_EQ(run.Step(), "0:16@0C");
  run.Add(8, 2, /*priority=*/0);
  EXPECT_EQ(run.Step(), "0:8@16C 1:8@0L");
  EXPECT_EQ(run.Step(), "1:1@8D preempted 0");  // tokens 24 to 31 were scheduled, then not computed
  EXPECT_EQ(run.Step(), "0:12@28L");
}

}  // namespace
}  // namespace batchvar
