#include "sim/serving/prefix_chain.h"

#include <algorithm>
#include <bit>

#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr NodeId kRoot = 0;

uint64_t Mix(uint64_t x) {  // the finaliser of SplitMix64
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

int SizeClass(int32_t count) { return std::bit_width(static_cast<uint32_t>(count - 1)); }

void AppendRun(int32_t first_block, NodeId node, int32_t num_blocks, PrefixChain* chain) {
  const bool continues =
      !chain->runs.empty() &&
      chain->runs.back().node + static_cast<NodeId>(first_block - chain->runs.back().first_block) ==
          node;
  if (!continues) chain->runs.push_back({first_block, node});
  chain->num_blocks = first_block + num_blocks;
}

}  // namespace

size_t PrefixTree::EdgeHash::operator()(const Edge& edge) const {
  const uint64_t low = uint64_t{edge.parent} << 32 | static_cast<uint32_t>(edge.offset);
  return Mix(Mix(low) ^ edge.segment) + static_cast<uint64_t>(edge.length);
}

NodeId PrefixTree::NewNodes(int32_t count) {
  const size_t first = num_nodes_;
  num_nodes_ += static_cast<size_t>(count);
  BV_CHECK(num_nodes_ <= UINT32_MAX);
  return static_cast<NodeId>(first);
}

NodeId PrefixTree::PrivateNodes(int32_t count) {
  std::vector<NodeId>& free = free_ranges_[SizeClass(count)];
  if (free.empty()) return NewNodes(int32_t{1} << SizeClass(count));
  const NodeId node = free.back();
  free.pop_back();
  return node;
}

NodeId PrefixTree::AppendWholeBlocks(NodeId parent, uint64_t segment, int32_t offset,
                                     int32_t num_blocks, PrefixChain* chain) {
  while (num_blocks > 0) {
    // A run is as long as its first user was; a longer user goes on behind its last block.
    const auto [found, inserted] =
        edges_.try_emplace(Edge{parent, offset, segment, 0}, SharedRun{0, num_blocks});
    if (inserted) found->second.node = NewNodes(num_blocks);
    const int32_t take = std::min(num_blocks, found->second.num_blocks);
    AppendRun(chain->num_blocks, found->second.node, take, chain);
    parent = found->second.node + static_cast<NodeId>(take - 1);
    offset += take * block_size_;
    num_blocks -= take;
  }
  return parent;
}

PrefixChain PrefixTree::MakeChain(const Request& request, int32_t num_blocks) {
  PrefixChain chain;
  NodeId parent = kRoot;
  int32_t in_block = 0;  // tokens of the current block that earlier segments fill
  for (const PrefixSegment& segment : request.prefix) {
    int32_t offset = 0;
    if (in_block > 0) {  // a block that spans segments is reached part by part
      const int32_t part = std::min(segment.length, block_size_ - in_block);
      const auto [found, inserted] =
          edges_.try_emplace(Edge{parent, 0, segment.segment, part}, SharedRun{0, 1});
      if (inserted) found->second.node = NewNodes(1);
      parent = found->second.node;
      offset = part;
      in_block += part;
      if (in_block < block_size_) continue;
      in_block = 0;
      AppendRun(chain.num_blocks, parent, 1, &chain);
    }
    const int32_t whole = (segment.length - offset) / block_size_;
    parent = AppendWholeBlocks(parent, segment.segment, offset, whole, &chain);
    offset += whole * block_size_;
    in_block = segment.length - offset;
    if (in_block > 0) {
      const auto [found, inserted] =
          edges_.try_emplace(Edge{parent, offset, segment.segment, in_block}, SharedRun{0, 1});
      if (inserted) found->second.node = NewNodes(1);
      parent = found->second.node;
    }
  }
  chain.num_shared_blocks = chain.num_blocks;
  const int32_t num_private = num_blocks - chain.num_shared_blocks;
  BV_CHECK(num_private >= 0);
  if (num_private > 0) {
    chain.runs.push_back({chain.num_blocks, PrivateNodes(num_private)});
    chain.num_blocks = num_blocks;
  }
  return chain;
}

void PrefixTree::Release(const PrefixChain& chain) {
  const int32_t num_private = chain.num_blocks - chain.num_shared_blocks;
  if (num_private > 0) free_ranges_[SizeClass(num_private)].push_back(chain.runs.back().node);
}

}  // namespace batchvar
