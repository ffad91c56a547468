#include "sim/serving/radix_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/rng.h"

namespace batchvar {
namespace {

Request TextOf(std::vector<PrefixSegment> prefix, int32_t own_tokens = 0) {
  Request request;
  request.prompt_tokens = own_tokens;
  for (const PrefixSegment& segment : prefix) request.prompt_tokens += segment.length;
  request.prefix = std::move(prefix);
  return request;
}

// Chains of texts over pages of four tokens, by name.
class RadixTreeTest : public testing::Test {
 protected:
  PrefixChain Chain(std::vector<PrefixSegment> prefix, int32_t own_tokens = 0) {
    const Request request = TextOf(std::move(prefix), own_tokens);
    return tree_.MakeChain(request, request.prompt_tokens);
  }
  RadixTree tree_{4};
};

TEST_F(RadixTreeTest, HoldsWholePagesFromTheFirstOn) {
  const PrefixChain chain = Chain({{1, 20}});
  EXPECT_EQ(tree_.Match(chain, 5).pages, 0);
  EXPECT_EQ(tree_.Insert(chain, 3, 3).pages, 0);
  EXPECT_EQ(tree_.Match(chain, 5).pages, 3);
  EXPECT_EQ(tree_.Match(chain, 2).pages, 2);
  EXPECT_EQ(tree_.total_tokens(), 12);
  EXPECT_EQ(tree_.Insert(chain, 5, 5).pages, 3);
  EXPECT_EQ(tree_.total_tokens(), 20);
}

TEST_F(RadixTreeTest, TextsShareUntilTheyPart) {
  const PrefixChain a = Chain({{1, 12}, {2, 8}});
  const PrefixChain b = Chain({{1, 12}, {3, 8}});
  const PrefixChain c = Chain({{1, 10}, {3, 10}});  // parts inside its third page
  tree_.Insert(a, 5, 5);
  EXPECT_EQ(tree_.Match(b, 5).pages, 3);
  EXPECT_EQ(tree_.Match(c, 5).pages, 2);
  EXPECT_EQ(tree_.Insert(b, 5, 5).pages, 3);
  EXPECT_EQ(tree_.total_tokens(), 28);
  EXPECT_EQ(tree_.Match(a, 5).pages, 5);
}

TEST_F(RadixTreeTest, LockedPathsStay) {
  const PrefixChain a = Chain({{1, 8}, {2, 8}});
  const PrefixChain b = Chain({{1, 8}, {3, 8}});
  const RadixTree::Node of_a = tree_.Insert(a, 4, 4).node;
  tree_.Insert(b, 4, 4);
  EXPECT_EQ(tree_.evictable_tokens(), 24);
  tree_.Lock(of_a);
  EXPECT_EQ(tree_.evictable_tokens(), 8);
  EXPECT_EQ(tree_.Evict(100), 8);
  EXPECT_EQ(tree_.Match(b, 4).pages, 2);
  EXPECT_EQ(tree_.Match(a, 4).pages, 4);
  tree_.Unlock(of_a);
  EXPECT_EQ(tree_.evictable_tokens(), 16);
  EXPECT_EQ(tree_.Evict(1), 8);  // a whole leaf, then its parent
  EXPECT_EQ(tree_.Evict(100), 8);
  EXPECT_EQ(tree_.total_tokens(), 0);
}

TEST_F(RadixTreeTest, TheOldestLeafGoesFirst) {
  const PrefixChain a = Chain({{1, 8}});
  const PrefixChain b = Chain({{2, 8}});
  tree_.Insert(a, 2, 2);
  tree_.Insert(b, 2, 2);
  tree_.Match(a, 2);  // younger than b now
  EXPECT_EQ(tree_.Evict(1), 8);
  EXPECT_EQ(tree_.Match(b, 2).pages, 0);
  EXPECT_EQ(tree_.Match(a, 2).pages, 2);
}

// As in SGLang: whoever hits the upper half of a node makes the lower half young as well.
TEST_F(RadixTreeTest, ASplitRefreshesTheLowerPart) {
  const PrefixChain a = Chain({{1, 16}});
  const PrefixChain b = Chain({{2, 8}});
  tree_.Insert(a, 4, 4);
  tree_.Insert(b, 2, 2);
  EXPECT_EQ(tree_.Match(a, 2).pages, 2);  // splits
  EXPECT_EQ(tree_.Evict(1), 8);
  EXPECT_EQ(tree_.Match(b, 2).pages, 0);
  EXPECT_EQ(tree_.Match(a, 2).pages, 2);  // no split this time: the lower part grows old
  tree_.Insert(b, 2, 2);
  EXPECT_EQ(tree_.Evict(1), 8);
  EXPECT_EQ(tree_.Match(a, 4).pages, 2);
}

TEST_F(RadixTreeTest, ANewRunIsCutAtThePromptsEnd) {
  const PrefixChain a = Chain({{1, 10}}, 14);
  tree_.Insert(a, 6, 2);
  EXPECT_EQ(tree_.Evict(1), 16);  // four pages behind the prompt's two
  EXPECT_EQ(tree_.Match(a, 6).pages, 2);
}

TEST_F(RadixTreeTest, OwnTextOfADoneRequestIsNeverHitAgain) {
  const Request request = TextOf({{1, 8}}, 16);
  const PrefixChain first = tree_.MakeChain(request, 24);
  const RadixTree::Node last = tree_.Insert(first, 6, 2).node;
  EXPECT_EQ(tree_.Match(first, 6).pages, 6);
  tree_.ReleaseChain(first, last);
  // Its ids are used again, for another text.
  const PrefixChain second = tree_.MakeChain(request, 24);
  EXPECT_EQ(second.runs.back().node, first.runs.back().node);
  EXPECT_EQ(tree_.Match(second, 6).pages, 2);
  EXPECT_EQ(tree_.Insert(second, 6, 2).pages, 2);
  EXPECT_EQ(tree_.total_tokens(), 40);
  EXPECT_EQ(tree_.Match(second, 6).pages, 6);
  EXPECT_EQ(tree_.Evict(1000), 40);
}

// Against lists of tokens: what is matched is the longest text that was inserted and not dropped.
TEST(RadixTree, EqualsAListOfTexts) {
  RandomStream random(7, "radix_tree_test");
  for (int round = 0; round < 40; ++round) {
    const int32_t page = 1 << random.NextBelow(3);
    RadixTree tree(page);
    std::map<std::string, bool> held;  // by page, its text and everything before it
    std::vector<std::pair<PrefixChain, std::vector<std::string>>> texts;
    for (int i = 0; i < 30; ++i) {
      std::vector<PrefixSegment> prefix;
      std::string spelled;
      for (int part = 0; part < 3; ++part) {
        const auto segment = random.NextBelow(2) + 2 * static_cast<uint64_t>(part);
        const auto length = static_cast<int32_t>(1 + random.NextBelow(9));
        prefix.push_back({segment, length});
        for (int32_t j = 0; j < length; ++j) {
          spelled += "s" + std::to_string(segment) + "." + std::to_string(j);
          spelled += ' ';
        }
      }
      const Request request = TextOf(prefix);
      std::vector<std::string> pages;
      size_t at = 0;
      for (int32_t token = 1; token <= request.prompt_tokens; ++token) {
        at = spelled.find(' ', at) + 1;
        if (token % page == 0) pages.push_back(spelled.substr(0, at));
      }
      texts.emplace_back(tree.MakeChain(request, request.prompt_tokens / page * page), pages);
    }
    for (int i = 0; i < 200; ++i) {
      const auto& [chain, pages] = texts[random.NextBelow(texts.size())];
      const auto most = static_cast<int32_t>(random.NextBelow(pages.size() + 1));
      int32_t expected = 0;
      while (expected < most && held.contains(pages[static_cast<size_t>(expected)])) ++expected;
      if (random.NextBelow(2) == 0) {
        ASSERT_EQ(tree.Match(chain, most).pages, expected);
      } else {
        ASSERT_EQ(tree.Insert(chain, most, most).pages, expected);
        for (int32_t p = 0; p < most; ++p) held[pages[static_cast<size_t>(p)]] = true;
      }
      ASSERT_EQ(tree.total_tokens(), static_cast<int64_t>(held.size()) * page);
      ASSERT_EQ(tree.evictable_tokens(), tree.total_tokens());
    }
    EXPECT_EQ(tree.Evict(1 << 30), static_cast<int64_t>(held.size()) * page);
    EXPECT_EQ(tree.total_tokens(), 0);
  }
}

}  // namespace
}  // namespace batchvar
