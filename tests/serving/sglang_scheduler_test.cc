// The rules of sglang one by one, without overlap. Words of a step: schedule_run.h.
#include "sim/serving/sglang_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/serving/schedule_run.h"
#include "tests/serving/sglang_config.h"

namespace batchvar {
namespace {

using testing::ElementsAre;

// The prompt's chunks, with `decoding` neighbours that began before it.
std::vector<int32_t> ChunksOfLongPrompt(const SchedulerConfig& config, int decoding) {
  ScheduleRun run(config);
  for (int i = 0; i < decoding; ++i) run.Add(16, 400);
  run.Steps(10);
  run.Add(3000, 4);
  std::vector<int32_t> chunks;
  for (int i = 0; i < 40; ++i) {
    run.Step();
    for (const ScheduledRow& row : run.batch().rows) {
      if (row.request == decoding && row.phase != Phase::kDecode) {
        chunks.push_back(row.num_scheduled);
      }
    }
  }
  return chunks;
}

TEST(SglangScheduler, NeighboursMoveNoCutUntilChunksAreMixed) {
  SchedulerConfig sglang = PlainSglang();
  sglang.sglang.chunked_prefill_size = 512;
  for (const int decoding : {0, 20}) {
    EXPECT_THAT(ChunksOfLongPrompt(sglang, decoding), ElementsAre(512, 512, 512, 512, 512, 440));
  }
  sglang.sglang.enable_mixed_chunk = true;
  EXPECT_THAT(ChunksOfLongPrompt(sglang, 0), ElementsAre(512, 512, 512, 512, 512, 440));
  EXPECT_THAT(ChunksOfLongPrompt(sglang, 20), ElementsAre(492, 492, 492, 492, 492, 492, 48));
  SchedulerConfig vllm = PlainConfig();
  vllm.max_num_batched_tokens = 512;
  EXPECT_THAT(ChunksOfLongPrompt(vllm, 0), ElementsAre(512, 512, 512, 512, 512, 440));
  EXPECT_THAT(ChunksOfLongPrompt(vllm, 20), ElementsAre(492, 492, 492, 492, 492, 492, 48));
}

TEST(SglangScheduler, PromptsGoFirstAndDecodesWait) {
  SchedulerConfig config = PlainSglang();
  config.sglang.chunked_prefill_size = 20;
  ScheduleRun run(config);
  run.Add(10, 4);
  EXPECT_EQ(run.Step(), "0:10@0L");
  EXPECT_EQ(run.Step(), "0:1@10D");
  run.Add(45, 2);
  EXPECT_EQ(run.Step(), "1:20@0C");
  EXPECT_EQ(run.Step(), "1:20@20C");
  EXPECT_EQ(run.Step(), "1:5@40L");
  EXPECT_EQ(run.Step(), "0:1@11D 1:1@45D");
  EXPECT_TRUE(run.IsFinished(1));
  EXPECT_EQ(run.Step(), "0:1@12D");
  EXPECT_TRUE(run.StepToTheEnd());
}

TEST(SglangScheduler, MixedChunksTakeEverybodyAlongBehindThePrompts) {
  SchedulerConfig config = PlainSglang();
  config.sglang.chunked_prefill_size = 20;
  config.sglang.enable_mixed_chunk = true;
  ScheduleRun run(config);
  run.Add(10, 9);
  run.Step();
  run.Add(25, 2);
  EXPECT_EQ(run.Step(), "1:19@0C 0:1@10D");
  EXPECT_EQ(run.Step(), "1:6@19L 0:1@11D");
  EXPECT_EQ(run.Step(), "1:1@25D 0:1@12D");  // who came with a prompt stands in front now
}

TEST(SglangScheduler, AChunkEndsWithAPageAndTheNextIsAsLongAsTheRest) {
  SchedulerConfig config = PlainSglang();
  config.sglang.page_size = 16;
  config.sglang.chunked_prefill_size = 64;
  ScheduleRun run(config);
  run.Add(20, 1);
  run.Add(100, 1);
  EXPECT_EQ(run.Step(), "0:20@0L 1:32@0C");  // 20 tokens take two pages of the chunk
  EXPECT_EQ(run.Step(), "1:64@32C");
  EXPECT_EQ(run.Step(), "1:4@96L");
}

TEST(SglangScheduler, DeterministicModeAlignsFirstChunksOnly) {
  SchedulerConfig config = PlainSglang();
  config.sglang.chunked_prefill_size = 100;
  config.sglang.enable_deterministic_inference = true;
  config.sglang.flashinfer_prefill_split_tile_size = 32;
  ScheduleRun run(config);
  run.Add(30, 1);
  run.Add(300, 1);
  EXPECT_EQ(run.Step(), "0:30@0L 1:64@0C");
  EXPECT_EQ(run.Step(), "1:100@64C");
  config.sglang.attention_backend = SglangBackend::kFa3;  // aligns nothing
  ScheduleRun fa3(config);
  fa3.Add(30, 1);
  fa3.Add(300, 1);
  EXPECT_EQ(fa3.Step(), "0:30@0L 1:70@0C");
}

TEST(SglangScheduler, WithoutChunksThePromptsOfABatchShareABudget) {
  SchedulerConfig config = PlainSglang();
  config.sglang.chunked_prefill_size = -1;
  config.sglang.max_prefill_tokens = 100;
  ScheduleRun run(config);
  run.Add(300, 1);  // the first may be larger
  run.Add(60, 1);
  run.Add(39, 1);
  run.Add(10, 1);
  EXPECT_EQ(run.Step(), "0:300@0L");
  EXPECT_EQ(run.Step(), "1:60@0L 2:39@0L");
  EXPECT_EQ(run.Step(), "3:10@0L");
}

TEST(SglangScheduler, RowsLimitWhoRuns) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_running_requests = 2;
  ScheduleRun run(config);
  for (int i = 0; i < 3; ++i) run.Add(10, 3);
  EXPECT_EQ(run.Step(), "0:10@0L 1:10@0L");
  EXPECT_EQ(run.Step(), "0:1@10D 1:1@10D");
  EXPECT_EQ(run.Step(), "0:1@11D 1:1@11D");
  EXPECT_EQ(run.Step(), "2:10@0L");
  EXPECT_EQ(run.scheduler().num_running(), 1);
}

TEST(SglangScheduler, PrefillMaxRequestsLimitsABatch) {
  SchedulerConfig config = PlainSglang();
  config.sglang.prefill_max_requests = 2;
  ScheduleRun run(config);
  for (int i = 0; i < 3; ++i) run.Add(10, 3);
  EXPECT_EQ(run.Step(), "0:10@0L 1:10@0L");
  EXPECT_EQ(run.Step(), "2:10@0L");
}

// A prompt can be hit when the step that computed it is over, not in the step itself.
TEST(SglangScheduler, EqualPromptsOfOneBatchShareNothing) {
  ScheduleRun run(PlainSglang());
  run.Add(40, 2, 0, {{7, 40}});
  run.Add(40, 2, 0, {{7, 40}});
  EXPECT_EQ(run.Step(), "0:40@0L 1:40@0L");
  run.Add(40, 2, 0, {{7, 30}});
  run.Add(40, 2, 0, {{7, 40}});
  EXPECT_EQ(run.Step(), "2:10@30L 3:1@39L");  // the last token is always computed
}

TEST(SglangScheduler, PagesAreHitWhole) {
  SchedulerConfig config = PlainSglang();
  config.sglang.page_size = 16;
  ScheduleRun run(config);
  run.Add(40, 1, 0, {{7, 40}});
  run.Step();
  run.Add(40, 1, 0, {{7, 40}});
  EXPECT_EQ(run.Step(), "1:8@32L");
}

TEST(SglangScheduler, WithoutRadixCacheNothingIsHit) {
  SchedulerConfig config = PlainSglang();
  config.sglang.disable_radix_cache = true;
  ScheduleRun run(config);
  run.Add(40, 1, 0, {{7, 40}});
  run.Step();
  EXPECT_EQ(run.scheduler().num_free_blocks(), config.sglang.max_total_tokens);
  run.Add(40, 1, 0, {{7, 40}});
  EXPECT_EQ(run.Step(), "1:40@0L");
}

TEST(SglangScheduler, LpmTakesTheLongestHitFirst) {
  SchedulerConfig config = PlainSglang();
  config.sglang.schedule_policy = SchedulePolicy::kLpm;
  config.sglang.chunked_prefill_size = 100;
  ScheduleRun run(config);
  run.Add(80, 1, 0, {{7, 80}});
  run.Step();
  run.Add(50, 1);
  run.Add(60, 1, 0, {{7, 40}});
  run.Add(90, 1, 0, {{7, 80}});
  EXPECT_EQ(run.Step(), "3:10@80L 2:20@40L 1:50@0L");
}

// Of several that share a beginning which the tree does not have, the first goes and the others
// wait to hit it.
TEST(SglangScheduler, LpmLetsOneOfANewFamilyGoFirst) {
  SchedulerConfig config = PlainSglang();
  config.sglang.schedule_policy = SchedulePolicy::kLpm;
  config.sglang.chunked_prefill_size = 100;
  ScheduleRun run(config);
  run.Add(60, 1, 0, {{7, 50}});
  run.Add(60, 1, 0, {{7, 50}});
  run.Add(40, 1);
  EXPECT_EQ(run.Step(), "0:60@0L 2:40@0L");
  EXPECT_EQ(run.Step(), "1:10@50L");
}

// Admission asks for the whole of a newcomer and for the expected rest of those who run.
TEST(SglangScheduler, AdmissionAsksForWhatIsExpected) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_total_tokens = 1000;
  ScheduleRun run(config);
  run.Add(100, 400);
  run.Step();
  run.Add(100, 480);  // 100 + 480 + 1 against 900 - 0.7 * 399 = 620.7
  EXPECT_EQ(run.Step(), "1:100@0L");
  ScheduleRun tight(config);
  tight.Add(100, 400);
  tight.Step();
  tight.Add(100, 520);
  EXPECT_EQ(tight.Step(), "0:1@100D");
}

// Steps until somebody is retracted, or 60.
std::string StepToARetraction(ScheduleRun* run) {
  std::string words;
  for (int i = 0; i < 60 && words.find("preempted") == std::string::npos; ++i) words = run->Step();
  return words;
}

TEST(SglangScheduler, RetractsTheFewestOutputs) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_total_tokens = 120;
  config.sglang.max_running_requests = 8;
  config.sglang.schedule_conservativeness = 0.01;
  ScheduleRun run(config);
  run.Add(30, 40);
  run.Steps(4);
  run.Add(20, 40);
  run.Steps(4);
  run.Add(25, 20);
  EXPECT_EQ(StepToARetraction(&run), "0:1@48D 1:1@35D preempted 2");
  EXPECT_TRUE(run.StepToTheEnd());
  EXPECT_EQ(run.NumTokens(0), 40);
  EXPECT_EQ(run.NumTokens(1), 40);
  EXPECT_EQ(run.NumTokens(2), 20);
}

TEST(SglangScheduler, OfEqualOutputsTheLongestPromptIsRetracted) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_total_tokens = 120;
  config.sglang.max_running_requests = 8;
  config.sglang.schedule_conservativeness = 0.01;
  ScheduleRun run(config);
  for (const int32_t prompt : {20, 30, 25}) {
    run.Add(prompt, 40);
    run.Step();
  }
  EXPECT_THAT(StepToARetraction(&run), testing::EndsWith("preempted 1"));
  // The running batch keeps the order of that moment: the shorter prompt in front.
  EXPECT_EQ(run.batch().rows[0].request, 0);
  EXPECT_TRUE(run.StepToTheEnd());
}

TEST(SglangScheduler, AContinuedChunkThatDoesNotFitKillsTheServer) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_total_tokens = 1440;
  config.sglang.chunked_prefill_size = 64;
  config.sglang.enable_mixed_chunk = true;
  config.sglang.schedule_conservativeness = 0.03;
  const auto scheduler = MakeScheduler(config);
  Request request;
  request.prompt_tokens = 16;
  request.output_tokens = 60;
  for (int i = 0; i < 20; ++i) scheduler->Add(request, i);
  request.prompt_tokens = 800;
  request.output_tokens = 10;
  scheduler->Add(request, 20);
  int64_t steps = 0;
  while (scheduler->failure() == nullptr && steps < 1000) {
    scheduler->Schedule();
    if (scheduler->failure() != nullptr) break;
    scheduler->ApplyOutputs();
    ++steps;
  }
  ASSERT_NE(scheduler->failure(), nullptr);
  EXPECT_THAT(scheduler->failure(), testing::StartsWith("KV allocation failed after admission"));
  EXPECT_LT(scheduler->num_free_blocks(), 64);
}

TEST(SglangScheduler, TheLimitOfARequestIsCutToThePool) {
  SchedulerConfig config = PlainSglang();
  config.sglang.max_total_tokens = 200;
  EXPECT_EQ(PromptLimit(config), 194);
  ScheduleRun run(config);
  run.Add(150, 100);
  ASSERT_TRUE(run.StepToTheEnd());
  EXPECT_EQ(run.NumTokens(0), 48);
  EXPECT_EQ(run.ReasonOf(0), FinishReason::kModelLimit);
}

TEST(SglangScheduler, IgnoreEosGoesOnToTheLimit) {
  SchedulerConfig config = PlainSglang();
  const auto scheduler = MakeScheduler(config);
  Request request;
  request.prompt_tokens = 10;
  request.output_tokens = 3;
  request.max_tokens = 5;
  scheduler->Add(request, 0);
  request.ignore_eos = true;
  scheduler->Add(request, 1);
  std::vector<int> tokens(2, 0);
  while (scheduler->HasUnfinished()) {
    scheduler->Schedule();
    for (const int32_t got : scheduler->ApplyOutputs().got_token)
      ++tokens[static_cast<size_t>(got)];
  }
  EXPECT_THAT(tokens, ElementsAre(3, 5));
}

}  // namespace
}  // namespace batchvar
