#include "sim/serving/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int32_t kBlockSize = 4;

Request Shared(uint64_t segment, int32_t blocks) {
  Request request;
  request.prompt_tokens = blocks * kBlockSize;
  request.prefix = {{segment, request.prompt_tokens}};
  return request;
}

Request Private(int32_t blocks) {
  Request request;
  request.prompt_tokens = blocks * kBlockSize;
  return request;
}

class KvCacheTest : public testing::Test {
 protected:
  static constexpr int32_t kUsable = 6;

  std::vector<BlockId> Take(int32_t count) {
    std::vector<BlockId> table;
    kv_.Append(count, &table);
    return table;
  }
  // Takes blocks for all of `chain` and registers them.
  std::vector<BlockId> Compute(const PrefixChain& chain) {
    std::vector<BlockId> table = Take(chain.num_blocks);
    kv_.Register(chain, table, 0, chain.num_blocks);
    return table;
  }
  PrefixChain Chain(const Request& request) {
    return kv_.MakeChain(request, request.prompt_tokens);
  }
  std::vector<BlockId> Find(const PrefixChain& chain, int32_t max_blocks = 100) {
    kv_.Lookup(chain, max_blocks, &hits_);
    return hits_.blocks;
  }
  // The free list, front first; takes everything.
  std::vector<BlockId> FreeList() { return Take(kv_.num_free()); }

  PagedKvCache kv_{kUsable + 1, kBlockSize, /*enable_prefix_caching=*/true};
  PagedKvCache::Hits hits_;
};

TEST_F(KvCacheTest, TheNullBlockIsNeverUsed) {
  EXPECT_EQ(kv_.num_usable(), kUsable);
  EXPECT_EQ(kv_.num_free(), kUsable);
  EXPECT_THAT(FreeList(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(kv_.num_free(), 0);
}

TEST_F(KvCacheTest, BlocksForRoundsUp) {
  EXPECT_EQ(kv_.BlocksFor(0), 0);
  EXPECT_EQ(kv_.BlocksFor(1), 1);
  EXPECT_EQ(kv_.BlocksFor(4), 1);
  EXPECT_EQ(kv_.BlocksFor(5), 2);
}

TEST_F(KvCacheTest, AppendGoesOnBehindTheTable) {
  std::vector<BlockId> table = Take(2);
  kv_.Append(1, &table);
  EXPECT_THAT(table, ElementsAre(1, 2, 3));
  EXPECT_EQ(kv_.num_free(), 3);
}

TEST_F(KvCacheTest, UncachedBlocksGoToTheFrontLastOneForemost) {
  std::vector<BlockId> table = Take(3);
  kv_.Free(&table);
  EXPECT_THAT(table, IsEmpty());
  EXPECT_EQ(kv_.num_free(), kUsable);
  EXPECT_THAT(FreeList(), ElementsAre(3, 2, 1, 4, 5, 6));
}

TEST_F(KvCacheTest, CachedBlocksGoToTheTailDeepestFirst) {
  std::vector<BlockId> table = Compute(Chain(Shared(7, 3)));
  kv_.Free(&table);
  EXPECT_THAT(FreeList(), ElementsAre(4, 5, 6, 3, 2, 1));
}

TEST_F(KvCacheTest, FreeTreatsEachBlockByItsOwnContent) {
  const PrefixChain chain = Chain(Shared(7, 2));
  std::vector<BlockId> table = Compute(chain);
  kv_.Append(2, &table);  // 3 and 4 hold nothing that can be found
  kv_.Free(&table);
  EXPECT_THAT(FreeList(), ElementsAre(4, 3, 5, 6, 2, 1));
}

TEST_F(KvCacheTest, LookupFindsWhatWasRegistered) {
  const PrefixChain chain = Chain(Shared(7, 3));
  EXPECT_THAT(Find(chain), IsEmpty());
  std::vector<BlockId> table = Take(3);
  kv_.Register(chain, table, 0, 2);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  kv_.Register(chain, table, 2, 3);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2, 3));
}

TEST_F(KvCacheTest, LookupStopsAtTheLimitAndAtTheFirstMiss) {
  const PrefixChain chain = Chain(Shared(7, 4));
  std::vector<BlockId> table = Take(4);
  kv_.Register(chain, table, 0, 2);
  kv_.Register(chain, table, 3, 4);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  EXPECT_THAT(Find(chain, 1), ElementsAre(1));
  EXPECT_THAT(Find(chain, 0), IsEmpty());
}

TEST_F(KvCacheTest, LookupCrossesRuns) {
  std::vector<BlockId> table = Compute(Chain(Shared(7, 2)));
  Chain(Shared(9, 1));  // takes the node behind them
  Request longer = Shared(7, 3);
  longer.prefix.push_back({8, kBlockSize});
  longer.prompt_tokens += kBlockSize;
  const PrefixChain chain = Chain(longer);
  EXPECT_GT(chain.runs.size(), 1U);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  kv_.Append(2, &table);
  kv_.Register(chain, table, 2, 4);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2, 3, 4));
}

TEST_F(KvCacheTest, FreeBlocksAreStillFound) {
  const PrefixChain chain = Chain(Shared(7, 2));
  std::vector<BlockId> table = Compute(chain);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  EXPECT_EQ(hits_.num_free, 0);
  kv_.Free(&table);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  EXPECT_EQ(hits_.num_free, 2);
}

TEST_F(KvCacheTest, TakingABlockIsTheOnlyEviction) {
  const PrefixChain chain = Chain(Shared(7, 3));
  std::vector<BlockId> table = Compute(chain);
  kv_.Free(&table);
  Take(3);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2, 3));
  Take(1);  // block 3: the deepest
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  Take(2);
  EXPECT_THAT(Find(chain), IsEmpty());
}

TEST_F(KvCacheTest, TouchTakesHitsOutOfTheFreeList) {
  const PrefixChain chain = Chain(Shared(7, 2));
  std::vector<BlockId> first = Compute(chain);
  kv_.Free(&first);
  Find(chain);
  std::vector<BlockId> second;
  kv_.Touch(hits_, &second);
  EXPECT_THAT(second, ElementsAre(1, 2));
  EXPECT_EQ(kv_.num_free(), kUsable - 2);
  EXPECT_THAT(FreeList(), ElementsAre(3, 4, 5, 6));
}

TEST_F(KvCacheTest, ASharedBlockIsFreeWhenItsLastUserIs) {
  const PrefixChain chain = Chain(Shared(7, 2));
  std::vector<BlockId> first = Compute(chain);
  Find(chain);
  std::vector<BlockId> second;
  kv_.Touch(hits_, &second);
  EXPECT_EQ(kv_.num_free(), kUsable - 2);
  kv_.Free(&first);
  EXPECT_EQ(kv_.num_free(), kUsable - 2);
  kv_.Free(&second);
  EXPECT_EQ(kv_.num_free(), kUsable);
}

TEST_F(KvCacheTest, ATouchedBlockIsEvictedLast) {
  const PrefixChain a = Chain(Shared(1, 1));
  const PrefixChain b = Chain(Shared(2, 1));
  std::vector<BlockId> one = Compute(a);
  std::vector<BlockId> two = Compute(b);
  kv_.Free(&one);
  kv_.Free(&two);
  Find(a);
  kv_.Touch(hits_, &one);
  kv_.Free(&one);
  EXPECT_THAT(FreeList(), ElementsAre(3, 4, 5, 6, 2, 1));
}

TEST_F(KvCacheTest, OfDuplicatesTheFirstStillPresentIsFound) {
  const PrefixChain chain = Chain(Shared(7, 1));
  std::vector<BlockId> first = Compute(chain);
  const std::vector<BlockId> second = Compute(chain);
  const std::vector<BlockId> third = Compute(chain);
  EXPECT_THAT(Find(chain), ElementsAre(1));
  kv_.Free(&first);
  Take(4);  // 4, 5, 6, and 1 with what it cached
  EXPECT_THAT(Find(chain), ElementsAre(2));
}

TEST_F(KvCacheTest, ADuplicateInTheMiddleMayGoFirst) {
  const PrefixChain chain = Chain(Shared(7, 1));
  std::vector<BlockId> first = Compute(chain);
  std::vector<BlockId> second = Compute(chain);
  const std::vector<BlockId> third = Compute(chain);
  kv_.Free(&second);
  Take(4);
  EXPECT_THAT(Find(chain), ElementsAre(1));
  kv_.Free(&first);
  Take(1);
  EXPECT_THAT(Find(chain), ElementsAre(3));
}

TEST_F(KvCacheTest, RegisteringTwiceChangesNothing) {
  const PrefixChain chain = Chain(Shared(7, 2));
  std::vector<BlockId> table = Compute(chain);
  kv_.Register(chain, table, 0, 2);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  kv_.Free(&table);
  EXPECT_EQ(kv_.num_free(), kUsable);
  Take(kUsable);
  EXPECT_THAT(Find(chain), IsEmpty());
}

TEST_F(KvCacheTest, AReleasedChainIsForgottenButKeepsItsPlaceInTheList) {
  const PrefixChain chain = Chain(Private(2));
  std::vector<BlockId> table = Compute(chain);
  kv_.Free(&table);
  EXPECT_THAT(Find(chain), ElementsAre(1, 2));
  kv_.ReleaseChain(chain);
  const PrefixChain next = Chain(Private(2));  // the same nodes, recycled
  EXPECT_EQ(next.runs.back().node, chain.runs.back().node);
  EXPECT_THAT(Find(next), IsEmpty());
  EXPECT_THAT(FreeList(), ElementsAre(3, 4, 5, 6, 2, 1));
}

TEST_F(KvCacheTest, AChainMayBeReleasedBeforeItsBlocks) {
  const PrefixChain chain = Chain(Private(2));
  std::vector<BlockId> table = Compute(chain);
  kv_.ReleaseChain(chain);
  kv_.Free(&table);
  EXPECT_THAT(FreeList(), ElementsAre(3, 4, 5, 6, 2, 1));  // still as cached ones
}

TEST_F(KvCacheTest, ForgottenBlocksAreEvictedWithoutHarmToTheirNodesNextOwner) {
  const PrefixChain chain = Chain(Private(1));
  std::vector<BlockId> table = Compute(chain);
  kv_.Free(&table);
  kv_.ReleaseChain(chain);
  const PrefixChain next = Chain(Private(1));
  const std::vector<BlockId> used = Compute(next);
  EXPECT_THAT(used, ElementsAre(2));
  Take(5);  // among them block 1, which once had the same node
  EXPECT_THAT(Find(next), ElementsAre(2));
}

TEST_F(KvCacheTest, ReleaseKeepsSharedContent) {
  Request request = Shared(7, 1);
  request.prompt_tokens += kBlockSize;
  const PrefixChain chain = Chain(request);
  std::vector<BlockId> table = Compute(chain);
  kv_.Free(&table);
  kv_.ReleaseChain(chain);
  EXPECT_THAT(Find(Chain(Shared(7, 1))), ElementsAre(1));
}

TEST(KvCacheWithoutCaching, NothingIsFoundAndAllBlocksGoToTheFront) {
  PagedKvCache kv(4, kBlockSize, /*enable_prefix_caching=*/false);
  const PrefixChain chain = kv.MakeChain(Shared(7, 2), 8);
  EXPECT_EQ(chain.num_blocks, 0);
  std::vector<BlockId> table;
  kv.Append(2, &table);
  PagedKvCache::Hits hits;
  kv.Lookup(chain, 2, &hits);
  EXPECT_THAT(hits.blocks, IsEmpty());
  kv.ReleaseChain(chain);
  kv.Free(&table);
  kv.Append(3, &table);
  EXPECT_THAT(table, ElementsAre(2, 1, 3));
}

TEST(KvCacheDeathTest, NoMoreBlocksThanThereAre) {
  PagedKvCache kv(3, kBlockSize, true);
  std::vector<BlockId> table;
  EXPECT_DEATH(kv.Append(3, &table), "check failed");
}

}  // namespace
}  // namespace batchvar
