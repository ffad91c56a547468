// The `experiment` map of a file, and what is said of mistakes in it.
#include "sim/config/load_trials.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/config/load_sweep.h"

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

// What is expanded reads back as what it came from.
TEST(LoadTrials, ExpandsWithEveryDefault) {
  const auto trials = LoadTrialsText(
      std::string(kHead) +
          "  prompt: \"a \\\"quoted\\\" line\\n\"\n  arms:\n    - {name: alone}\n"
          "    - {name: load, fillers: 63, kv_placement: 4,\n"
          "       set: {policies: {gemm: {name: textbook, tile_n: 64}}, device.sm_count: 78}}\n"
          "    - {name: again, against: load, warm: true, seed: 9}\n",
      "exp.yaml", ".", {});
  ASSERT_TRUE(trials.ok()) << trials.status();
  const std::string text = ExpandToYaml(*trials);
  EXPECT_NE(text.find("window_s: 1"), std::string::npos) << text;
  EXPECT_NE(text.find("sm_count: 132"), std::string::npos) << text;
  const auto again = LoadTrialsText(text, "expanded.yaml", ".", {});
  ASSERT_TRUE(again.ok()) << again.status() << text;
  EXPECT_EQ(ExpandToYaml(*again), text);
  EXPECT_EQ(again->prompt, trials->prompt);
  EXPECT_EQ(again->plan_model, "qwen3_8b");
  EXPECT_EQ(again->arms[1].spec.policies.gemm.tile_n, 64);
  EXPECT_EQ(again->arms[1].kv_placement, 4u);
  EXPECT_EQ(again->arms[2].against, "load");
  EXPECT_EQ(again->arms[2].seed, 9u);
}

// A sweep's cells change what all arms share, and keys of the map itself.
TEST(LoadTrials, SweepsHaveOneExperimentACell) {
  const auto sweep = LoadSweepText(
      "base: {model: batchvar_tiny, plan_model: qwen3_8b, device: h100_sxm, experiment: "
      "{prompt_ids: [1, 2], arms: [{name: alone}, {name: load, fillers: 9, set: {tp: 2}}]}}\n"
      "command: experiment\n"
      "sweep: {parameters: {device.sm_count: [78, 132], experiment.trials: [2, 3]}}\n",
      "sweep.yaml", ".", {});
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const auto cells = LoadTrialCells(*sweep);
  ASSERT_TRUE(cells.ok()) << cells.status();
  ASSERT_EQ(cells->size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const TrialsSpec& trials = *(*cells)[i];
    EXPECT_EQ(trials.trials, i % 2 == 0 ? 2 : 3);
    for (const ArmSpec& arm : trials.arms) {
      EXPECT_EQ(arm.spec.device.sm_count, i < 2 ? 78 : 132);
      EXPECT_EQ(arm.spec.tp, arm.name == "load" ? 2 : 1);
    }
  }
  const auto shared = LoadCells(*sweep);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ((*shared)[3]->device.sm_count, 132);
  const auto wrong = LoadSweepText(
      "base: {model: batchvar_tiny, plan_model: qwen3_8b, device: h100_sxm, experiment: "
      "{prompt_ids: [1], arms: [{name: alone}]}}\ncommand: experiment\n"
      "sweep: {parameters: {experiment.trails: [2]}}\n",
      "sweep.yaml", ".", {});
  ASSERT_TRUE(wrong.ok());
  EXPECT_NE(LoadTrialCells(*wrong).status().message().find("did you mean 'trials'"),
            std::string::npos);
}

TEST(LoadTrials, AFileWithoutTheMapSaysSo) {
  const auto trials = LoadTrialsText("model: qwen3_8b\ndevice: h100_sxm\n", "exp.yaml", ".", {});
  ASSERT_FALSE(trials.ok());
  EXPECT_NE(trials.status().message().find("configs/experiments/chapter.yaml"), std::string::npos);
}

}  // namespace
}  // namespace batchvar
