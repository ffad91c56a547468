// FlashAttention-2 and -3 as policies, with the worked numbers for Llama-3-8B (32 query heads, 8 KV
// heads of 128) on 132 SMs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/plan/attention_policy.h"
#include "sim/plan/fa_splits.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr AttentionHeads kHeads = {32, 8, 128};

std::unique_ptr<AttentionPolicy> Make(AttentionPolicyKind kind, int32_t num_splits = 0) {
  AttentionPolicySpec spec;
  spec.kind = kind;
  spec.num_splits = num_splits;
  return MakeAttentionPolicy(spec);
}

std::vector<AttentionRequest> Decodes(size_t count, int64_t kv_len) {
  return std::vector<AttentionRequest>(count, AttentionRequest{1, kv_len});
}

// Row 0 has 4096 positions, `neighbours` others have 512.
std::vector<AttentionRequest> LongAmongShort(size_t neighbours) {
  std::vector<AttentionRequest> step = Decodes(neighbours + 1, 512);
  step[0].kv_len = 4096;
  return step;
}

TEST(AttentionFa2, WorkedCountsFallWithTheBatch) {
  const auto policy = Make(AttentionPolicyKind::kFa2);
  const auto splits = [&policy](size_t batch) {
    return policy->Rule(Decodes(batch, 4096), kHeads, H100()).split_factor;
  };
  EXPECT_THAT(
      (std::vector<int32_t>{splits(1), splits(2), splits(3), splits(4), splits(5), splits(6)}),
      ElementsAre(32, 16, 11, 7, 6, 5));
  EXPECT_EQ(splits(8), 4);
  EXPECT_EQ(splits(12), 5);
  EXPECT_EQ(splits(16), 2);
  EXPECT_EQ(splits(24), 4);
  EXPECT_EQ(splits(26), 5);  // not monotone
  EXPECT_EQ(splits(27), 1);
  EXPECT_EQ(splits(64), 1);
}

TEST(AttentionFa2, BlocksGoDownAndNarrowWhereNothingIsSplit) {
  const auto policy = Make(AttentionPolicyKind::kFa2);
  const Order split = policy->Plan(Decodes(16, 4096), kHeads, H100())[0].order;
  EXPECT_TRUE(split.descending);
  EXPECT_EQ(split.block, 128);
  EXPECT_THAT(split.pieces, ElementsAre(Range{0, 2048}, Range{2048, 4096}));
  EXPECT_EQ(split.combine, Combine::kLse);
  const Order whole = policy->Plan(Decodes(27, 4096), kHeads, H100())[0].order;
  EXPECT_TRUE(whole.descending);
  EXPECT_EQ(whole.block, 64);
  EXPECT_THAT(whole.pieces, ElementsAre(Range{0, 4096}));
  const AttentionHeads narrow = {9, 3, 64};
  EXPECT_EQ(policy->Plan(Decodes(1, 4096), narrow, H100())[0].order.block, 256);
  EXPECT_EQ(policy->Plan(Decodes(100, 4096), narrow, H100())[0].order.block, 128);
}

TEST(AttentionFa2, OnePrefillMovesEverybodyToTheVarlenKernel) {
  const auto policy = Make(AttentionPolicyKind::kFa2);
  std::vector<AttentionRequest> step = Decodes(2, 4096);
  EXPECT_EQ(policy->Plan(step, kHeads, H100())[0].num_splits, 16);
  step.push_back({2, 2});
  EXPECT_EQ(policy->Plan(step, kHeads, H100())[0].num_splits, 1);
  EXPECT_THAT(policy->Explain(step, kHeads, H100()), Contains(HasSubstr("varlen kernel")));
}

TEST(AttentionFa2, TheLongestRequestSetsTheCountForTheShort) {
  const auto policy = Make(AttentionPolicyKind::kFa2);
  // 16 splits of two blocks; a long neighbour wants 14, and three blocks a piece leave 11.
  EXPECT_EQ(policy->Plan({{1, 4096}, {1, 4096}}, kHeads, H100())[0].num_splits, 16);
  EXPECT_EQ(policy->Rule({{1, 4096}, {1, 40000}}, kHeads, H100()).split_factor, 14);
  EXPECT_EQ(policy->Plan({{1, 4096}, {1, 40000}}, kHeads, H100())[0].num_splits, 11);
  // Five blocks cannot be more than five pieces.
  EXPECT_EQ(policy->Plan({{1, 600}, {1, 40000}}, kHeads, H100())[0].num_splits, 5);
}

TEST(AttentionFa2, ForcedSplitsAndWords) {
  EXPECT_EQ(
      Make(AttentionPolicyKind::kFa2, 1)->Plan(Decodes(1, 4096), kHeads, H100())[0].num_splits, 1);
  EXPECT_EQ(
      Make(AttentionPolicyKind::kFa2, 3)->Plan(Decodes(99, 4096), kHeads, H100())[0].num_splits, 3);
  const auto words = Make(AttentionPolicyKind::kFa2)->Explain(Decodes(4, 4096), kHeads, H100());
  EXPECT_THAT(words, Contains("4 requests x 8 blocks = 32 blocks; the longest request has 32 KV "
                              "blocks of 128"));
  EXPECT_THAT(words, Contains(HasSubstr("7 splits for everybody")));
  EXPECT_THAT(words, Contains("4 requests of kv_len 4096: 6 x 640 + 1 x 256"));
}

TEST(AttentionFa3, WorkedCountOfALongRequestAmongShortOnes) {
  const auto policy = Make(AttentionPolicyKind::kFa3);
  const auto splits = [&policy](size_t batch) {
    return policy->Plan(LongAmongShort(batch - 1), kHeads, H100())[0].num_splits;
  };
  for (const size_t batch : {1, 2, 3, 4}) EXPECT_EQ(splits(batch), 11) << batch;
  EXPECT_EQ(splits(6), 8);
  EXPECT_EQ(splits(8), 8);
  EXPECT_EQ(splits(12), 6);
  EXPECT_EQ(splits(16), 5);
  EXPECT_EQ(splits(24), 4);
  EXPECT_EQ(splits(32), 3);
  EXPECT_EQ(splits(48), 3);
  EXPECT_EQ(splits(64), 2);
  EXPECT_EQ(splits(128), 1);
}

TEST(AttentionFa3, StaticCountsTheWholeBatch) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kFa3;
  spec.varlen = false;
  const auto policy = MakeAttentionPolicy(spec);
  const auto plans = policy->Plan(LongAmongShort(3), kHeads, H100());
  EXPECT_EQ(plans[0].num_splits, policy->Rule(LongAmongShort(3), kHeads, H100()).split_factor);
  EXPECT_GT(plans[0].num_splits, 1);
  EXPECT_EQ(plans[1].num_splits, 4);  // four KV blocks, whatever was wanted
  EXPECT_EQ(policy->Plan(Decodes(20, 4096), kHeads, H100())[0].num_splits, 1);
}

TEST(AttentionFa3, LimitsOfTheUpperBound) {
  const auto policy = Make(AttentionPolicyKind::kFa3);
  EXPECT_EQ(policy->Plan(Decodes(1, 512), kHeads, H100())[0].num_splits, 1);  // 4 blocks
  EXPECT_EQ(policy->Plan(Decodes(1, 513), kHeads, H100())[0].num_splits, 5);
  EXPECT_EQ(policy->Rule(Decodes(993, 9000), kHeads, H100()).split_factor, 1);
  EXPECT_EQ(
      Make(AttentionPolicyKind::kFa3, 1)->Plan(Decodes(1, 9000), kHeads, H100())[0].num_splits, 1);
  // Under captured graphs vLLM asks for 32 at most; what an SM should take still counts. 29 blocks,
  // 2 an SM: 15 splits, and 14 by the heuristic, which 10 pieces of 3 blocks use up.
  const auto graphs = Make(AttentionPolicyKind::kFa3, 32);
  EXPECT_EQ(graphs->Plan(Decodes(1, 3692), kHeads, H100())[0].num_splits, 15);
  EXPECT_EQ(policy->Rule(Decodes(1, 3692), kHeads, H100()).split_factor, 14);
  EXPECT_EQ(policy->Plan(Decodes(1, 3692), kHeads, H100())[0].num_splits, 10);
}

// Unsplit, as a batch-invariant flag asks: the causal flag is left, and with it the KV block.
TEST(AttentionFa3, ASingleLongerQueryBringsTheCausalFlagBack) {
  AttentionPolicySpec spec;
  spec.kind = AttentionPolicyKind::kFa3;
  spec.num_splits = 1;
  const auto tile = [&spec](int64_t q_len, int32_t page_size, int32_t head_dim) {
    spec.page_size = page_size;
    return MakeAttentionPolicy(spec)
        ->Rule({{1, 4096}, {q_len, 4096}}, {32, 8, head_dim}, H100())
        .tile_kv;
  };
  EXPECT_EQ(tile(1, 0, 128), 176);
  EXPECT_EQ(tile(2, 0, 128), 128);
  EXPECT_EQ(tile(1, 0, 64), 192);
  EXPECT_EQ(tile(2, 0, 64), 128);
  for (const int64_t q_len : {1, 2}) {  // pages of 16 keep the narrow block in any case
    EXPECT_EQ(tile(q_len, 16, 128), 128);
    EXPECT_EQ(tile(q_len, 16, 64), 128);
  }
}

TEST(AttentionFa3, RowsOfAChunkAreCutByTheirQueryTile) {
  // 64 tokens x 4 heads are two tiles of 128 rows; one KV head leaves room to split.
  const AttentionHeads heads = {4, 1, 128};
  const auto policy = Make(AttentionPolicyKind::kFa3);
  const AttentionRequest chunk = {64, 1100};
  const AttentionRule rule = policy->Rule({chunk}, heads, H100());
  const Order last = policy->OrderFor(rule, chunk, heads, H100());
  ASSERT_GT(last.pieces.size(), 1u);
  EXPECT_EQ(policy->OrderOfRow(rule, chunk, 1099, heads, H100()), last);
  for (int64_t position = 1036; position < 1100; ++position) {
    const Order row = policy->OrderOfRow(rule, chunk, position, heads, H100());
    EXPECT_TRUE(CoversOnce(row, position + 1));
    EXPECT_TRUE(row.descending);
  }
  // The first tile ends with token 1067 and sees 9 KV blocks, as the second one does; a chunk whose
  // tiles see different numbers of blocks is cut differently.
  const AttentionRequest longer = {256, 1280};
  const AttentionRule of_longer = {128, 4};
  const Order first_row = policy->OrderOfRow(of_longer, longer, 1024, heads, H100());
  const Order clipped = RowOrder(policy->OrderFor(of_longer, longer, heads, H100()), 1024);
  EXPECT_THAT(clipped.pieces, ElementsAre(Range{0, 384}, Range{384, 768}, Range{768, 1025}));
  EXPECT_THAT(first_row.pieces, ElementsAre(Range{0, 384}, Range{384, 768}, Range{768, 1025}));
  const AttentionRequest longest = {512, 1536};
  EXPECT_THAT(policy->OrderOfRow(of_longer, longest, 1024, heads, H100()).pieces,
              ElementsAre(Range{0, 384}, Range{384, 768}, Range{768, 1025}));
  EXPECT_THAT(policy->OrderFor(of_longer, longest, heads, H100()).pieces,
              ElementsAre(Range{0, 384}, Range{384, 768}, Range{768, 1152}, Range{1152, 1536}));
  const AttentionRequest most = {1024, 2048};
  EXPECT_THAT(policy->OrderOfRow(of_longer, most, 1024, heads, H100()).pieces,
              ElementsAre(Range{0, 384}, Range{384, 768}, Range{768, 1025}));
  EXPECT_THAT(RowOrder(policy->OrderFor(of_longer, most, heads, H100()), 1024).pieces,
              ElementsAre(Range{0, 512}, Range{512, 1024}, Range{1024, 1025}));
}

TEST(AttentionFa3, SaysWhatTheNeighboursDid) {
  const auto words = Make(AttentionPolicyKind::kFa3)->Explain(LongAmongShort(15), kHeads, H100());
  EXPECT_THAT(words, Contains(HasSubstr("at most 14 splits")));
  EXPECT_THAT(words,
              Contains("all requests together ask 7 KV blocks of an SM, so a request gets one "
                       "split for each 896 KV positions: its neighbours' lengths decide"));
  EXPECT_THAT(words, Contains("15 requests of kv_len 512: 1 x 512"));
}

TEST(FaSplits, TmaNeedsPagesOfWholeBlocksAndManyRows) {
  Fa3Shape shape;
  shape.q_heads = 32;
  shape.kv_heads = 8;
  shape.head_dim = 96;
  shape.max_kv_len = 4096;
  EXPECT_EQ(PlanFa3Static(shape, 132, 0).tile.block_n, 128);  // pages of 16
  shape.page_size = 144;
  shape.max_q_len = 512;
  EXPECT_EQ(PlanFa3Static(shape, 132, 0).tile.block_n, 144);
  shape.max_q_len = 1;
  EXPECT_EQ(PlanFa3Static(shape, 132, 0).tile.block_n, 128);
  shape.page_size = 0;
  EXPECT_EQ(PlanFa3Static(shape, 132, 0).tile.block_n, 144);
}

TEST(FaSplits, LongKvIsSplitBeyondL2UnlessCausal) {
  Fa3SplitInput input = {1000, 132, 800, 300, int64_t{120} << 20, false, 128};
  EXPECT_EQ(Fa3NumSplits(input), 3);
  input.causal_or_local = true;
  EXPECT_EQ(Fa3NumSplits(input), 1);
}

}  // namespace
}  // namespace batchvar
