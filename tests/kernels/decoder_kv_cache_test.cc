// A request's keys and values: as words, and in whatever blocks they lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/decoder/kv_cache.h"
#include "tests/kernels/decoder_folder.h"
#include "tests/kernels/decoder_passes.h"

namespace batchvar {
namespace {

TEST(KvCacheTest, GivesAndTakesPositionsAsWords) {
  const TestFolder folder;
  folder.WriteRandomModel(SmallConfig("LlamaForCausalLM"), 3);
  const auto model = LoadOrDie(folder.path(), DType::kBf16);
  const std::vector<int64_t> tokens = Tokens(4, 10);
  const std::vector<RowPlan> plans = ChunkPlans(model.get(), 10, 10);
  KvCache original(model->weights.config.model), restored(model->weights.config.model);
  const auto logits = LogitsOf(model.get(), &original, tokens, plans, 10);
  for (int64_t p = 0; p < 9; ++p) {
    EXPECT_EQ(original.WordsOf(p).size(), 2u * 2 * 2 * 16);  // layers, sides, heads, head_dim
    restored.Append(original.WordsOf(p));
  }
  const auto last = LogitsOf(model.get(), &restored, {tokens[9]}, {plans[9]}, 1);
  EXPECT_EQ(Bits(last[0]), Bits(logits[9]));
  original.Truncate(9);
  EXPECT_EQ(original.length(), 9);
  EXPECT_EQ(original.WordsOf(8), restored.WordsOf(8));
}

// Positions that lie in scattered blocks are read in the order of positions.
TEST(KvCacheTest, PlacementChangesNoBit) {
  const TestFolder folder;
  folder.WriteRandomModel(SmallConfig("LlamaForCausalLM"), 3);
  const auto model = LoadOrDie(folder.path(), DType::kBf16);
  const std::vector<int64_t> tokens = Tokens(4, 90);
  const std::vector<RowPlan> plans = ChunkPlans(model.get(), 90, 90);
  KvCache whole(model->weights.config.model);
  const auto expected = LogitsOf(model.get(), &whole, tokens, plans, 90);
  for (const KvPlacement& placement : {KvPlacement{1, 1}, {4, 2}, {16, 3}, {64, 4}}) {
    KvCache cache(model->weights.config.model, placement);
    LogitsOf(model.get(), &cache, tokens, plans, 30);
    cache.Truncate(41);  // its blocks are given back, and others taken
    const std::vector<int64_t> rest(tokens.begin() + 41, tokens.end());
    const std::vector<RowPlan> rest_plans(plans.begin() + 41, plans.end());
    const auto logits = LogitsOf(model.get(), &cache, rest, rest_plans, 30);
    EXPECT_EQ(Bits(logits.back()), Bits(expected.back())) << placement.block_size;
    for (int64_t p = 0; p < 90; ++p) EXPECT_EQ(cache.WordsOf(p), whole.WordsOf(p)) << p;
    KvCache copy(model->weights.config.model);
    copy.CopyPrefix(cache, 50);
    EXPECT_EQ(copy.WordsOf(49), whole.WordsOf(49));
  }
}

TEST(KvCacheTest, ScatteredBlocksAreNotInOrder) {
  const TestFolder folder;
  folder.WriteRandomModel(SmallConfig("LlamaForCausalLM"), 3);
  const auto model = LoadOrDie(folder.path(), DType::kBf16);
  KvCache cache(model->weights.config.model, {16, 7});
  for (int64_t p = 0; p < 16 * 8; ++p) cache.Grow();
  std::vector<int32_t> blocks(cache.block_table(), cache.block_table() + 8);
  EXPECT_FALSE(std::is_sorted(blocks.begin(), blocks.end()));
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

}  // namespace
}  // namespace batchvar
