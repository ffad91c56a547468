// case-08: one more token switches the all-reduce (lightseekorg/tokenspeed#1234).
#include "sim/plan/allreduce_policy.h"
#include "tests/cases/case_replay.h"

namespace batchvar {
namespace {

std::string Head(const char* allreduce) {
  return std::string(
             "model: {name: case_08, layers: 2, hidden_size: 7168, intermediate_size: 18432, "
             "q_heads: 64, kv_heads: 8, head_dim: 112, vocab_size: 163840, max_positions: 8192}\n"
             "device: h100_sxm\ntp: 8\nscheduler: {padding: exact, num_gpu_blocks: 10000}\n"
             "policies: {gemm: batch_invariant, allreduce: ") +
         allreduce + "}\n";
}

// `first` requests that decode from the start, and one more that joins them.
ReplayResult OneMoreJoins(int first, const char* allreduce) {
  std::string trace;
  for (int i = 0; i < first; ++i) trace += TraceLine("r" + std::to_string(i), 0, 16, 200);
  trace += TraceLine("late", 20'000'000, 1, 100);
  return ReplayOf(Head(allreduce), trace, {"r4"});
}

std::vector<ClassChange> ChangesFrom(const ReplayResult& run, int64_t rows) {
  std::vector<ClassChange> changes =
      ClassChanges(*run.histories[0], IndexOf(*run.book, Op::kAllReduceMlp), run.book.get());
  std::erase_if(changes, [rows](const ClassChange& change) { return change.rows < rows; });
  return changes;
}

TEST(Case08, TheThresholdCountsTheMessagesOfAllRanks) {
  AllReducePolicySpec spec;
  spec.kind = AllReducePolicyKind::kOneShotUpTo;
  const auto device = LoadDevice("h100_sxm");
  ASSERT_TRUE(device.ok()) << device.status();
  const auto chosen = [&](int64_t tokens, int32_t ranks) {
    return PlanAllReduce(spec, {tokens, 7168, DType::kBf16, ranks}, *device).algorithm;
  };
  for (const auto& [ranks, cap] : {std::pair{8, 9}, {16, 4}}) {
    for (int tokens = 1; tokens <= 64; ++tokens) {
      EXPECT_EQ(chosen(tokens, ranks),
                tokens <= cap ? AllReducePolicyKind::kOneShot : AllReducePolicyKind::kTwoShot)
          << tokens << " tokens, " << ranks << " ranks";
    }
  }
}

TEST(Case08, ADecodeInABatchOfNineAndThenOfTenChangesItsOrder) {
  const ReplayResult run = OneMoreJoins(9, "one_shot_up_to");
  PlanBook& book = *run.book;
  const size_t op = IndexOf(book, Op::kAllReduceMlp);
  const HistoryEntry* before = nullptr;
  bool seen = false;
  for (const HistoryEntry& entry : run.histories[0]->entries()) {
    if (before != nullptr && before->m == 9 && entry.m == 10) {
      seen = true;
      EXPECT_EQ(entry.begin(), before->end());  // two tokens in a row
      EXPECT_EQ(entry.first_row, before->first_row);
      EXPECT_NE(book.RowClass(op, book.Lookup(op, 9), before->first_row),
                book.RowClass(op, book.Lookup(op, 10), entry.first_row));
    }
    before = entry.phase == Phase::kDecode ? &entry : nullptr;
  }
  EXPECT_TRUE(seen);
}

TEST(Case08, FromTenToSixtyFourNothingChanges) {
  const ReplayResult run = OneMoreJoins(10, "one_shot_up_to");
  PlanBook& book = *run.book;
  const size_t op = IndexOf(book, Op::kAllReduceMlp);
  for (int64_t m = 10; m <= 64; ++m) {
    EXPECT_EQ(book.Lookup(op, m).klass, book.Lookup(op, 10).klass) << m;
    for (int64_t row = 0; row < 10; ++row) {
      EXPECT_EQ(book.RowClass(op, book.Lookup(op, m), row),
                book.RowClass(op, book.Lookup(op, 10), row))
          << m << " row " << row;
    }
  }
}

TEST(Case08, OneAlgorithmForAllSizesIsAFix) {
  const ReplayResult run = OneMoreJoins(9, "one_shot");
  PlanBook& book = *run.book;
  const size_t op = IndexOf(book, Op::kAllReduceMlp);
  EXPECT_EQ(book.Lookup(op, 9).klass, book.Lookup(op, 10).klass);
  EXPECT_EQ(ChangesFrom(run, 1).size(), 1u);
  EXPECT_GT(ChangesFrom(OneMoreJoins(9, "one_shot_up_to"), 1).size(), 1u);
}

}  // namespace
}  // namespace batchvar
