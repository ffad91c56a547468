// case-03: where the second request's prompt is cut (lm-sys blog, 2025-09-22). Chunks of at most
// 8192 tokens, attention that cuts the cached prefix and the chunk apart. The lines that concern
// plans: all of them.
#include "tests/cases/case_replay.h"

namespace batchvar {
namespace {

constexpr char kFixedSize[] = "{name: batch_invariant, split_size: 2048, prefix_apart: true}";
// One query tile for any chunk, so that every step of up to four requests has four pieces.
constexpr char kFixedNumber[] = "{name: textbook, tile_q: 65536, max_split: 4}";

constexpr int kAligned = 2048;
constexpr int kBestEffort = 0;

// seq_b's prompt of 6000 tokens behind `seq_a_tokens` (0: alone). The last history is seq_b's.
ReplayResult Replayed(int alignment, int seq_a_tokens, const char* attention = kFixedSize) {
  const std::string head =
      "model: llama3_8b\ndevice: h100_sxm\nscheduler: {max_num_batched_tokens: 8192, "
      "chunk_alignment: " +
      std::to_string(alignment) + "}\npolicies: {gemm: batch_invariant, attention: " + attention +
      "}\n";
  std::string trace;
  if (seq_a_tokens > 0) trace += TraceLine("seq_a", 0, seq_a_tokens, 4);
  trace += TraceLine("seq_b", 0, 6000, 4);
  return ReplayOf(head, trace, {"seq_b"});
}

std::vector<int32_t> CutsOfB(const ReplayResult& run) { return run.histories[0]->ChunkCuts(); }

// KV pieces of the last row of seq_b's prompt.
std::vector<Range> LastPieces(const ReplayResult& run) {
  for (const HistoryEntry& entry : run.histories[0]->entries()) {
    if (entry.phase != Phase::kLastChunk) continue;
    return run.book
        ->AttentionRowOrder(entry.rule, {entry.num_scheduled, entry.end()}, entry.end() - 1)
        .pieces;
  }
  return {};
}

int64_t RowsThatDifferFromAlone(int alignment, int seq_a_tokens, const char* attention) {
  const ReplayResult alone = Replayed(alignment, 0, attention);
  const ReplayResult behind = Replayed(alignment, seq_a_tokens, attention);
  const RowComparison rows = Compared(alone, 0, behind, 0);
  EXPECT_EQ(DifferOutsideAttention(rows, alone), 0);
  EXPECT_TRUE(rows.unpaired.empty());
  EXPECT_GE(rows.by_op[IndexOf(*alone.book, Op::kAttention)].compared, 6000);
  return Differ(rows, alone, Op::kAttention);
}

TEST(Case03, BestEffortFillsTheFirstStepAndCutsInsideAUnit) {
  const ReplayResult run = Replayed(kBestEffort, 6000);
  EXPECT_EQ(CutsOfB(run).front(), 2192);
  EXPECT_EQ(run.histories[0]->entries().front().m, 6000 + 2192);
  EXPECT_EQ(LastPieces(run),
            (std::vector<Range>{{0, 2048}, {2048, 2192}, {2192, 4240}, {4240, 6000}}));
}

TEST(Case03, AlignedCutsAtAUnitAndLaterUnitsStayWhole) {
  const ReplayResult run = Replayed(kAligned, 6000);
  EXPECT_EQ(CutsOfB(run), (std::vector<int32_t>{2048, 3952}));
  EXPECT_EQ(run.histories[0]->entries().front().m, 6000 + 2048);
  EXPECT_EQ(LastPieces(run), (std::vector<Range>{{0, 2048}, {2048, 4096}, {4096, 6000}}));
}

TEST(Case03, AnotherLengthOfSeqACutsSeqBElsewhere) {
  const ReplayResult run = Replayed(kBestEffort, 5000);
  EXPECT_EQ(CutsOfB(run).front(), 3192);
  const RowComparison rows = Compared(run, 0, Replayed(kBestEffort, 6000), 0);
  EXPECT_GT(Differ(rows, run, Op::kAttention), 0);
}

TEST(Case03, AlignedCutsAreMultiplesForEveryLengthOfSeqA) {
  int cut = 0;
  for (int length = 1; length < 8192; length += 61) {
    std::vector<int32_t> chunks = CutsOfB(Replayed(kAligned, length));
    cut += chunks.size() > 1 ? 1 : 0;
    chunks.pop_back();  // ends with the prompt, not with a cut
    for (const int32_t chunk : chunks) EXPECT_EQ(chunk % 2048, 0) << length;
  }
  EXPECT_GT(cut, 50);
}

TEST(Case03, AloneAndBehindSeqAAgreeOnlyAlignedAndWithAFixedSize) {
  for (const int length : {5000, 6000, 7000}) {
    EXPECT_EQ(RowsThatDifferFromAlone(kAligned, length, kFixedSize), 0) << length;
    EXPECT_GT(RowsThatDifferFromAlone(kBestEffort, length, kFixedSize), 0) << length;
    EXPECT_GT(RowsThatDifferFromAlone(kBestEffort, length, kFixedNumber), 0) << length;
  }
}

TEST(Case03, AligningDoesNotHelpAFixedNumberOfSplits) {
  EXPECT_EQ(LastPieces(Replayed(kAligned, 0, kFixedNumber)).size(), 4u);
  EXPECT_EQ(LastPieces(Replayed(kAligned, 6000, kFixedNumber)).size(), 4u);
  EXPECT_GT(RowsThatDifferFromAlone(kAligned, 6000, kFixedNumber), 0);
}

}  // namespace
}  // namespace batchvar
