#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/report/summary_json.h"
#include "sim/report/summary_text.h"
#include "tests/replay/experiments.h"

namespace batchvar {
namespace {

using testing::HasSubstr;
using testing::Not;

ReplayResult RunOf(const ExperimentSpec& spec) {
  auto result = Replay(spec, {});
  EXPECT_TRUE(result.ok()) << result.status();
  return std::move(*result);
}

TEST(SummaryText, SaysWhatAServingEngineerLooksFor) {
  const ExperimentSpec spec = AllAtOnce(40);
  const std::string text = SummaryText(spec, RunOf(spec));
  for (const char* words : {"llama31_8b on h100_sxm (132 SMs)", "40 read, 40 finished, 0 rejected",
                            "TTFT", "TPOT", "ITL", "E2EL", "Throughput", "M per step", "o_proj",
                            "Knee", "KV share", "after CUDA-graph padding"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  EXPECT_THAT(text, Not(HasSubstr("INTERRUPTED")));
  EXPECT_THAT(text, Not(HasSubstr("Goodput")));
}

TEST(SummaryText, GoodputAppearsWhenLimitsAreGiven) {
  const ExperimentSpec spec = AllAtOnce(4, {"goodput.ttft_ms=100000"});
  const ReplayResult result = RunOf(spec);
  EXPECT_THAT(SummaryText(spec, result), HasSubstr("4 requests met every limit"));
}

TEST(SummaryText, AnInterruptedRunSaysSo) {
  const ExperimentSpec spec = AllAtOnce(4);
  ReplayOptions options;
  int steps = 0;
  options.interrupted = [&] { return ++steps > 5; };
  auto result = Replay(spec, options);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(SummaryText(spec, *result), HasSubstr("INTERRUPTED"));
  const auto json = nlohmann::json::parse(SummaryJson(*result));
  EXPECT_EQ(json["interrupted"], true);
  EXPECT_EQ(json["requests"]["interrupted"], 4);
}

TEST(SummaryJson, KeysThatOtherToolsRelyOn) {
  const auto json = nlohmann::json::parse(SummaryJson(RunOf(AllAtOnce(40))));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["kind"], "summary");
  for (const char* key : {"read", "emitted", "dropped", "finished", "rejected", "preempted"}) {
    EXPECT_TRUE(json["requests"].contains(key)) << key;
  }
  for (const char* name : {"ttft", "tpot", "itl", "e2el"}) {
    for (const char* key : {"mean", "p50", "p90", "p99"}) {
      EXPECT_TRUE(json["latency_ms"][name].contains(key)) << name << " " << key;
    }
  }
  for (const char* key : {"requests_per_s", "output_tokens_per_s", "total_tokens_per_s"}) {
    EXPECT_TRUE(json["throughput"].contains(key)) << key;
  }
  EXPECT_TRUE(json["steps"]["m"].contains("p50"));
  const auto& o_proj = json["classes"]["o_proj"];
  ASSERT_FALSE(o_proj.empty());
  EXPECT_EQ(o_proj[0]["class"].get<std::string>().size(), 32U);
}

TEST(RequestsCsv, OneRowARequestAndQuotesWhereNeeded) {
  SimulationResult simulation;
  simulation.requests.resize(2);
  simulation.requests[0].id = "plain";
  simulation.requests[1].id = "a,\"b\"";
  const std::string csv = RequestsCsv(simulation);
  EXPECT_THAT(csv, HasSubstr("request_id,arrival_ns,first_scheduled_ns,first_token_ns,finish_ns,"
                             "prompt_tokens,output_tokens,preemptions,cached_tokens,replica,"
                             "status\n"));
  EXPECT_THAT(csv, HasSubstr("\nplain,0,,,,0,0,0,0,0,unfinished\n"));
  EXPECT_THAT(csv, HasSubstr("\n\"a,\"\"b\"\"\","));
}

TEST(RunJson, HoldsTheConfigurationWithTypes) {
  const ExperimentSpec spec = AllAtOnce(4, {"seed=18446744073709551615"});
  RunInfo info;
  info.version = "1.2.3";
  info.command = "batchvar simulate x.yaml";
  info.trace_name = "/some/where/trace.csv";
  info.trace_sha256 = "ab";
  const auto json = nlohmann::json::parse(RunJson(spec, info, {}));
  EXPECT_EQ(json["kind"], "run");
  EXPECT_EQ(json["seed"], 18446744073709551615ULL);
  EXPECT_TRUE(json["config"]["scheduler"]["enable_chunked_prefill"].is_boolean());
  EXPECT_TRUE(json["config"]["scheduler"]["max_num_seqs"].is_number_integer());
  EXPECT_EQ(json["inputs"][0]["name"], "trace.csv");
  EXPECT_EQ(json["environment"]["command"], "batchvar simulate x.yaml");
}

}  // namespace
}  // namespace batchvar
