// chunk_alignment: a prompt that is cut is cut at a multiple, counted from its first token.
#include <gtest/gtest.h>

#include <string>

#include "tests/serving/schedule_run.h"

namespace batchvar {
namespace {

SchedulerConfig AlignedConfig(int32_t budget, int32_t alignment) {
  SchedulerConfig config = PlainConfig();
  config.max_model_len = 16384;
  config.max_num_batched_tokens = budget;
  config.chunk_alignment = alignment;
  return config;
}

TEST(ChunkAlignment, WithoutItTheBudgetCuts) {
  ScheduleRun run(AlignedConfig(8192, 0));
  run.Add(5000, 5);
  run.Add(6000, 5);
  EXPECT_EQ(run.Step(), "0:5000@0L 1:3192@0C");
  EXPECT_EQ(run.Step(), "0:1@5000D 1:2808@3192L");
}

TEST(ChunkAlignment, ACutFallsOnAMultiple) {
  ScheduleRun run(AlignedConfig(8192, 2048));
  run.Add(6000, 5);
  run.Add(6000, 5);
  EXPECT_EQ(run.Step(), "0:6000@0L 1:2048@0C");     // 2,192 would have fitted
  EXPECT_EQ(run.Step(), "0:1@6000D 1:3952@2048L");  // the rest fits: no cut
}

TEST(ChunkAlignment, NeighboursNoLongerMoveTheCuts) {
  for (const int neighbours : {1, 5, 20, 60}) {
    ScheduleRun run(AlignedConfig(3000, 2048));
    for (int i = 0; i < neighbours; ++i) run.Add(4, 100);
    run.Step();
    run.Add(6000, 1);
    for (const int32_t tokens : {2048, 2048, 1904}) {
      run.Step();
      EXPECT_EQ(run.TokensOf(neighbours), tokens) << neighbours;
    }
  }
}

TEST(ChunkAlignment, AChunkMayHoldSeveralMultiples) {
  ScheduleRun run(AlignedConfig(5000, 1024));
  run.Add(6000, 1);
  EXPECT_EQ(run.Step(), "0:4096@0C");
  EXPECT_EQ(run.Step(), "0:1904@4096L");
}

TEST(ChunkAlignment, MultiplesCountFromTheFirstTokenNotFromAHit) {
  SchedulerConfig config = AlignedConfig(100, 64);
  config.enable_prefix_caching = true;
  ScheduleRun run(config);
  run.Add(49, 1, 0, {{7, 48}});
  run.Step();
  run.Add(300, 1, 0, {{7, 48}});
  EXPECT_EQ(run.Step(), "1:80@48C");  // to 128
  EXPECT_EQ(run.Step(), "1:64@128C");
}

TEST(ChunkAlignment, AThresholdBelowItIsRaisedToIt) {
  SchedulerConfig config = AlignedConfig(1000, 64);
  config.long_prefill_token_threshold = 50;
  ScheduleRun run(config);
  run.Add(150, 1);
  run.Add(100, 2);
  EXPECT_EQ(run.Step(), "0:64@0C 1:64@0C");
  EXPECT_EQ(run.Step(), "0:64@64C 1:36@64L");
}

TEST(ChunkAlignment, AHeadThatCannotReachAMultipleWaits) {
  ScheduleRun run(AlignedConfig(64, 64));
  run.Add(4, 3);
  run.Add(100, 1);
  run.Add(4, 1);
  EXPECT_EQ(run.Step(), "0:4@0L");  // 60 tokens are left: too few for a cut, and the head blocks
  EXPECT_EQ(run.Step(), "0:1@4D");
  EXPECT_EQ(run.Step(), "0:1@5D");
  EXPECT_EQ(run.Step(), "1:64@0C");
  EXPECT_EQ(run.Step(), "1:36@64L 2:4@0L");
}

// A running chunk that cannot reach the next multiple holds admission back; otherwise new decodes
// could take its room for ever.
TEST(ChunkAlignment, AStuckChunkHoldsAdmissionBackAndEnds) {
  SchedulerConfig config = AlignedConfig(8, 6);
  config.block_size = 4;
  config.enable_prefix_caching = true;
  config.long_prefill_token_threshold = 6;
  ScheduleRun run(config);
  run.Add(5, 1, 0, {{7, 4}});
  run.Step();
  run.Add(30, 2, 0, {{7, 4}});
  run.Add(20, 2);
  run.Add(1, 2);
  EXPECT_EQ(run.Step(), "1:2@4C 2:6@0C");
  EXPECT_EQ(run.Step(), "1:6@6C");  // 2 tokens are left: 2 cannot reach 12, and 3 is not let in
  EXPECT_EQ(run.Step(), "1:6@12C");
  EXPECT_EQ(run.Step(), "1:6@18C");
  EXPECT_EQ(run.Step(), "1:6@24L");
  EXPECT_EQ(run.Step(), "1:1@30D 2:6@6C 3:1@0L");
  EXPECT_TRUE(run.StepToTheEnd());
}

}  // namespace
}  // namespace batchvar
