// Whole experiments on the embedded model: what must never change a bit does not, sharing rows is
// invisible in the texts, and pinning every op removes every difference.
#include "kernels/experiment/run_experiment.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/experiment/lineages.h"
#include "kernels/experiment/trial_history.h"
#include "sim/config/load_trials.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

std::string Folder() { return ProjectPath("configs/weights/batchvar_tiny"); }

TrialsSpec Trials(const std::string& arms, const std::string& more = "") {
  const auto trials = LoadTrialsText(
      "model: batchvar_tiny\nplan_model: qwen3_8b\ndevice: h100_sxm\npolicies: vllm_h100\n" + more +
          "experiment:\n  prompt_ids: [0, 40, 71, 300, 12, 9, 83, 27, 14, 110]\n  max_tokens: 40\n"
          "  trials: 4\n  arms:\n" +
          arms,
      "exp.yaml", ".", {});
  EXPECT_TRUE(trials.ok()) << trials.status();
  return *trials;
}

ExperimentOptions Options(const TrialsSpec& trials) {
  ExperimentOptions options;
  options.weights_folder = Folder();
  options.prompt = trials.prompt_ids;
  options.isa = BestIsa();
  options.repeat = false;
  return options;
}

ExperimentResult RunAll(const TrialsSpec& trials, const ExperimentOptions& options) {
  const auto result = RunExperiment(trials, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

constexpr char kAlone[] = "    - {name: alone}\n";

TEST(Experiment, AloneRepeatsAndTheSamplingSeedChangesNothing) {
  const TrialsSpec trials = Trials(std::string(kAlone) + "    - {name: seed, seed: 9}\n");
  ExperimentOptions options = Options(trials);
  options.repeat = true;
  const ExperimentResult result = RunAll(trials, options);
  for (const ArmResult& arm : result.arms) {
    EXPECT_EQ(arm.distinct, 1) << arm.name;
    EXPECT_EQ(arm.differ, 0) << arm.name;
    EXPECT_TRUE(arm.repeat_identical) << arm.name;
    EXPECT_EQ(arm.max_batch, 1) << arm.name;
  }
  // Four trials with one history are computed once.
  EXPECT_EQ(result.arms[0].rows_needed, 4 * result.arms[0].rows_computed);
}

TEST(Experiment, BatchInvariantPoliciesGiveOneTextUnderAnyLoadCutAndCache) {
  const TrialsSpec trials =
      Trials(std::string(kAlone) +
                 "    - {name: load, fillers: 63}\n"
                 "    - {name: chunks, fillers: 20, set: {scheduler.max_num_batched_tokens: 24}}\n"
                 "    - {name: warm, warm: true}\n",
             "");
  TrialsSpec invariant = trials;
  for (ArmSpec& arm : invariant.arms) {
    const auto policies = LoadTrialsText(
        "model: batchvar_tiny\nplan_model: qwen3_8b\ndevice: h100_sxm\npolicies: batch_invariant\n"
        "experiment:\n  prompt_ids: [1]\n  arms: [{name: a}]\n",
        "p.yaml", ".", {});
    ASSERT_TRUE(policies.ok());
    arm.spec.policies = policies->arms[0].spec.policies;
  }
  const ExperimentResult result = RunAll(invariant, Options(invariant));
  EXPECT_GT(result.arms[1].median_batch, 30);
  for (const ArmResult& arm : result.arms) {
    EXPECT_EQ(arm.distinct, 1) << arm.name;
    EXPECT_EQ(arm.differ, 0) << arm.name;
  }
}

// A trial executed alone gives the text that it has among all others.
TEST(Lineages, SharingRowsIsInvisible) {
  const TrialsSpec trials = Trials("    - {name: load, fillers: 40}\n");
  WorkerPool pool(2);
  const auto weights = LoadDecoderWeights(Folder(), DType::kBf16, 1);
  ASSERT_TRUE(weights.ok()) << weights.status();
  auto planner = ArmPlanner::Make(trials, trials.arms[0], weights->config.model);
  ASSERT_TRUE(planner.ok()) << planner.status();
  std::vector<TrialHistory> histories;
  for (int64_t trial = 0; trial < 5; ++trial) {
    histories.push_back(*(*planner)->Simulate(trial, std::ssize(trials.prompt_ids)));
  }
  std::vector<const TrialHistory*> all;
  for (const TrialHistory& history : histories) all.push_back(&history);
  LineageOptions options;
  options.max_tokens = 40;
  Decoder decoder(*weights, BestIsa(), &pool);
  const auto together = RunLineages(&decoder, trials.prompt_ids, all, options);
  ASSERT_TRUE(together.ok()) << together.status();
  EXPECT_LT(together->rows_computed, together->rows_needed);
  EXPECT_GT(together->lineages, 1);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<const TrialHistory*> one = {all[i]};
    const auto apart = RunLineages(&decoder, trials.prompt_ids, one, options);
    ASSERT_TRUE(apart.ok());
    EXPECT_EQ(apart->texts[0].tokens, together->texts[i].tokens) << i;
    EXPECT_EQ(apart->texts[0].top_twos, together->texts[i].top_twos) << i;
    EXPECT_EQ(apart->rows_computed, apart->rows_needed);
  }
}

// Preempted requests compute their positions again; the events then go back, and the run goes on.
TEST(TrialHistory, PreemptionComputesPositionsAgain) {
  const TrialsSpec trials = Trials(
      "    - {name: tight, fillers: 63, set: {scheduler.max_model_len: 400, "
      "scheduler.num_gpu_blocks: 60, "
      "scheduler.enable_prefix_caching: false}}\n");
  const auto weights = LoadDecoderWeights(Folder(), DType::kBf16, 1);
  ASSERT_TRUE(weights.ok());
  auto planner = ArmPlanner::Make(trials, trials.arms[0], weights->config.model);
  ASSERT_TRUE(planner.ok()) << planner.status();
  bool again = false;
  for (int64_t trial = 0; trial < 4; ++trial) {
    const auto history = (*planner)->Simulate(trial, std::ssize(trials.prompt_ids));
    ASSERT_TRUE(history.ok()) << history.status();
    for (size_t i = 1; i < history->events.size(); ++i) {
      again = again || history->events[i].position <= history->events[i - 1].position;
    }
  }
  EXPECT_TRUE(again);
  EXPECT_TRUE(RunExperiment(trials, Options(trials)).ok());
}

TEST(Experiment, ThreadsAndInstructionSetsGiveTheSameTexts) {
  const TrialsSpec trials = Trials(std::string(kAlone) + "    - {name: load, fillers: 63}\n");
  ExperimentOptions options = Options(trials);
  const ExperimentResult best = RunAll(trials, options);
  options.threads = 2;
  options.isa = HasIsa(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
  const ExperimentResult other = RunAll(trials, options);
  for (size_t i = 0; i < best.arms.size(); ++i) {
    EXPECT_EQ(best.arms[i].texts, other.arms[i].texts);
  }
}

TEST(Experiment, PinningEveryOpRemovesEveryDifference) {
  const TrialsSpec trials = Trials(std::string(kAlone) + "    - {name: load, fillers: 63}\n");
  ExperimentOptions options = Options(trials);
  for (size_t op = 0; op < kNumOps; ++op) options.pinned.push_back(static_cast<Op>(op));
  const ExperimentResult result = RunAll(trials, options);
  EXPECT_EQ(result.arms[1].differ, 0);
  EXPECT_EQ(result.arms[1].texts, result.arms[0].texts);
}

// K is cut by rank and the ranks' sums meet in an all-reduce: bits move, and repeat.
TEST(Experiment, TensorParallelDegreesAreArms) {
  const TrialsSpec trials = Trials(std::string(kAlone) +
                                   "    - {name: tp_2, set: {tp: 2}}\n"
                                   "    - {name: ring, fillers: 20, against: tp_2, set: "
                                   "{tp: 2, policies.allreduce: ring}}\n");
  ExperimentOptions options = Options(trials);
  options.repeat = true;
  const ExperimentResult result = RunAll(trials, options);
  EXPECT_GT(SummaryOf(result.arms[1].noise, result.arms[1].reference).max_width, 0.0);
  EXPECT_EQ(result.arms[1].distinct, 1);
  for (const ArmResult& arm : result.arms) EXPECT_TRUE(arm.repeat_identical) << arm.name;
}

TEST(Experiment, WeightsOfOtherShapesNeedBorrowedPlans) {
  TrialsSpec trials = Trials(kAlone);
  trials.plan_model.clear();
  const auto result = RunExperiment(trials, Options(trials));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("plan_model"), std::string::npos);
}

}  // namespace
}  // namespace batchvar
