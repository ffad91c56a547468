// Names for the contents of KV blocks. A block's content is its tokens AND everything before them,
// so contents form a tree; a node of that tree is a small integer, equal exactly when the contents
// are. Prompts are symbolic (segments, see request.h): two blocks are equal when they cover the
// same tokens of the same segments after equal parents. Text that nobody shares gets private nodes,
// which are recycled when their request is done.
//
// Used by PagedKvCache only. Deterministic: the hash map below is only looked up, never walked.
#ifndef BATCHVAR_SIM_SERVING_PREFIX_CHAIN_H_
#define BATCHVAR_SIM_SERVING_PREFIX_CHAIN_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/serving/request.h"

namespace batchvar {

using NodeId = uint32_t;

// The nodes of one request's blocks, as runs of consecutive ids: block b of run i has node
// runs[i].node + (b - runs[i].first_block). The last run is private.
struct PrefixChain {
  struct Run {
    int32_t first_block = 0;
    NodeId node = 0;
  };
  std::vector<Run> runs;
  int32_t num_blocks = 0;         // blocks that the runs cover
  int32_t num_shared_blocks = 0;  // those before the private run
};

class PrefixTree {
 public:
  explicit PrefixTree(int32_t block_size) : block_size_(block_size) {}

  // Nodes for the first `num_blocks` blocks of `request`, generated tokens included.
  PrefixChain MakeChain(const Request& request, int32_t num_blocks);
  // Gives the private nodes back. The caller must have forgotten them.
  void Release(const PrefixChain& chain);

  size_t num_nodes() const { return num_nodes_; }

 private:
  // Content `length` tokens long (0: as many whole blocks as the run holds) of `segment` from
  // `offset`, after the content `parent`.
  struct Edge {
    NodeId parent;
    int32_t offset;
    uint64_t segment;
    int32_t length;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct EdgeHash {
    size_t operator()(const Edge& edge) const;
  };
  struct SharedRun {
    NodeId node;
    int32_t num_blocks;
  };

  NodeId NewNodes(int32_t count);
  NodeId PrivateNodes(int32_t count);
  // Appends whole blocks of one segment; returns the node of the last one.
  NodeId AppendWholeBlocks(NodeId parent, uint64_t segment, int32_t offset, int32_t num_blocks,
                           PrefixChain* chain);

  int32_t block_size_;
  size_t num_nodes_ = 1;  // node 0 is the root: the empty content
  std::unordered_map<Edge, SharedRun, EdgeHash> edges_;
  std::array<std::vector<NodeId>, 32> free_ranges_;  // by power-of-two size
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_PREFIX_CHAIN_H_
