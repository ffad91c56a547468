// The embedded model's margins are as wide as those of real models, so that what it shows of near
// ties is not an exaggeration.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/run_experiment.h"
#include "kernels/tokenizer/tokenizer.h"
#include "sim/config/load_trials.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

// bf16, greedy answers to chat prompts and to story openings.
struct RealModel {
  const char* name;
  double median_margin;
  double near_ties;  // share of tokens with a margin below 0.125
};
constexpr RealModel kRealModels[] = {{"SmolLM2-135M", 2.23, 0.047}, {"stories260K", 1.80, 0.060}};

constexpr float kNearTie = 0.125f;

constexpr const char* kPrompts[] = {"Explain a write-ahead log.",
                                    "Count from 1 to 400.",
                                    "Tell me about a lighthouse.",
                                    "Write a story about a river.",
                                    "What is a hash table?",
                                    "Describe a garden.",
                                    "List the steps of a batch scheduler.",
                                    "Give me ten facts about a cache.",
                                    "Explain a tensor core.",
                                    "Tell me about a train station."};

TEST(TinyModel, MarginsAreWithinAFactorOfTwoOfRealOnes) {
  const std::string folder = ProjectPath("configs/weights/batchvar_tiny");
  const auto tokenizer = ReadTokenizer(folder + "/tokenizer.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto trials = LoadTrialsText(
      "model: batchvar_tiny\nplan_model: qwen3_8b\ndevice: h100_sxm\npolicies: textbook\n"
      "experiment: {prompt: x, trials: 1, arms: [{name: alone}]}\n",
      "margins.yaml", ".", {});
  ASSERT_TRUE(trials.ok()) << trials.status();
  std::vector<float> margins;
  for (const char* prompt : kPrompts) {
    ExperimentOptions options;
    options.weights_folder = folder;
    const auto ids = (*tokenizer)->Encode(std::string("<|endoftext|>") + prompt + "\n");
    ASSERT_TRUE(ids.ok());
    options.prompt.assign(ids->begin(), ids->end());
    options.isa = BestIsa();
    options.repeat = false;
    const auto result = RunExperiment(*trials, options);
    ASSERT_TRUE(result.ok()) << result.status();
    for (const TopTwo& decision : result->reference) margins.push_back(decision.Margin());
  }
  std::sort(margins.begin(), margins.end());
  const double median = margins[margins.size() / 2];
  const auto ties = std::lower_bound(margins.begin(), margins.end(), kNearTie) - margins.begin();
  const double near_ties = static_cast<double>(ties) / static_cast<double>(margins.size());
  for (const RealModel& real : kRealModels) {
    EXPECT_GE(median, real.median_margin / 2) << real.name;
    EXPECT_LE(median, real.median_margin * 2) << real.name;
    EXPECT_GE(near_ties, real.near_ties / 2) << real.name;
    EXPECT_LE(near_ties, real.near_ties * 2) << real.name;
  }
}

}  // namespace
}  // namespace batchvar
