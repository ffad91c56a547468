#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/plan/gemm_policy.h"
#include "sim/report/plan_json.h"
#include "sim/report/plan_text.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Keys(const nlohmann::ordered_json& json) {
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  return keys;
}

GemmPlan SquarePlan() {
  return MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kTextbook))
      ->PlanWithWords({1, 4096, 4096}, H100());
}

TEST(GemmPlanJson, KeysAndValuesOfTheFormat) {
  const auto json = GemmPlanJson(SquarePlan());
  EXPECT_THAT(Keys(json), ElementsAre("schema_version", "kind", "op", "policy", "device",
                                      "sm_count", "m", "n", "k", "dtype", "tile", "ctas", "waves",
                                      "last_wave_ctas", "decomposition", "split_k", "pieces",
                                      "combine", "class", "explain", "rejected", "source"));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["kind"], "plan");
  EXPECT_EQ(json["op"], "gemm");
  EXPECT_EQ(json["dtype"], "bf16");
  EXPECT_EQ(json["tile"].dump(), R"({"m":16,"n":128,"k":64})");
  EXPECT_EQ(json["pieces"].dump(), "[[0,1024],[1024,2048],[2048,3072],[3072,4096]]");
  EXPECT_EQ(json["combine"], "serial_fp32");
  EXPECT_EQ(json["class"], SquarePlan().klass.Hex());
  EXPECT_THAT(Keys(json["rejected"][0]), ElementsAre("candidate", "reason"));
  EXPECT_THAT(Keys(json["source"]), ElementsAre("project", "version", "date"));
}

TEST(GemmPlanJson, TilesThatDifferStandOnTheirOwn) {
  GemmPlan plan = SquarePlan();
  Order whole = plan.tiles[0].order;
  whole.pieces = {{0, 4096}};
  plan.tiles[0].n_tiles.end = 30;
  plan.tiles.push_back({{0, 1}, {30, 32}, whole});
  const auto json = GemmPlanJson(plan);
  EXPECT_FALSE(json.contains("pieces"));
  EXPECT_EQ(json["tiles"][1].dump(), R"({"m_tiles":[0,1],"n_tiles":[30,32],"pieces":[[0,4096]]})");
}

GemmPlan StreamKPlan() {
  return MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kStreamK))
      ->PlanWithWords({1, 4096, 4096}, H100());
}

TEST(GemmPlanJson, StreamKListsItsTiles) {
  const auto json = GemmPlanJson(StreamKPlan());
  EXPECT_EQ(json["decomposition"], "stream_k");
  EXPECT_EQ(json["sk_tiles"], 32);
  EXPECT_EQ(json["sk_units"], 132);
  EXPECT_EQ(json["ctas"], 132);
  EXPECT_EQ(json["combine"], "turnstile");
  EXPECT_FALSE(json.contains("pieces"));
  EXPECT_EQ(json["tiles"][0].dump(), R"({"m_tiles":[0,1],"n_tiles":[0,17],)"
                                     R"("pieces":[[0,1024],[1024,2048],[2048,3072],[3072,4096]]})");
}

TEST(GemmPlanJson, SlicesStandWhereTheyCount) {
  const auto gemv = GemmPlanJson(MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kGemv))
                                     ->PlanWithWords({1, 4096, 4096}, H100()));
  EXPECT_EQ(gemv["combine"], "butterfly");
  EXPECT_EQ(gemv["slice_k"], 32);
  EXPECT_EQ(gemv["block"], 256);
  EXPECT_FALSE(GemmPlanJson(SquarePlan()).contains("slice_k"));
}

TEST(AttentionPlanJson, KeysAndValuesOfTheFormat) {
  const auto policy = MakeAttentionPolicy({});
  const auto json = AttentionPlanJson(*policy, {{1, 4096}, {1, 100}}, {32, 8, 128}, H100());
  EXPECT_EQ(json["op"], "attention");
  EXPECT_EQ(json["block_n"], 128);
  EXPECT_EQ(json["direction"], "ascending");
  ASSERT_EQ(json["requests"].size(), 2u);
  const auto& request = json["requests"][0];
  EXPECT_EQ(request["q_len"], 1);
  EXPECT_EQ(request["kv_len"], 4096);
  EXPECT_EQ(request["num_splits"], 8);
  EXPECT_EQ(request["pieces"][7].dump(), "[3584,4096]");
  EXPECT_EQ(request["class"].get<std::string>().size(), 32u);
}

TEST(PlanText, SaysWhyThenWhatThenWhatNot) {
  const std::string text = GemmPlanText(SquarePlan());
  EXPECT_THAT(text, HasSubstr("textbook on h100_sxm (132 SMs): M 1, N 4096, K 4096, bf16\n"));
  EXPECT_THAT(text, HasSubstr("  32 blocks leave 100 of 132 SMs idle\n"));
  EXPECT_THAT(text, HasSubstr("split   4: 4 x 1024, combine serial_fp32\n"));
  EXPECT_THAT(text, HasSubstr("rejected\n  split_k = 3: 96 blocks leave 36 SMs idle\n"));
  const std::string stream = GemmPlanText(StreamKPlan());
  EXPECT_THAT(stream, HasSubstr("grid    1 x 32 tiles, 132 stream-K units over 32 of them: "));
  EXPECT_THAT(stream, HasSubstr("tile rows [0, 1), columns [0, 17): 4 x 1024\n"));
  EXPECT_THAT(stream, HasSubstr(" more in --json\n"));
  const auto policy = MakeAttentionPolicy({});
  EXPECT_THAT(AttentionPlanText(*policy, {{1, 4096}}, {32, 8, 128}, H100()),
              HasSubstr("q_len 1  kv_len 4096  num_splits 16  combine lse"));
}

}  // namespace
}  // namespace batchvar
