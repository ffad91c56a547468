// The chapter's question on a real trained model: twenty openings of stories, each sent twenty
// times among 63 fillers, summed as Qwen3-8B would be with vLLM's Triton attention, whose kernel
// splits the KV of small batches and not that of large ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/experiment/run_experiment.h"
#include "kernels/tokenizer/tokenizer.h"
#include "sim/config/load_trials.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

constexpr int64_t kBosToken = 1;

class Openings : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = ModelsPath("stories260K");
    BATCHVAR_SKIP_WITHOUT(folder_ + "/openings.json");
    std::ifstream in(folder_ + "/openings.json");
    openings_ = nlohmann::json::parse(in).get<std::vector<std::string>>();
    auto tokenizer = ReadTokenizer(folder_ + "/tok512.bin");
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    tokenizer_ = std::move(*tokenizer);
  }

  ExperimentResult Run(const std::string& opening, const std::string& dtype,
                       const std::string& arms) {
    const auto trials = LoadTrialsText(
        "model: stories260K\nplan_model: qwen3_8b\ndevice: h100_sxm\ndtype: " + dtype +
            "\npolicies: {gemm: textbook, attention: vllm_triton}\n"
            "experiment:\n  prompt: x\n  max_tokens: 256\n  trials: 20\n  arms:\n" +
            arms,
        "openings.yaml", ".", {});
    EXPECT_TRUE(trials.ok()) << trials.status();
    ExperimentOptions options;
    options.weights_folder = folder_;
    const auto ids = tokenizer_->Encode(opening);
    EXPECT_TRUE(ids.ok()) << ids.status();
    options.prompt.assign(ids->begin(), ids->end());
    options.prompt.insert(options.prompt.begin(), kBosToken);
    options.isa = BestIsa();
    options.threads = 2;
    options.repeat = false;
    auto result = RunExperiment(*trials, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  std::string folder_;
  std::vector<std::string> openings_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(Openings, ManyHaveSeveralTextsAmongFillersAndFewerInFp16) {
  const std::string arms = "    - {name: alone}\n    - {name: load, fillers: 63}\n";
  int64_t several[2] = {}, differ[2] = {}, alone_distinct = 0;
  const std::string dtypes[2] = {"bf16", "fp16"};
  for (int i = 0; i < 2; ++i) {
    for (const std::string& opening : openings_) {
      const ExperimentResult result = Run(opening, dtypes[i], arms);
      alone_distinct = std::max(alone_distinct, result.arms[0].distinct);
      several[i] += result.arms[1].distinct >= 2;
      differ[i] += result.arms[1].differ;
    }
    std::printf("%s: %lld of %zu openings have several texts, %lld of %zu trials differ\n",
                dtypes[i].c_str(), static_cast<long long>(several[i]), openings_.size(),
                static_cast<long long>(differ[i]), 20 * openings_.size());
  }
  EXPECT_EQ(alone_distinct, 1);
  EXPECT_GE(4 * several[0], std::ssize(openings_));  // 5 of 20
  EXPECT_LT(differ[1], differ[0]);
}

TEST_F(Openings, WhatMustNotChangeABitDoesNot) {
  const std::string cure = "set: {policies: batch_invariant}}\n";
  for (size_t i = 0; i < std::min<size_t>(3, openings_.size()); ++i) {
    const ExperimentResult result =
        Run(openings_[i], "bf16",
            "    - {name: alone}\n    - {name: seed, seed: 7}\n"
            "    - {name: placed, kv_placement: 3}\n"
            "    - {name: cure_alone, " +
                cure + "    - {name: cure_load, fillers: 63, against: cure_alone, " + cure +
                "    - {name: cure_warm, warm: true, fillers: 20, against: cure_alone, " + cure);
    for (const ArmResult& arm : result.arms) {
      EXPECT_EQ(arm.distinct, 1) << openings_[i] << ": " << arm.name;
      if (arm.name == "cure_alone") continue;  // another policy than `alone`
      EXPECT_EQ(arm.differ, 0) << openings_[i] << ": " << arm.name;
      // Not only the texts: no margin moved.
      EXPECT_EQ(arm.noise.low, arm.noise.high) << openings_[i] << ": " << arm.name;
    }
  }
}

}  // namespace
}  // namespace batchvar
