#include "sim/serving/prefix_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace batchvar {
namespace {

Request WithPrefix(std::vector<PrefixSegment> prefix, int32_t own_tokens = 0) {
  Request request;
  request.prefix = std::move(prefix);
  request.prompt_tokens = own_tokens;
  for (const PrefixSegment& segment : request.prefix) request.prompt_tokens += segment.length;
  return request;
}

// The node of every block.
std::vector<NodeId> Nodes(const PrefixChain& chain) {
  std::vector<NodeId> nodes;
  for (size_t run = 0; run < chain.runs.size(); ++run) {
    const int32_t end =
        run + 1 < chain.runs.size() ? chain.runs[run + 1].first_block : chain.num_blocks;
    for (int32_t block = chain.runs[run].first_block; block < end; ++block) {
      nodes.push_back(chain.runs[run].node +
                      static_cast<NodeId>(block - chain.runs[run].first_block));
    }
  }
  return nodes;
}

// How many leading blocks have the same node.
size_t NumCommon(const PrefixChain& a, const PrefixChain& b) {
  const std::vector<NodeId> x = Nodes(a);
  const std::vector<NodeId> y = Nodes(b);
  size_t common = 0;
  while (common < x.size() && common < y.size() && x[common] == y[common]) ++common;
  const std::set<NodeId> rest(x.begin() + static_cast<std::ptrdiff_t>(common), x.end());
  for (size_t i = common; i < y.size(); ++i) {
    EXPECT_FALSE(rest.contains(y[i])) << "equal contents after unequal ones";
  }
  return common;
}

TEST(PrefixChain, EqualPrefixesShareNodes) {
  PrefixTree tree(4);
  const PrefixChain a = tree.MakeChain(WithPrefix({{7, 12}}, 5), 6);
  const PrefixChain b = tree.MakeChain(WithPrefix({{7, 12}}, 9), 8);
  EXPECT_EQ(a.num_blocks, 6);
  EXPECT_EQ(b.num_blocks, 8);
  EXPECT_EQ(a.num_shared_blocks, 3);
  EXPECT_EQ(NumCommon(a, b), 3U);
}

TEST(PrefixChain, WithoutAPrefixNothingIsShared) {
  PrefixTree tree(4);
  const PrefixChain a = tree.MakeChain(WithPrefix({}, 12), 3);
  const PrefixChain b = tree.MakeChain(WithPrefix({}, 12), 3);
  EXPECT_EQ(a.num_shared_blocks, 0);
  EXPECT_EQ(NumCommon(a, b), 0U);
}

TEST(PrefixChain, OnlyWholeBlocksAreShared) {
  PrefixTree tree(4);
  for (const auto& [length, blocks] : {std::pair{3, 0}, {4, 1}, {7, 1}, {8, 2}, {9, 2}}) {
    const PrefixChain a = tree.MakeChain(WithPrefix({{7, length}}, 20), 7);
    const PrefixChain b = tree.MakeChain(WithPrefix({{7, length}}, 20), 7);
    EXPECT_EQ(a.num_shared_blocks, blocks) << length;
    EXPECT_EQ(NumCommon(a, b), static_cast<size_t>(blocks)) << length;
  }
}

TEST(PrefixChain, ABlockMayBeOneToken) {
  PrefixTree tree(1);
  const PrefixChain a = tree.MakeChain(WithPrefix({{7, 3}, {8, 2}}), 6);
  const PrefixChain b = tree.MakeChain(WithPrefix({{7, 3}, {9, 2}}), 6);
  EXPECT_EQ(a.num_shared_blocks, 5);
  EXPECT_EQ(NumCommon(a, b), 3U);
}

TEST(PrefixChain, SegmentsPartWhereTheyDiffer) {
  PrefixTree tree(4);
  const PrefixChain a = tree.MakeChain(WithPrefix({{7, 8}, {1, 8}}), 4);
  const PrefixChain b = tree.MakeChain(WithPrefix({{7, 8}, {2, 8}}), 4);
  EXPECT_EQ(NumCommon(a, b), 2U);
}

TEST(PrefixChain, TheSameTextAfterAnotherIsAnotherContent) {
  PrefixTree tree(4);
  const PrefixChain a = tree.MakeChain(WithPrefix({{1, 4}, {7, 8}}), 3);
  const PrefixChain b = tree.MakeChain(WithPrefix({{2, 4}, {7, 8}}), 3);
  const PrefixChain c = tree.MakeChain(WithPrefix({{7, 8}}), 2);
  EXPECT_EQ(NumCommon(a, b), 0U);
  EXPECT_EQ(NumCommon(a, c), 0U);
}

TEST(PrefixChain, ASegmentMayFollowItself) {
  for (const bool once_first : {true, false}) {
    PrefixTree tree(4);
    if (once_first) tree.MakeChain(WithPrefix({{7, 8}}), 2);
    const PrefixChain twice = tree.MakeChain(WithPrefix({{7, 4}, {7, 4}}), 2);
    const PrefixChain once = tree.MakeChain(WithPrefix({{7, 8}}), 2);
    EXPECT_EQ(NumCommon(once, twice), 1U);  // then 7 starts again at its first token
  }
}

TEST(PrefixChain, ABlockSpansSegments) {
  PrefixTree tree(4);
  const PrefixChain a = tree.MakeChain(WithPrefix({{7, 6}, {1, 6}}), 3);
  const PrefixChain b = tree.MakeChain(WithPrefix({{7, 6}, {1, 6}}), 3);
  const PrefixChain c = tree.MakeChain(WithPrefix({{7, 6}, {2, 6}}), 3);
  EXPECT_EQ(a.num_shared_blocks, 3);
  EXPECT_EQ(NumCommon(a, b), 3U);
  EXPECT_EQ(NumCommon(a, c), 1U);
}

TEST(PrefixChain, ABlockSpansManySegments) {
  PrefixTree tree(8);
  const PrefixChain a = tree.MakeChain(WithPrefix({{1, 1}, {2, 2}, {3, 1}, {4, 12}}), 2);
  const PrefixChain b = tree.MakeChain(WithPrefix({{1, 1}, {2, 2}, {3, 1}, {4, 12}}), 2);
  const PrefixChain c = tree.MakeChain(WithPrefix({{1, 1}, {2, 1}, {3, 2}, {4, 12}}), 2);
  EXPECT_EQ(a.num_shared_blocks, 2);
  EXPECT_EQ(NumCommon(a, b), 2U);
  EXPECT_EQ(NumCommon(a, c), 0U);  // as long, but cut elsewhere
}

TEST(PrefixChain, WhereASegmentEndsMattersOnlyFromThereOn) {
  PrefixTree tree(4);
  const PrefixChain a = tree.MakeChain(WithPrefix({{7, 10}, {1, 6}}), 4);
  const PrefixChain b = tree.MakeChain(WithPrefix({{7, 16}}), 4);
  EXPECT_EQ(NumCommon(a, b), 2U);
}

// The first user's length decides how nodes are stored, never which are equal.
TEST(PrefixChain, LongerAndShorterUsesOfARun) {
  const std::vector<int32_t> lengths = {8, 24, 16, 40, 4};
  PrefixTree tree(4);
  std::vector<PrefixChain> chains;
  for (const int32_t length : lengths) {
    chains.push_back(tree.MakeChain(WithPrefix({{7, length}}, 4), length / 4 + 1));
  }
  for (size_t i = 0; i < chains.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_EQ(NumCommon(chains[i], chains[j]),
                static_cast<size_t>(std::min(lengths[i], lengths[j]) / 4));
    }
  }
}

TEST(PrefixChain, AShorterUseGoesOnWithItsOwnSegment) {
  PrefixTree tree(4);
  const PrefixChain whole = tree.MakeChain(WithPrefix({{7, 16}}), 4);
  const PrefixChain a = tree.MakeChain(WithPrefix({{7, 8}, {1, 4}}), 3);
  const PrefixChain b = tree.MakeChain(WithPrefix({{7, 8}, {1, 8}}), 4);
  EXPECT_EQ(NumCommon(whole, a), 2U);
  EXPECT_EQ(NumCommon(a, b), 3U);
}

TEST(PrefixChain, RunsCoverTheBlocksInOrder) {
  PrefixTree tree(4);
  tree.MakeChain(WithPrefix({{7, 8}}), 2);
  const PrefixChain chain = tree.MakeChain(WithPrefix({{7, 17}, {1, 3}, {2, 9}}, 20), 13);
  EXPECT_EQ(chain.num_shared_blocks, 7);
  EXPECT_EQ(chain.runs.front().first_block, 0);
  for (size_t run = 1; run < chain.runs.size(); ++run) {
    EXPECT_GT(chain.runs[run].first_block, chain.runs[run - 1].first_block);
  }
  EXPECT_EQ(chain.runs.back().first_block, 7);  // the private run
  const std::vector<NodeId> nodes = Nodes(chain);
  EXPECT_EQ(nodes.size(), 13U);
  EXPECT_EQ(std::set<NodeId>(nodes.begin(), nodes.end()).size(), 13U);
  EXPECT_FALSE(std::set<NodeId>(nodes.begin(), nodes.end()).contains(0));  // the root
}

TEST(PrefixChain, PrivateNodesOfLiveRequestsDiffer) {
  PrefixTree tree(4);
  std::set<NodeId> seen;
  size_t blocks = 0;
  for (int32_t count : {1, 2, 3, 4, 5, 8, 9, 1, 16}) {
    for (const NodeId node : Nodes(tree.MakeChain(WithPrefix({}, 4 * count), count))) {
      seen.insert(node);
    }
    blocks += static_cast<size_t>(count);
  }
  EXPECT_EQ(seen.size(), blocks);
}

TEST(PrefixChain, PrivateNodesAreRecycled) {
  PrefixTree tree(4);
  const PrefixChain first = tree.MakeChain(WithPrefix({}, 20), 5);
  const size_t num_nodes = tree.num_nodes();
  tree.Release(first);
  const PrefixChain second = tree.MakeChain(WithPrefix({}, 32), 8);  // 5 to 8 blocks: one size
  EXPECT_EQ(second.runs.back().node, first.runs.back().node);
  EXPECT_EQ(tree.num_nodes(), num_nodes);
}

TEST(PrefixChain, NodesDoNotGrowWithTheNumberOfRequests) {
  PrefixTree tree(16);
  size_t after_ten = 0;
  for (int i = 0; i < 1000; ++i) {
    tree.Release(tree.MakeChain(WithPrefix({{7, 40}}, 100 + i % 7), 12));
    if (i == 10) after_ten = tree.num_nodes();
  }
  EXPECT_EQ(tree.num_nodes(), after_ten);
}

TEST(PrefixChain, SharedNodesOutliveTheirRequests) {
  PrefixTree tree(4);
  const PrefixChain a = tree.MakeChain(WithPrefix({{7, 8}}, 8), 4);
  tree.Release(a);
  const PrefixChain b = tree.MakeChain(WithPrefix({{7, 8}}), 2);
  EXPECT_EQ(NumCommon(a, b), 2U);
  EXPECT_EQ(b.num_shared_blocks, b.num_blocks);
  tree.Release(b);  // nothing of its own: nothing happens
}

}  // namespace
}  // namespace batchvar
