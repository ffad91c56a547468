#include "sim/serving/kv_cache.h"

#include <algorithm>

#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr BlockId kNullBlock = 0;

}  // namespace

PagedKvCache::PagedKvCache(int32_t num_gpu_blocks, int32_t block_size, bool enable_prefix_caching)
    : num_gpu_blocks_(num_gpu_blocks),
      block_size_(block_size),
      caching_(enable_prefix_caching),
      num_free_(num_gpu_blocks - 1),
      blocks_(static_cast<size_t>(num_gpu_blocks)),
      tree_(block_size) {
  BV_CHECK(num_gpu_blocks >= 2 && block_size >= 1);
  for (BlockId b = 0; b < num_gpu_blocks; ++b) {  // 1, 2, 3, ... in a ring through the null block
    blocks_[b].next = b + 1 < num_gpu_blocks ? b + 1 : kNullBlock;
    blocks_[b].prev = b > 0 ? b - 1 : num_gpu_blocks - 1;
  }
}

void PagedKvCache::Unlink(BlockId block) {
  blocks_[blocks_[block].prev].next = blocks_[block].next;
  blocks_[blocks_[block].next].prev = blocks_[block].prev;
  --num_free_;
}

void PagedKvCache::LinkAfter(BlockId before, BlockId block) {
  const BlockId after = blocks_[before].next;
  blocks_[block].prev = before;
  blocks_[block].next = after;
  blocks_[before].next = block;
  blocks_[after].prev = block;
  ++num_free_;
}

PrefixChain PagedKvCache::MakeChain(const Request& request, int64_t max_tokens) {
  if (!caching_) return {};
  PrefixChain chain = tree_.MakeChain(request, BlocksFor(max_tokens));
  if (first_with_node_.size() < tree_.num_nodes()) {
    first_with_node_.resize(std::max(tree_.num_nodes(), 2 * first_with_node_.size()), kNoBlock);
  }
  return chain;
}

void PagedKvCache::ReleaseChain(const PrefixChain& chain) {
  const int32_t num_private = chain.num_blocks - chain.num_shared_blocks;
  if (num_private <= 0) return;
  const NodeId first = chain.runs.back().node;
  for (NodeId node = first; node < first + static_cast<NodeId>(num_private); ++node) {
    for (BlockId b = first_with_node_[node]; b != kNoBlock; b = blocks_[b].next_same) {
      blocks_[b].node = kForgotten;  // stays cached: where it stands in the free list depends on it
    }
    first_with_node_[node] = kNoBlock;
  }
  tree_.Release(chain);
}

void PagedKvCache::Lookup(const PrefixChain& chain, int32_t max_blocks, Hits* hits) const {
  hits->blocks.clear();
  hits->num_free = 0;
  const int32_t limit = std::min(max_blocks, chain.num_blocks);
  for (size_t run = 0; run < chain.runs.size(); ++run) {
    const int32_t begin = chain.runs[run].first_block;
    const int32_t end =
        std::min(limit, run + 1 < chain.runs.size() ? chain.runs[run + 1].first_block : limit);
    for (int32_t b = begin; b < end; ++b) {
      const BlockId block = first_with_node_[chain.runs[run].node + static_cast<NodeId>(b - begin)];
      if (block == kNoBlock) return;
      hits->blocks.push_back(block);
      hits->num_free += blocks_[block].references == 0 ? 1 : 0;
    }
  }
}

void PagedKvCache::Touch(const Hits& hits, std::vector<BlockId>* table) {
  for (const BlockId block : hits.blocks) {
    if (blocks_[block].references++ == 0) Unlink(block);
    table->push_back(block);
  }
}

void PagedKvCache::Evict(BlockId block) {
  const NodeId node = blocks_[block].node;
  if (node == kNoNode) return;
  blocks_[block].node = kNoNode;
  if (node == kForgotten) return;
  BlockId* link = &first_with_node_[node];
  while (*link != block) link = &blocks_[*link].next_same;
  *link = blocks_[block].next_same;
}

void PagedKvCache::Append(int32_t count, std::vector<BlockId>* table) {
  BV_CHECK(count <= num_free_);
  for (int32_t i = 0; i < count; ++i) {
    const BlockId block = blocks_[kNullBlock].next;
    Unlink(block);
    Evict(block);
    blocks_[block].references = 1;
    table->push_back(block);
  }
}

void PagedKvCache::Register(const PrefixChain& chain, const std::vector<BlockId>& table,
                            int32_t begin, int32_t end, const KvProducer& producer) {
  if (begin >= end) return;
  BV_CHECK(end <= chain.num_blocks && end <= static_cast<int32_t>(table.size()));
  // Registration follows the request's growth, so the run is nearly always the last one.
  size_t run = chain.runs.size() - 1;
  while (chain.runs[run].first_block > begin) --run;
  for (int32_t b = begin; b < end; ++b) {
    while (run + 1 < chain.runs.size() && chain.runs[run + 1].first_block <= b) ++run;
    Block& block = blocks_[table[b]];
    if (block.node != kNoNode) continue;
    block.node = chain.runs[run].node + static_cast<NodeId>(b - chain.runs[run].first_block);
    block.next_same = kNoBlock;
    block.producer = producer;
    BlockId* link = &first_with_node_[block.node];
    while (*link != kNoBlock) link = &blocks_[*link].next_same;
    *link = table[b];
  }
}

int32_t PagedKvCache::LeadingHeldBy(int32_t holders, const std::vector<BlockId>& table) const {
  const auto end = std::find_if(table.begin(), table.end(), [this, holders](BlockId block) {
    return blocks_[block].references != holders;
  });
  return static_cast<int32_t>(end - table.begin());
}

void PagedKvCache::Free(std::vector<BlockId>* table) {
  // Blocks whose content is cached go to the tail, deepest first, so that the deepest is evicted
  // first; the others go to the front, with the table's last block foremost.
  for (size_t i = table->size(); i-- > 0;) {
    Block& block = blocks_[(*table)[i]];
    BV_CHECK(block.references > 0);
    if (--block.references == 0 && block.node != kNoNode) {
      LinkAfter(blocks_[kNullBlock].prev, (*table)[i]);
    }
  }
  for (const BlockId block : *table) {
    if (blocks_[block].references == 0 && blocks_[block].node == kNoNode) {
      LinkAfter(kNullBlock, block);
    }
  }
  table->clear();
}

}  // namespace batchvar
