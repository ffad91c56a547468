// case-06 by execution: a neighbour's prefill changes my decode kernel (vllm-project/vllm#51902).
// GEMMs are pinned; FlashAttention-3 without splits and pages drops its causal flag where the
// longest query of the step is one token, and then takes KV in other blocks. Plans are those of the
// case's model, borrowed by the small one that runs.
#include <set>

#include "kernels/experiment/run_experiment.h"
#include "sim/config/load_trials.h"
#include "sim/report/experiment_json.h"
#include "sim/report/experiment_text.h"
#include "tests/cases/case_decoder.h"
#include "tests/cases/case_replay.h"

namespace batchvar {
namespace {

constexpr int kPromptTokens = 60;
constexpr int kOutputTokens = 440;
constexpr int kReplays = 4;
constexpr char kModel[] =
    "{name: qwen2_5_0_5b, layers: 24, hidden_size: 896, intermediate_size: 4864, q_heads: 14, "
    "kv_heads: 2, head_dim: 64, vocab_size: 151936, max_positions: 32768, tied_embeddings: true}";
constexpr char kSelector[] = "{name: fa3, num_splits: 1, page_size: 0}";
constexpr char kControl[] = "{name: vllm_triton, segments: 1}";

std::string Pinned(const char* attention) {
  return std::string("{gemm: batch_invariant, attention: ") + attention + "}";
}

// With `replay` above 0 ten others come and go while the request decodes.
ReplayResult Replayed(const char* attention, int replay) {
  const std::string head = std::string("model: ") + kModel +
                           "\ndevice: h100_sxm\nscheduler: {max_num_batched_tokens: 8192}\n"
                           "policies: " +
                           Pinned(attention) + "\n";
  std::string trace = TraceLine("mine", 0, kPromptTokens, kOutputTokens);
  for (int i = 0; replay > 0 && i < 10; ++i) {
    trace += TraceLine("other" + std::to_string(i), (i + 1) * 20'000'000 + replay * 1'700'000,
                       100 + 211 * i * replay % 4000, 20);
  }
  return ReplayOf(head, trace, {"mine"});
}

class Case06Execution : public testing::Test {
 protected:
  CaseText TextOf(const ReplayResult& run, std::vector<int64_t> forced = {}) {
    return ExecuteCase(&model_, model_.Prompt(kPromptTokens),
                       CaseRows(model_, run, 0, kPromptTokens + kOutputTokens - 1),
                       {DType::kFp32, std::move(forced)});
  }
  CaseModel model_{TinyModel()};
};

// Decode steps of the request in which somebody else has a longer query: the tokens that they give.
std::vector<int64_t> StepsOverTheGate(const ReplayResult& run) {
  std::vector<int64_t> steps;
  for (const HistoryEntry& entry : run.histories[0]->entries()) {
    if (entry.phase != Phase::kDecode || entry.m == entry.num_requests) continue;
    for (int64_t p = entry.begin(); p < entry.end(); ++p) steps.push_back(p + 1 - kPromptTokens);
  }
  return steps;
}

TEST_F(Case06Execution, EveryReplayDiffersThoughFewStepsCrossTheGate) {
  const CaseText alone = TextOf(Replayed(kSelector, 0));
  ASSERT_EQ(std::ssize(alone.tokens), kOutputTokens);
  for (int replay = 1; replay <= kReplays; ++replay) {
    const ReplayResult run = Replayed(kSelector, replay);
    const std::vector<int64_t> over = StepsOverTheGate(run);
    ASSERT_FALSE(over.empty());
    EXPECT_LT(std::ssize(over), kOutputTokens * 4 / 100) << replay;
    const CaseText among = TextOf(run, alone.tokens);
    EXPECT_EQ(LogitDistance(alone, among, over[0]), 0) << replay;  // until then nothing differs
    EXPECT_GT(LogitDistance(alone, among, kOutputTokens), 0) << replay;
  }
}

TEST_F(Case06Execution, AKernelThatIgnoresTheLongestQueryGivesTheSameBitsInEveryReplay) {
  const CaseText alone = TextOf(Replayed(kControl, 0));
  for (int replay = 1; replay <= kReplays; ++replay) {
    const ReplayResult run = Replayed(kControl, replay);
    EXPECT_FALSE(StepsOverTheGate(run).empty());
    EXPECT_TRUE(SameBits(alone, TextOf(run))) << replay;
  }
}

// Whole experiments: a request among ten others whose prefills come in while it decodes, and who
// then decode with it.
class Case06Experiment : public testing::Test {
 protected:
  ExperimentResult Run(const char* attention, uint64_t prompt, std::vector<Op> pinned = {}) {
    const TempFile model(kModel, ".yaml");
    const auto trials =
        LoadTrialsText("model: batchvar_tiny\nplan_model: " + model.path() +
                           "\ndevice: h100_sxm\npolicies: " + Pinned(attention) +
                           "\nexperiment:\n  prompt_ids: [0]\n  max_tokens: 440\n  trials: 10\n"
                           "  window_s: 0.4\n  logits: bf16\n"
                           "  fillers: {prompt_tokens: 900, output_tokens: 2000}\n"
                           "  arms: [{name: alone}, {name: among, fillers: 10}]\n",
                       "case-06.yaml", ".", {});
    EXPECT_TRUE(trials.ok()) << trials.status();
    ExperimentOptions options;
    options.weights_folder = TinyModel();
    options.prompt = model_.Prompt(kPromptTokens, prompt);
    options.isa = BestIsa();
    options.threads = 2;
    options.repeat = false;
    options.pinned = std::move(pinned);
    auto result = RunExperiment(*trials, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }
  CaseModel model_{TinyModel()};
};

constexpr uint64_t kPrompt = 5;  // one whose trials part at a tie and at a gap

TEST_F(Case06Experiment, WithGemmsPinnedTextsVaryAndAttentionIsTheCause) {
  const ExperimentResult result = Run(kSelector, kPrompt);
  EXPECT_EQ(result.arms[0].distinct, 1);
  EXPECT_GT(result.arms[1].distinct, 1);
  EXPECT_EQ(result.verdict, "one arm supports a story: among against alone");
  for (const TextDivergence& divergence : result.arms[1].divergences) {
    EXPECT_EQ(divergence.first_op, Op::kAttention);
  }
  EXPECT_EQ(Run(kSelector, kPrompt, {Op::kAttention}).arms[1].differ, 0);
  EXPECT_EQ(Run(kControl, kPrompt).arms[1].differ, 0);
}

TEST_F(Case06Experiment, TheReportTellsTieFlipsFromFlipsWithAGap) {
  const ExperimentResult result = Run(kSelector, kPrompt);
  std::set<std::pair<int64_t, int64_t>> ties, gaps;  // as the text groups trials
  const nlohmann::ordered_json json = ExperimentJson(result)["arms"][1]["divergences"];
  ASSERT_EQ(json.size(), result.arms[1].divergences.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const TextDivergence& divergence = result.arms[1].divergences[i];
    const TopTwo& top_two = result.reference[static_cast<size_t>(divergence.position)];
    const bool tie = top_two.top_logit == top_two.runner_up_logit;
    EXPECT_EQ(json[i]["tie"], tie) << i;
    EXPECT_EQ(json[i]["margin"] == 0.0, tie) << i;
    (tie ? ties : gaps).insert({divergence.position, divergence.token_b});
  }
  EXPECT_FALSE(ties.empty());
  EXPECT_FALSE(gaps.empty());
  const std::string text =
      ExperimentText(result, [](int64_t token) { return std::to_string(token); });
  int told = 0;
  for (size_t at = text.find("a tie"); at != std::string::npos; at = text.find("a tie", at + 1)) {
    ++told;
  }
  EXPECT_EQ(told, std::ssize(ties)) << text;
}

}  // namespace
}  // namespace batchvar
