// Which rows share a result and which do not.
#include "kernels/row_memo.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace batchvar {
namespace {

const Digest kShared = DigestOf("a model");
const Digest kAlone = DigestOf("classes at M = 1");
const Digest kCrowded = DigestOf("classes at M = 64");

// The key of the row behind `classes.size() - 1` others, all of token 7.
Digest KeyAfter(const std::vector<Digest>& classes) {
  KvChain chain(kShared);
  for (size_t p = 0; p + 1 < classes.size(); ++p) chain.Append(RowKey(chain, 7, classes[p]));
  return RowKey(chain, 7, classes.back());
}

std::shared_ptr<const RowResult> ResultOf(int64_t words, int64_t logits) {
  auto result = std::make_shared<RowResult>();
  result->kv.resize(words);
  result->logits.resize(logits);
  return result;
}

TEST(RowKey, EqualHistoriesShareARow) {
  EXPECT_EQ(KeyAfter({kAlone, kCrowded, kAlone}), KeyAfter({kAlone, kCrowded, kAlone}));
}

TEST(RowKey, AnyEarlierClassOrTokenSetsRowsApart) {
  EXPECT_NE(KeyAfter({kAlone, kAlone, kAlone}), KeyAfter({kCrowded, kAlone, kAlone}));
  EXPECT_NE(KeyAfter({kAlone, kAlone}), KeyAfter({kAlone, kCrowded}));
  EXPECT_NE(KeyAfter({kAlone}), KeyAfter({kAlone, kAlone}));
  const KvChain chain(kShared);
  EXPECT_NE(RowKey(chain, 7, kAlone), RowKey(chain, 8, kAlone));
  EXPECT_NE(RowKey(chain, 7, kAlone), RowKey(KvChain(DigestOf("another")), 7, kAlone));
}

// A cached block counts as computed by whoever computed it.
TEST(RowKey, TheProducerOfCachedKvCounts) {
  KvChain own(kShared), cached(kShared);
  own.Append(RowKey(own, 7, kAlone));
  cached.Append(RowKey(cached, 7, kCrowded));  // the neighbour prefilled in a large batch
  EXPECT_EQ(own.length(), cached.length());
  EXPECT_NE(RowKey(own, 9, kAlone), RowKey(cached, 9, kAlone));
}

TEST(RowMemo, FindsWhatWasInserted) {
  RowMemo memo(1 << 20);
  EXPECT_EQ(memo.Find(kAlone, false), nullptr);
  memo.Insert(kAlone, ResultOf(100, 0));
  EXPECT_NE(memo.Find(kAlone, false), nullptr);
  EXPECT_EQ(memo.Find(kAlone, true), nullptr);  // nobody computed its logits yet
  memo.Insert(kAlone, ResultOf(100, 10));
  EXPECT_NE(memo.Find(kAlone, true), nullptr);
  EXPECT_EQ(memo.hits(), 2);
  EXPECT_EQ(memo.misses(), 2);
  EXPECT_EQ(memo.bytes(), 240);
}

TEST(RowMemo, DropsWhatWasUsedLongestAgo) {
  RowMemo memo(500);
  memo.Insert(DigestOf("1"), ResultOf(100, 0));
  memo.Insert(DigestOf("2"), ResultOf(100, 0));
  EXPECT_NE(memo.Find(DigestOf("1"), false), nullptr);
  memo.Insert(DigestOf("3"), ResultOf(100, 0));
  EXPECT_EQ(memo.Find(DigestOf("2"), false), nullptr);
  EXPECT_NE(memo.Find(DigestOf("1"), false), nullptr);
  EXPECT_LE(memo.bytes(), 500);
}

}  // namespace
}  // namespace batchvar
