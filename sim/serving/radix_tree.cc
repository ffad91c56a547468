#include "sim/serving/radix_tree.h"

#include <algorithm>

#include "sim/base/check.h"

namespace batchvar {
namespace {

using Run = PrefixChain::Run;

NodeId IdIn(const Run& run, int32_t page) {
  return run.node + static_cast<NodeId>(page - run.first_block);
}

// Where run `i` of `runs` ends, when all of them end at `end`.
int32_t EndOf(const std::vector<Run>& runs, size_t i, int32_t end) {
  return i + 1 < runs.size() ? std::min(runs[i + 1].first_block, end) : end;
}

}  // namespace

RadixTree::RadixTree(int32_t page_size) : page_size_(page_size), texts_(page_size), nodes_(1) {
  BV_CHECK(page_size >= 1);
}

void RadixTree::Stamp(Node node) {
  NodeData& data = nodes_[node];
  const bool is_leaf = IsEvictableLeaf(node);
  if (is_leaf) leaves_.erase({data.stamp, node});
  data.stamp = ++clock_;
  if (is_leaf) leaves_.insert({data.stamp, node});
}

// Pages from the node's first on that equal the chain's; `run` is the chain's run at that page.
int32_t RadixTree::CommonPages(Node node, const PrefixChain& chain, size_t run,
                               int32_t max_pages) const {
  const NodeData& data = nodes_[node];
  const int32_t end = std::min(data.end, max_pages);
  int32_t page = data.begin;
  for (size_t own = 0; page < end;) {
    const Run& ours = data.runs[own];
    if (ours.node == kForgotten || IdIn(ours, page) != IdIn(chain.runs[run], page)) break;
    const int32_t own_end = EndOf(data.runs, own, data.end);
    const int32_t run_end = EndOf(chain.runs, run, chain.num_blocks);
    page = std::min({own_end, run_end, end});
    if (page == own_end) ++own;
    if (page == run_end) ++run;
  }
  return page - data.begin;
}

RadixTree::Node RadixTree::Split(Node node, int32_t page) {
  Node upper = static_cast<Node>(nodes_.size());
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
  } else {
    upper = free_nodes_.back();
    free_nodes_.pop_back();
  }
  NodeData& above = nodes_[upper];
  NodeData& below = nodes_[node];
  BV_CHECK(below.begin < page && page < below.end);
  above.parent = below.parent;
  above.begin = below.begin;
  above.end = page;
  above.locks = below.locks;
  above.num_children = 1;
  size_t cut = 0;  // runs that begin above the cut
  while (cut < below.runs.size() && below.runs[cut].first_block < page) ++cut;
  above.runs.assign(below.runs.begin(), below.runs.begin() + static_cast<std::ptrdiff_t>(cut));
  const bool inside = cut == below.runs.size() || below.runs[cut].first_block > page;
  if (inside) --cut;  // this run is in both parts
  below.runs.erase(below.runs.begin(), below.runs.begin() + static_cast<std::ptrdiff_t>(cut));
  if (inside) below.runs.front() = {page, IdIn(below.runs.front(), page)};
  below.parent = upper;
  below.begin = page;
  by_first_page_[above.runs.front().node] = upper;
  by_first_page_[below.runs.front().node] = node;
  // The lower part counts as the younger one.
  Stamp(upper);
  Stamp(node);
  return upper;
}

RadixTree::Place RadixTree::Walk(const PrefixChain& chain, int32_t max_pages) {
  Place place;
  max_pages = std::min(max_pages, chain.num_blocks);
  for (size_t run = 0; place.pages < max_pages;) {
    while (EndOf(chain.runs, run, chain.num_blocks) <= place.pages) ++run;
    const auto found = by_first_page_.find(IdIn(chain.runs[run], place.pages));
    if (found == by_first_page_.end()) break;
    const Node child = found->second;
    BV_CHECK(nodes_[child].parent == place.node && nodes_[child].begin == place.pages);
    const int32_t common = CommonPages(child, chain, run, max_pages);
    place.pages += common;
    if (common < nodes_[child].length()) {
      place.node = Split(child, place.pages);
      break;
    }
    Stamp(child);
    place.node = child;
  }
  return place;
}

RadixTree::Place RadixTree::Match(const PrefixChain& chain, int32_t max_pages) {
  return Walk(chain, max_pages);
}

RadixTree::Node RadixTree::AddLeaf(Node parent, const PrefixChain& chain, int32_t begin,
                                   int32_t end) {
  Node node = static_cast<Node>(nodes_.size());
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  if (IsEvictableLeaf(parent)) leaves_.erase({nodes_[parent].stamp, parent});
  ++nodes_[parent].num_children;
  NodeData& data = nodes_[node];
  data.parent = parent;
  data.begin = begin;
  data.end = end;
  data.locks = 0;
  data.num_children = 0;
  data.runs.clear();
  for (size_t run = 0; run < chain.runs.size() && chain.runs[run].first_block < end; ++run) {
    if (EndOf(chain.runs, run, chain.num_blocks) <= begin) continue;
    const int32_t first = std::max(begin, chain.runs[run].first_block);
    data.runs.push_back({first, IdIn(chain.runs[run], first)});
  }
  const bool is_new = by_first_page_.emplace(data.runs.front().node, node).second;
  BV_CHECK(is_new);
  evictable_pages_ += data.length();
  total_pages_ += data.length();
  data.stamp = ++clock_;
  leaves_.insert({data.stamp, node});
  return node;
}

RadixTree::Place RadixTree::Insert(const PrefixChain& chain, int32_t num_pages, int32_t boundary) {
  BV_CHECK(num_pages <= chain.num_blocks);
  Place place = Walk(chain, num_pages);
  int32_t begin = place.pages;
  if (begin < boundary && boundary < num_pages) {
    place.node = AddLeaf(place.node, chain, begin, boundary);
    begin = boundary;
  }
  if (begin < num_pages) place.node = AddLeaf(place.node, chain, begin, num_pages);
  return place;
}

void RadixTree::Lock(Node node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    NodeData& data = nodes_[node];
    if (data.locks == 0) {
      evictable_pages_ -= data.length();
      if (data.num_children == 0) leaves_.erase({data.stamp, node});
    }
    ++data.locks;
  }
}

void RadixTree::Unlock(Node node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    NodeData& data = nodes_[node];
    BV_CHECK(data.locks > 0);
    if (--data.locks > 0) continue;
    evictable_pages_ += data.length();
    if (data.num_children == 0) leaves_.insert({data.stamp, node});
  }
}

void RadixTree::Remove(Node node) {
  NodeData& data = nodes_[node];
  if (data.runs.front().node != kForgotten) by_first_page_.erase(data.runs.front().node);
  evictable_pages_ -= data.length();
  total_pages_ -= data.length();
  --nodes_[data.parent].num_children;
  if (IsEvictableLeaf(data.parent)) leaves_.insert({nodes_[data.parent].stamp, data.parent});
  free_nodes_.push_back(node);
}

int64_t RadixTree::Evict(int64_t tokens) {
  int64_t dropped = 0;
  while (dropped < tokens && !leaves_.empty()) {
    const Node node = leaves_.begin()->second;
    leaves_.erase(leaves_.begin());
    dropped += int64_t{nodes_[node].length()} * page_size_;
    Remove(node);
  }
  return dropped;
}

void RadixTree::ReleaseChain(const PrefixChain& chain, Node last) {
  const int32_t own = chain.num_shared_blocks;  // the request's own text begins here
  for (; last != kRoot && nodes_[last].end > own; last = nodes_[last].parent) {
    NodeData& data = nodes_[last];
    if (data.begin >= own) by_first_page_.erase(data.runs.front().node);
    for (Run& run : data.runs) {
      if (run.first_block >= own) run.node = kForgotten;
    }
  }
  texts_.Release(chain);
}

}  // namespace batchvar
