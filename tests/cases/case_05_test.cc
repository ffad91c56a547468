// case-05: the first request differs from its repeats (vllm-project/vllm#40896): cold and warm
// prefills have other shapes. The lines that concern plans; that a tie-breaking rule does not help
// concerns values, not plans.
#include "tests/cases/case_replay.h"

namespace batchvar {
namespace {

constexpr int64_t kApartNs = 100'000'000'000;  // long after the request before is done
constexpr int kPromptTokens = 1000;

std::string Head(const char* policies, bool caching = true) {
  return std::string("model: qwen3_0_6b\ndevice: h100_sxm\nscheduler: {enable_prefix_caching: ") +
         (caching ? "true" : "false") + "}\npolicies: " + policies + "\n";
}

std::string Id(int i) { return "r" + std::to_string(i); }

// Requests 0 and 1 have texts of their own; 2, 3 and 4 repeat the text of 1.
ReplayResult ColdThenWarm(const char* policies) {
  std::string trace;
  for (int i = 0; i < 5; ++i) {
    trace +=
        TraceLine(Id(i), i * kApartNs, kPromptTokens, 32, i == 0 ? "[[7, 1000]]" : "[[8, 1000]]");
  }
  return ReplayOf(Head(policies), trace, {Id(0), Id(1), Id(2), Id(3), Id(4)});
}

TEST(Case05, ColdAndWarmDifferWithNobodyElseThere) {
  for (const char* policies : {"textbook", "vllm_h100"}) {
    const ReplayResult run = ColdThenWarm(policies);
    EXPECT_EQ(run.census->by_requests().size(), 1u);
    EXPECT_EQ(run.census->by_requests().begin()->first, 1);
    EXPECT_EQ(run.simulation.requests[1].cached_tokens, 0);
    EXPECT_EQ(run.simulation.requests[2].cached_tokens, 992);  // the last token is always computed
    const RowComparison rows = Compared(run, 1, run, 2);
    EXPECT_GT(Differ(rows, run, Op::kQkvProj), 0) << policies;
    EXPECT_EQ(rows.first->a.entry.num_scheduled, kPromptTokens) << policies;
    EXPECT_EQ(rows.first->b.entry.num_scheduled, kPromptTokens - 992) << policies;
  }
  const ReplayResult run = ColdThenWarm("textbook");
  EXPECT_GT(Differ(Compared(run, 1, run, 2), run, Op::kAttention), 0);
}

TEST(Case05, ColdEqualsColdAndWarmEqualsWarm) {
  for (const char* policies : {"textbook", "vllm_h100"}) {
    const ReplayResult run = ColdThenWarm(policies);
    const RowComparison cold = Compared(run, 0, run, 1);
    EXPECT_FALSE(cold.first.has_value()) << policies;
    EXPECT_TRUE(cold.unpaired.empty()) << policies;
    EXPECT_FALSE(Compared(run, 2, run, 3).first.has_value()) << policies;
    EXPECT_FALSE(Compared(run, 3, run, 4).first.has_value()) << policies;
  }
}

TEST(Case05, TheDifferenceDoesNotGrowWithReuse) {
  const ReplayResult run = ColdThenWarm("textbook");
  const RowComparison once = Compared(run, 1, run, 2);
  for (const size_t later : {3, 4}) {
    const RowComparison again = Compared(run, 1, run, later);
    for (size_t op = 0; op < once.by_op.size(); ++op) {
      EXPECT_EQ(again.by_op[op].differ, once.by_op[op].differ) << op;
    }
  }
}

// A conversation that grows by 64 tokens, each turn asked for again: 12 lengths, 20 repeats.
std::string Chained() {
  std::string trace;
  std::string prefix;
  for (int turn = 1; turn <= 12; ++turn) {
    prefix += (turn > 1 ? ", [" : "[") + std::to_string(turn) + ", 64]";
    trace += TraceLine(Id(turn - 1), turn * kApartNs, 64 * turn, 16, "[" + prefix + "]");
  }
  for (int i = 12; i < 32; ++i) {
    trace += TraceLine(Id(i), (i + 1) * kApartNs, 64 * 12, 16, "[" + prefix + "]");
  }
  return trace;
}

TEST(Case05, BatchInvariantRowsAreTheSameColdAndWarmWithTheCacheOn) {
  std::vector<std::string> ids;
  for (int i = 0; i < 32; ++i) ids.push_back(Id(i));
  const auto differences = [&ids](const char* policies) {
    const ReplayResult warm = ReplayOf(Head(policies), Chained(), ids);
    const ReplayResult cold = ReplayOf(Head(policies, /*caching=*/false), Chained(), ids);
    int differ = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(warm.simulation.requests[i].cached_tokens > 0, i > 0);
      differ += Compared(cold, i, warm, i).first.has_value() ? 1 : 0;
    }
    return differ;
  };
  EXPECT_EQ(differences("batch_invariant"), 0);
  EXPECT_GT(differences("textbook"), 0);
}

}  // namespace
}  // namespace batchvar
