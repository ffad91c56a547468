// SGLang's radix cache as far as schedules depend on it: which leading pages of a text are in KV,
// who keeps them there, and what is dropped first. SGLang 0.5.23 (PyPI, 2026-10), class RadixCache
// with the `lru` policy; only counts of tokens matter, so there are no slots of KV here.
//
// A node is a run of whole pages of text. Texts are the symbolic ones of prefix_chain.h, so a page
// is an integer that names its own content and everything before it: a child is found by the id of
// its first page, and runs of ids are compared, not tokens.
//
// Invariants: a locked node's ancestors are locked; evictable_tokens() is the sum over nodes that
// nobody locks; only leaves are dropped, oldest stamp first. Deterministic: the hash map is only
// looked up. Used by sglang_scheduler.h.
#ifndef BATCHVAR_SIM_SERVING_RADIX_TREE_H_
#define BATCHVAR_SIM_SERVING_RADIX_TREE_H_

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/serving/prefix_chain.h"

namespace batchvar {

class RadixTree {
 public:
  using Node = int32_t;
  static constexpr Node kRoot = 0;  // the empty text: always there, never counted

  explicit RadixTree(int32_t page_size);

  // The pages of a request that may grow to `max_tokens`.
  PrefixChain MakeChain(const Request& request, int64_t max_tokens) {
    return texts_.MakeChain(request,
                            static_cast<int32_t>((max_tokens + page_size_ - 1) / page_size_));
  }

  struct Place {
    Node node = kRoot;  // the last node of the pages
    int32_t pages = 0;
  };
  // The longest part of the first `max_pages` pages that the tree holds. Nodes on the way become
  // the youngest; one that is held in part is split.
  Place Match(const PrefixChain& chain, int32_t max_pages);
  // Puts the first `num_pages` pages into the tree; a new run that crosses `boundary` (the whole
  // pages of the prompt) becomes two nodes. The last node, and how many pages were there already.
  Place Insert(const PrefixChain& chain, int32_t num_pages, int32_t boundary);

  // Locks are counted, on a node and its ancestors.
  void Lock(Node node);
  void Unlock(Node node);

  // Drops whole leaves that nobody locks, the oldest first, until at least `tokens` are dropped or
  // none is left. Returns the tokens dropped.
  int64_t Evict(int64_t tokens);

  // The request is done: text that is its own can never be asked for again, though it stays until
  // it is dropped. `last` is the last node of everything of it that the tree holds.
  void ReleaseChain(const PrefixChain& chain, Node last);

  int64_t evictable_tokens() const { return evictable_pages_ * page_size_; }
  int64_t total_tokens() const { return total_pages_ * page_size_; }

 private:
  static constexpr NodeId kForgotten = UINT32_MAX;  // pages that nobody can ask for any more

  struct NodeData {
    Node parent = kRoot;
    int32_t begin = 0;  // pages [begin, end) of the text
    int32_t end = 0;
    int32_t locks = 0;
    int32_t num_children = 0;
    int64_t stamp = 0;
    std::vector<PrefixChain::Run> runs;  // of [begin, end)

    int32_t length() const { return end - begin; }
  };

  bool IsEvictableLeaf(Node node) const {
    return node != kRoot && nodes_[node].locks == 0 && nodes_[node].num_children == 0;
  }
  // The walk that matching and inserting share.
  Place Walk(const PrefixChain& chain, int32_t max_pages);
  int32_t CommonPages(Node node, const PrefixChain& chain, size_t run, int32_t max_pages) const;
  // Cuts the node at a page inside it. Returns the new upper part; `node` becomes the lower one.
  Node Split(Node node, int32_t page);
  Node AddLeaf(Node parent, const PrefixChain& chain, int32_t begin, int32_t end);
  void Remove(Node node);
  void Stamp(Node node);

  int32_t page_size_;
  PrefixTree texts_;
  std::vector<NodeData> nodes_;
  std::vector<Node> free_nodes_;
  std::unordered_map<NodeId, Node> by_first_page_;
  std::set<std::pair<int64_t, Node>> leaves_;  // evictable ones, by stamp
  int64_t clock_ = 0;
  int64_t evictable_pages_ = 0;
  int64_t total_pages_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_RADIX_TREE_H_
