// The `execute` map of a file, and the key `weights` wherever it stands.
#include "sim/config/load_replay.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/config/load_experiment.h"
#include "sim/config/load_trials.h"

namespace batchvar {
namespace {

constexpr char kHead[] =
    "model: qwen3_8b\ndevice: h100_sxm\nworkload: {arrivals: {process: all_at_once}, "
    "prompt_len: {fixed: 9}, output_len: {fixed: 9}, num_requests: 3}\n";
constexpr char kSmall[] =
    "{layers: 2, hidden_size: 64, intermediate_size: 128, q_heads: 4, kv_heads: 2, head_dim: 16, "
    "vocab_size: 256, max_positions: 128}";

absl::StatusOr<ReplaySpec> Load(const std::string& block,
                                const std::vector<std::string>& overrides = {}) {
  return LoadReplayText(kHead + block, "run.yaml", ".", overrides);
}

std::string ErrorOf(const std::string& block) {
  const auto replay = Load(block);
  return replay.ok() ? "" : std::string(replay.status().message());
}

TEST(LoadReplay, AnOrdinaryExperimentStaysOne) {
  const auto replay = Load("", {"seed=9", "policies.gemm.tile_n=64"});
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->execute.has_value());
  EXPECT_EQ(replay->experiment.seed, 9U);
  EXPECT_EQ(replay->experiment.policies.gemm.tile_n, 64);
}

TEST(LoadReplay, ExecuteNamesRequestsAndWeights) {
  const auto replay = Load("execute: {requests: [r0, r2], weights: batchvar_tiny, logits: bf16}\n",
                           {"execute.requests=[r1]", "tp=2"});
  ASSERT_TRUE(replay.ok()) << replay.status();
  ASSERT_TRUE(replay->execute.has_value());
  EXPECT_EQ(replay->execute->requests, std::vector<std::string>{"r1"});
  EXPECT_EQ(replay->execute->weights, "batchvar_tiny");
  EXPECT_EQ(replay->execute->logits, DType::kBf16);
  EXPECT_FALSE(replay->execute->synthetic.has_value());
  EXPECT_EQ(replay->experiment.tp, 2);
}

TEST(LoadReplay, SyntheticWeightsAreThoseOfThePlannedModelOrOfAnother) {
  const auto own = Load("execute: {requests: [r0], weights: synthetic}\n");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->execute->synthetic->model.hidden_size, 4096);
  EXPECT_EQ(own->execute->synthetic->spec, SyntheticSpec{});
  EXPECT_EQ(own->execute->weights, "qwen3_8b");
  const auto other = Load(std::string("execute: {requests: [r0], weights: {synthetic: {seed: 3, "
                                      "alpha: 0.5, beta: 2}}, model: ") +
                          kSmall + "}\n");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->execute->synthetic->model.hidden_size, 64);
  EXPECT_EQ(other->execute->synthetic->spec, (SyntheticSpec{3, 0.5, 2.0}));
  EXPECT_EQ(other->experiment.model.hidden_size, 4096);
}

TEST(LoadReplay, MistakesAreNamed) {
  EXPECT_NE(ErrorOf("execute: {weights: batchvar_tiny}\n").find("execute.requests"),
            std::string::npos);
  EXPECT_NE(ErrorOf("execute: {requests: [a, a], weights: x}\n").find("names 'a' twice"),
            std::string::npos);
  EXPECT_NE(ErrorOf("execute: {requests: a, weights: x}\n").find("list of request ids"),
            std::string::npos);
  EXPECT_NE(ErrorOf("execute: {requests: [a], weights: x, modle: y}\n").find("did you mean"),
            std::string::npos);
  EXPECT_NE(ErrorOf("execute: {requests: [a], weights: x, model: qwen3_8b}\n").find("not used by"),
            std::string::npos);
  EXPECT_NE(ErrorOf("execute: {requests: [a], weights: {synthetc: {}}}\n").find("did you mean"),
            std::string::npos);
  EXPECT_NE(ErrorOf("execute: {requests: [a], weights: {synthetic: {beta: 0}}}\n").find("beta"),
            std::string::npos);
}

TEST(LoadReplay, OtherCommandsSayWhoRunsIt) {
  const auto spec = LoadExperimentText(
      std::string(kHead) + "execute: {requests: [r0], weights: synthetic}\n", "run.yaml", ".", {});
  ASSERT_FALSE(spec.ok());
  EXPECT_NE(spec.status().message().find("batchvar simulate"), std::string::npos);
}

TEST(LoadTrials, SyntheticWeightsTakeTheExecutedModelAndIdsOnly) {
  const std::string head = std::string("model: ") + kSmall +
                           "\nplan_model: qwen3_8b\ndevice: h100_sxm\nexperiment: {weights: "
                           "synthetic, arms: [{name: alone}], ";
  const auto trials = LoadTrialsText(head + "prompt_ids: [1, 2]}\n", "exp.yaml", ".", {});
  ASSERT_TRUE(trials.ok()) << trials.status();
  EXPECT_EQ(trials->synthetic->model.hidden_size, 64);
  EXPECT_EQ(trials->weights, "inline");
  EXPECT_EQ(trials->arms[0].spec.model.hidden_size, 4096);
  const auto text = LoadTrialsText(head + "prompt: hello}\n", "exp.yaml", ".", {});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("give prompt_ids"), std::string::npos);
}

}  // namespace
}  // namespace batchvar
