#include "sim/serving/batch_scheduler.h"

#include <gtest/gtest.h>

#include "tests/serving/schedule_run.h"

namespace batchvar {
namespace {

SchedulerConfig StaticConfig(int32_t max_num_seqs) {
  SchedulerConfig config = PlainConfig();
  config.policy = SchedulerPolicy::kStatic;
  config.max_num_seqs = max_num_seqs;
  return config;
}

SchedulerConfig OrcaConfig(int32_t max_num_seqs) {
  SchedulerConfig config = StaticConfig(max_num_seqs);
  config.policy = SchedulerPolicy::kOrca;
  return config;
}

TEST(StaticBatch, PromptsArePaddedToTheLongest) {
  ScheduleRun run(StaticConfig(3));
  for (const int32_t prompt : {10, 4, 7}) run.Add(prompt, 3);
  EXPECT_EQ(run.Step(), "0:10@0L 1:4@0L 2:7@0L");
  EXPECT_EQ(run.batch().num_tokens, 21);
  EXPECT_EQ(run.batch().padding_tokens, 9);
  EXPECT_EQ(run.batch().M(), 30);
}

TEST(StaticBatch, FinishedRowsStayInTheMatrix) {
  ScheduleRun run(StaticConfig(3));
  for (const int32_t outputs : {4, 2, 3}) run.Add(5, outputs);
  run.Step();
  for (const int32_t live : {3, 2, 1}) {
    run.Step();
    EXPECT_EQ(run.batch().num_tokens, live);
    EXPECT_EQ(run.batch().M(), 3);
  }
  EXPECT_FALSE(run.scheduler().HasUnfinished());
}

TEST(StaticBatch, NobodyJoinsUntilAllAreDone) {
  ScheduleRun run(StaticConfig(2));
  run.Add(5, 3);
  run.Add(5, 1);
  run.Add(5, 1);
  EXPECT_EQ(run.Step(), "0:5@0L 1:5@0L");
  EXPECT_EQ(run.Step(), "0:1@5D");
  EXPECT_EQ(run.Step(), "0:1@6D");
  EXPECT_EQ(run.Step(), "2:5@0L");
  EXPECT_EQ(run.batch().M(), 5);  // the new batch is one row
}

TEST(StaticBatch, EverySequenceReservesItsFullLength) {
  SchedulerConfig config = TightConfig(7);
  config.policy = SchedulerPolicy::kStatic;
  ScheduleRun run(config);
  run.Add(4, 9);  // 13 tokens: 4 blocks
  run.Add(4, 9);
  EXPECT_EQ(run.Step(), "0:4@0L");
  EXPECT_EQ(run.scheduler().num_free_blocks(), 3);
  EXPECT_TRUE(run.StepToTheEnd());
  EXPECT_EQ(run.scheduler().num_free_blocks(), 7);
}

TEST(StaticBatch, ReservesNoMoreThanMaxModelLen) {
  SchedulerConfig config = TightConfig(4);
  config.policy = SchedulerPolicy::kStatic;
  config.max_model_len = 16;
  ScheduleRun run(config);
  run.Add(4, 1000);
  EXPECT_TRUE(run.StepToTheEnd());
  EXPECT_EQ(run.NumTokens(0), 12);
  EXPECT_EQ(run.ReasonOf(0), FinishReason::kModelLimit);
}

TEST(StaticBatch, ABatchOfOneTokenOutputs) {
  ScheduleRun run(StaticConfig(2));
  for (int i = 0; i < 3; ++i) run.Add(5, 1);
  EXPECT_EQ(run.Step(), "0:5@0L 1:5@0L");
  EXPECT_EQ(run.Step(), "2:5@0L");
  EXPECT_EQ(run.Step(), "");
  EXPECT_FALSE(run.scheduler().HasStepInFlight());
}

TEST(Orca, WholePromptsJoinRunningSequences) {
  ScheduleRun run(OrcaConfig(3));
  run.Add(5, 3);
  EXPECT_EQ(run.Step(), "0:5@0L");
  run.Add(7, 2);
  EXPECT_EQ(run.Step(), "0:1@5D 1:7@0L");
  EXPECT_EQ(run.Step(), "0:1@6D 1:1@7D");
  EXPECT_EQ(run.batch().padding_tokens, 0);
}

TEST(Orca, NoBudgetBoundsABatch) {
  ScheduleRun run(OrcaConfig(3));
  for (int i = 0; i < 4; ++i) run.Add(3000, 2);
  run.Step();
  EXPECT_EQ(run.batch().num_tokens, 9000);  // max_num_seqs does
  EXPECT_EQ(run.batch().rows.size(), 3U);
}

TEST(Orca, AFreePlaceIsTakenInTheNextStep) {
  ScheduleRun run(OrcaConfig(2));
  run.Add(5, 3);
  run.Add(5, 1);
  run.Add(6, 1);
  EXPECT_EQ(run.Step(), "0:5@0L 1:5@0L");
  EXPECT_EQ(run.Step(), "0:1@5D 2:6@0L");
}

TEST(Orca, EverySequenceReservesMaxModelLen) {
  SchedulerConfig config = TightConfig(40);
  config.policy = SchedulerPolicy::kOrca;  // 64 tokens: 16 blocks each
  ScheduleRun run(config);
  for (int i = 0; i < 3; ++i) run.Add(1, 1);
  EXPECT_EQ(run.Step(), "0:1@0L 1:1@0L");
  EXPECT_EQ(run.Step(), "2:1@0L");
}

TEST(Orca, ARequestEndsAtMaxModelLen) {
  SchedulerConfig config = OrcaConfig(2);
  config.max_model_len = 20;
  ScheduleRun run(config);
  run.Add(18, 9);
  ASSERT_TRUE(run.StepToTheEnd());
  EXPECT_EQ(run.NumTokens(0), 2);
  EXPECT_EQ(run.ReasonOf(0), FinishReason::kModelLimit);
}

}  // namespace
}  // namespace batchvar
