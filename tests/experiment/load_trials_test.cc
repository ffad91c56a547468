// The `experiment` map of a file, and what is said of mistakes in it.
#include "sim/config/load_trials.h"

#include <gtest/gtest.h>

#include <string>

namespace batchvar {
namespace {

constexpr char kHead[] =
    "model: batchvar_tiny\nplan_model: qwen3_8b\ndevice: h100_sxm\nexperiment:\n";

std::string ErrorOf(const std::string& block) {
  const auto trials = LoadTrialsText(kHead + block, "exp.yaml", ".", {});
  return trials.ok() ? "" : std::string(trials.status().message());
}

TEST(LoadTrials, ArmsCarryTheirOwnSpecs) {
  const auto trials = LoadTrialsText(
      std::string(kHead) +
          "  prompt: hello\n  trials: 3\n  logits: bf16\n  arms:\n"
          "    - {name: alone}\n"
          "    - {name: load, fillers: 63, set: {policies: batch_invariant, device.sm_count: 78}}\n"
          "    - {name: again, against: load, warm: true}\n",
      "exp.yaml", ".", {"seed=5"});
  ASSERT_TRUE(trials.ok()) << trials.status();
  EXPECT_EQ(trials->weights, "batchvar_tiny");
  EXPECT_EQ(trials->plan_model, "qwen3_8b");
  EXPECT_EQ(trials->trials, 3);
  EXPECT_EQ(trials->max_tokens, 256);
  EXPECT_EQ(trials->logits, DType::kBf16);
  ASSERT_EQ(trials->arms.size(), 3U);
  EXPECT_EQ(trials->arms[0].spec.model.hidden_size, 4096);
  EXPECT_EQ(trials->arms[0].spec.seed, 5U);
  EXPECT_EQ(trials->arms[0].against, "alone");
  EXPECT_EQ(trials->arms[1].spec.device.sm_count, 78);
  EXPECT_EQ(trials->arms[0].spec.device.sm_count, 132);
  EXPECT_EQ(trials->arms[1].spec.policies.gemm.kind, GemmPolicyKind::kBatchInvariant);
  EXPECT_EQ(trials->arms[2].against, "load");
  EXPECT_TRUE(trials->arms[2].warm);
}

TEST(LoadTrials, MistakesAreNamed) {
  EXPECT_NE(ErrorOf("  prompt: a\n").find("experiment.arms"), std::string::npos);
  EXPECT_NE(ErrorOf("  arms: [{name: a}]\n").find("give either prompt (text) or prompt_ids"),
            std::string::npos);
  EXPECT_NE(ErrorOf("  prompt: a\n  arms: [{name: a}, {name: a}]\n").find("two arms are called"),
            std::string::npos);
  EXPECT_NE(ErrorOf("  prompt: a\n  arms: [{name: load}, {name: b, against: laod}]\n")
                .find("did you mean 'load'"),
            std::string::npos);
  EXPECT_NE(ErrorOf("  prompt: a\n  arms: [{name: a, filers: 3}]\n").find("did you mean 'fillers'"),
            std::string::npos);
  EXPECT_NE(ErrorOf("  prompt: a\n  arms: [{name: a, set: {device.sm_cout: 3}}]\n").find("sm_cout"),
            std::string::npos);
}

TEST(LoadTrials, AFileWithoutTheMapSaysSo) {
  const auto trials = LoadTrialsText("model: qwen3_8b\ndevice: h100_sxm\n", "exp.yaml", ".", {});
  ASSERT_FALSE(trials.ok());
  EXPECT_NE(trials.status().message().find("configs/experiments/chapter.yaml"), std::string::npos);
}

}  // namespace
}  // namespace batchvar
