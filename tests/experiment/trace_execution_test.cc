// Requests of a replayed trace, executed: what must not change a bit does not, KV from the prefix
// cache is its producer's, and what cannot be executed is named.
#include "kernels/experiment/trace_execution.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/experiment/margin_noise.h"
#include "kernels/experiment/trace_prompt.h"
#include "sim/config/load_replay.h"
#include "sim/replay/replay.h"
#include "tests/io/temp_file.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

std::string Folder() { return ProjectPath("configs/weights/batchvar_tiny"); }

// Twelve requests of which every third continues the text of the one before it.
std::string SharingTrace() {
  std::string rows;
  for (int i = 0; i < 12; ++i) {
    const std::string prefix = i % 3 == 0   ? "[[" + std::to_string(i) + ",40]]"
                               : i % 3 == 1 ? "[[" + std::to_string(i - 1) + ",40],[99,30]]"
                                            : "[[" + std::to_string(i - 2) + ",40],[99,30],[7,20]]";
    rows += "{\"request_id\":\"r" + std::to_string(i) +
            "\",\"arrival_ns\":" + std::to_string(i * 60'000'000) +
            ",\"prompt_tokens\":" + std::to_string(50 + 30 * (i % 3)) +
            ",\"output_tokens\":30,\"prefix\":" + prefix + "}\n";
  }
  return rows;
}

ReplaySpec SpecOf(const std::string& trace, const std::string& requests,
                  const std::vector<std::string>& overrides = {}) {
  const auto spec = LoadReplayText(
      "model: qwen3_8b\ndevice: h100_sxm\npolicies: vllm_h100\nworkload: {trace: {path: " + trace +
          ", format: jsonl}}\nexecute: {weights: batchvar_tiny, requests: " + requests + "}\n",
      "run.yaml", ".", overrides);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *spec;
}

absl::StatusOr<ExecutedTrace> Execute(const ReplaySpec& spec, int32_t threads = 1) {
  PrefixSources sources;
  ReplayOptions replay;
  replay.sinks = {&sources};
  const auto replayed = Replay(spec.experiment, replay);
  EXPECT_TRUE(replayed.ok()) << replayed.status();
  TraceExecutionOptions options;
  options.weights_folder = Folder();
  options.isa = BestIsa();
  options.threads = threads;
  return ExecuteTrace(spec, sources, options);
}

TEST(TracePrompt, SharedSegmentsAreSharedTokens) {
  Request a, b;
  a.id = "a";
  b.id = "b";
  a.prompt_tokens = 20;
  b.prompt_tokens = 30;
  a.prefix = {{5, 12}};
  b.prefix = {{5, 12}, {6, 10}};
  const auto tokens_a = TracePrompt(a, 512, 1), tokens_b = TracePrompt(b, 512, 1);
  ASSERT_EQ(tokens_a.size(), 20U);
  ASSERT_EQ(tokens_b.size(), 30U);
  EXPECT_TRUE(std::equal(tokens_a.begin(), tokens_a.begin() + 12, tokens_b.begin()));
  EXPECT_NE(tokens_a[12], tokens_b[12]);
  EXPECT_NE(tokens_a, TracePrompt(a, 512, 2));
  for (const int64_t token : tokens_b) EXPECT_TRUE(token >= 0 && token < 512);
}

// The KV that requests take over has to be the right words at the right place for this to hold.
TEST(TraceExecution, BatchInvariantPoliciesGiveEveryRequestItsTextAlone) {
  const TempFile trace(SharingTrace(), ".jsonl");
  const auto result =
      Execute(SpecOf(trace.path(), "[r0, r1, r2, r5, r8, r11]", {"policies=batch_invariant"}));
  ASSERT_TRUE(result.ok()) << result.status();
  int64_t cached = 0, producers = 0;
  for (const ExecutedRequest& request : result->requests) {
    EXPECT_FALSE(request.differs) << request.id;
    EXPECT_EQ(request.orders.differ, 0) << request.id;
    EXPECT_EQ(request.output_tokens, 30);
    cached += request.cached_tokens;
    producers += request.producers;
  }
  EXPECT_GT(cached, 100);
  EXPECT_GT(producers, 4);
  EXPECT_EQ(result->plan_model, "qwen3_8b");
}

TEST(TraceExecution, PreemptedRequestsGoOnWithTheirText) {
  std::string rows, ids;
  for (int i = 0; i < 12; ++i) {
    const std::string id = "r" + std::to_string(i);
    rows += "{\"request_id\":\"" + id +
            "\",\"arrival_ns\":0,\"prompt_tokens\":40,\"output_tokens\":60}\n";
    ids += (i > 0 ? ", " : "") + id;
  }
  const TempFile trace(rows, ".jsonl");
  for (const char* caching : {"true", "false"}) {
    const auto result = Execute(SpecOf(
        trace.path(), "[" + ids + "]",
        {"policies=batch_invariant", "scheduler.num_gpu_blocks=60", "scheduler.max_model_len=200",
         std::string("scheduler.enable_prefix_caching=") + caching}));
    ASSERT_TRUE(result.ok()) << result.status();
    int64_t preemptions = 0;
    for (const ExecutedRequest& request : result->requests) {
      EXPECT_FALSE(request.differs) << request.id;
      EXPECT_EQ(request.output_tokens, 60);
      preemptions += request.preemptions;
    }
    EXPECT_GT(preemptions, 0);
  }
}

TEST(TraceExecution, CompanyChangesOrdersAndThreadsChangeNothing) {
  const TempFile trace(SharingTrace(), ".jsonl");
  const ReplaySpec spec = SpecOf(trace.path(), "[r2, r7, r11]");
  const auto one = Execute(spec, 1), two = Execute(spec, 2);
  ASSERT_TRUE(one.ok() && two.ok());
  for (size_t i = 0; i < one->requests.size(); ++i) {
    const ExecutedRequest& request = one->requests[i];
    EXPECT_GT(request.orders.differ, 0) << request.id;
    EXPECT_GE(request.orders.first_row, 0);
    EXPECT_EQ(request.orders.rows, request.prompt_tokens + request.output_tokens - 1);
    EXPECT_EQ(request.tokens, two->requests[i].tokens);
    EXPECT_EQ(request.tokens_alone, two->requests[i].tokens_alone);
    EXPECT_EQ(request.differs, request.tokens != request.tokens_alone);
  }
  EXPECT_EQ(one->requests[0].id, "r2");
  EXPECT_EQ(one->rows_computed, two->rows_computed);
}

TEST(TraceExecution, WhatCannotBeExecutedIsNamed) {
  const TempFile trace(SharingTrace() +
                           "{\"request_id\":\"long\",\"arrival_ns\":900000000,"
                           "\"prompt_tokens\":500,\"output_tokens\":30}\n",
                       ".jsonl");
  const auto longer = Execute(SpecOf(trace.path(), "[r1, long]"));
  ASSERT_FALSE(longer.ok());
  EXPECT_NE(longer.status().message().find("'long' has 500 + 30 tokens, and 'batchvar_tiny' has "
                                           "512 positions"),
            std::string::npos)
      << longer.status();
  const auto unknown = Execute(SpecOf(trace.path(), "[r1, r12]"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("no request 'r12'"), std::string::npos);
}

MarginNoise NoiseOf(const std::string& policies, int64_t m) {
  const TempFile trace(SharingTrace(), ".jsonl");
  const ReplaySpec spec = SpecOf(trace.path(), "[r0]", {"policies=" + policies});
  MarginNoiseOptions options;
  options.weights = "batchvar_tiny";
  options.weights_folder = Folder();
  options.m = m;
  options.isa = BestIsa();
  const auto noise = MeasureMarginNoise(spec.experiment, options);
  EXPECT_TRUE(noise.ok()) << noise.status();
  return *noise;
}

TEST(MarginNoise, IsThatOfATrainedModelAndPredictsItsFlips) {
  const MarginNoise noise = NoiseOf("vllm_h100", 64);
  EXPECT_EQ(noise.tokens, 16 * 64);
  EXPECT_GT(noise.density, 0.1);
  EXPECT_LT(noise.density, 1.5);
  EXPECT_GT(noise.rms, 0.0);
  EXPECT_GT(noise.decrease, 0.0);
  // A few flips in a thousand tokens: the two agree as well as so few can.
  const double predicted = noise.FlipsPerToken() * static_cast<double>(noise.tokens);
  EXPECT_NEAR(static_cast<double>(noise.flips), predicted, 3 + predicted);
}

TEST(MarginNoise, IsNothingWhereOrdersAgree) {
  const MarginNoise noise = NoiseOf("batch_invariant", 64);
  EXPECT_GT(noise.density, 0.1);
  EXPECT_EQ(noise.rms, 0.0);
  EXPECT_EQ(noise.flips, 0);
}

}  // namespace
}  // namespace batchvar
