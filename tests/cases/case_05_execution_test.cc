// case-05 by execution: the first request differs from its repeats (vllm-project/vllm#40896), with
// nobody else there. A random model of the case's family runs under its own plans, wide enough for
// them to be cut and narrow enough to run in no time.
#include "tests/cases/case_decoder.h"
#include "tests/cases/case_replay.h"

namespace batchvar {
namespace {

constexpr int64_t kApartNs = 100'000'000'000;  // long after the request before is done
constexpr int kPromptTokens = 400;
constexpr int kOutputTokens = 32;
constexpr int kRepeats = 20;
constexpr int kBlockSize = 16;

std::string Head(const char* policies) {
  return std::string("model: qwen3_0_6b\ndevice: h100_sxm\npolicies: ") + policies + "\n";
}

std::string Id(int i) { return "r" + std::to_string(i); }

// Requests 0 and 1 have texts of their own to the scheduler, so both are cold; 2 and all later ones
// repeat the text of 1. Executed they have one and the same prompt.
class ColdThenWarm {
 public:
  ColdThenWarm(CaseModel* model, const char* policies, int warm)
      : model_(model), run_(Replayed(policies, warm)) {}

  CaseText TextOf(size_t request, const CaseRun& run = {}, uint64_t prompt = 0) const {
    return ExecuteCase(model_, model_->Prompt(kPromptTokens, prompt),
                       CaseRows(*model_, run_, request, kPromptTokens + kOutputTokens - 1), run);
  }

 private:
  static ReplayResult Replayed(const char* policies, int warm) {
    std::string trace;
    std::vector<std::string> ids;
    for (int i = 0; i < 2 + warm; ++i) {
      ids.push_back(Id(i));
      trace +=
          TraceLine(Id(i), i * kApartNs, kPromptTokens, kOutputTokens,
                    std::string(i == 0 ? "[[7, " : "[[8, ") + std::to_string(kPromptTokens) + "]]");
    }
    ReplayResult run = ReplayOf(Head(policies), trace, ids);
    EXPECT_EQ(run.census->by_requests().size(), 1u);  // one request at a time
    for (int i = 0; i < 2 + warm; ++i) {
      EXPECT_EQ(run.simulation.requests[i].cached_tokens, i < 2 ? 0 : kPromptTokens - kBlockSize);
    }
    return run;
  }

  CaseModel* model_;
  ReplayResult run_;
};

class Case05Execution : public testing::Test {
 protected:
  CaseModel model_{TinyModel()};
};

TEST_F(Case05Execution, ColdEqualsColdWarmEqualsWarmAndColdIsNotWarm) {
  for (const char* policies : {"textbook", "sglang_h100"}) {
    ColdThenWarm run(&model_, policies, 3);
    const CaseText cold = run.TextOf(0), warm = run.TextOf(2);
    ASSERT_EQ(std::ssize(cold.tokens), kOutputTokens);
    EXPECT_TRUE(SameBits(cold, run.TextOf(1))) << policies;
    EXPECT_TRUE(SameBits(warm, run.TextOf(3))) << policies;
    EXPECT_TRUE(SameBits(warm, run.TextOf(4))) << policies;
    const CaseText followed = run.TextOf(2, {DType::kFp32, cold.tokens});
    EXPECT_GT(LogitDistance(cold, followed, kOutputTokens), 0) << policies;
  }
}

TEST_F(Case05Execution, TheDifferenceDoesNotGrowWithReuse) {
  ColdThenWarm run(&model_, "textbook", kRepeats);
  const CaseText cold = run.TextOf(1);
  const auto distance = [&](size_t request) {
    return LogitDistance(cold, run.TextOf(request, {DType::kFp32, cold.tokens}), kOutputTokens);
  };
  const double once = distance(2);
  EXPECT_GT(once, 0);
  for (size_t request = 3; request < 2 + kRepeats; ++request) {
    EXPECT_EQ(distance(request), once) << request;
  }
}

// Cold and warm at every position of the cold text, with logits rounded to 16 bits, where ties are
// common. Whichever of two tied tokens a rule prefers, some positions flip: the logits have moved.
TEST_F(Case05Execution, ATieBreakingRuleDoesNotRemoveTheFlip) {
  constexpr int kPrompts = 8;
  ColdThenWarm run(&model_, "textbook", 1);
  int lowest = 0, highest = 0, both = 0;
  for (uint64_t prompt = 0; prompt < kPrompts; ++prompt) {
    const CaseText cold = run.TextOf(1, {DType::kBf16, {}}, prompt);
    const CaseText warm = run.TextOf(2, {DType::kBf16, cold.tokens}, prompt);
    for (size_t step = 0; step < cold.logits.size(); ++step) {
      const auto &a = cold.logits[step], &b = warm.logits[step];
      const bool flips_lowest = LowestIndex(a) != LowestIndex(b);
      const bool flips_highest = HighestIndex(a) != HighestIndex(b);
      lowest += flips_lowest ? 1 : 0;
      highest += flips_highest ? 1 : 0;
      both += flips_lowest && flips_highest ? 1 : 0;
    }
  }
  std::printf("of %d tokens %d flip with the lowest index first, %d with the highest, %d both\n",
              kPrompts * kOutputTokens, lowest, highest, both);
  EXPECT_GT(lowest, 0);
  EXPECT_GT(highest, 0);
  EXPECT_GT(both, 0);
}

// A conversation that grows by 16 tokens, 12 lengths, and then 20 repeats, the cache on: warm bits
// are the cold ones where one order serves all shapes, and only there.
class Chain {
 public:
  static constexpr int kLengths = 12, kTurn = 16, kAnswer = 4;

  Chain(CaseModel* model, const char* policies) : model_(model) {
    std::string trace, prefix;
    std::vector<std::string> ids;
    for (int i = 0; i < kLengths + kRepeats; ++i) {
      if (i < kLengths) {
        prefix +=
            (i > 0 ? ", [" : "[") + std::to_string(i + 1) + ", " + std::to_string(kTurn) + "]";
      }
      ids.push_back(Id(i));
      trace += TraceLine(Id(i), (i + 1) * kApartNs, PromptOf(i), kAnswer, "[" + prefix + "]");
    }
    warm_ = ReplayOf(Head(policies), trace, ids);
    cold_ = ReplayOf(Head(policies) + "scheduler: {enable_prefix_caching: false}\n", trace, ids);
  }
  // Of the first `count` requests, those whose warm bits are not their cold ones.
  int Differ(int count = kLengths + kRepeats) {
    int differ = 0;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(warm_.simulation.requests[i].cached_tokens > 0, i > 0);
      const auto text = [&](const ReplayResult& run) {
        return ExecuteCase(model_, model_->Prompt(PromptOf(i)),
                           CaseRows(*model_, run, i, PromptOf(i) + kAnswer - 1));
      };
      differ += SameBits(text(cold_), text(warm_)) ? 0 : 1;
    }
    return differ;
  }

 private:
  static int PromptOf(int i) { return kTurn * std::min(i + 1, kLengths); }

  CaseModel* model_;
  ReplayResult warm_;
  ReplayResult cold_;
};

TEST_F(Case05Execution, BatchInvariantIsBitExactOverAChainOfPrefixesWithTheCacheOn) {
  EXPECT_EQ(Chain(&model_, "batch_invariant").Differ(), 0);
  EXPECT_GT(Chain(&model_, "textbook").Differ(4), 0);
}

}  // namespace
}  // namespace batchvar
