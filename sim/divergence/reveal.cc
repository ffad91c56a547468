#include "sim/divergence/reveal.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/check.h"

namespace batchvar {
namespace {

// A term and the number of terms below the lowest node that it shares with another one.
struct Met {
  int64_t size = 0;
  int64_t term = 0;
};

class Search {
 public:
  Search(int64_t n, const SumProbe& probe) : n_(n), probe_(probe) {}

  RevealedSum Run() {
    std::vector<Met> others = MeetAll(0, Terms(1));
    if (ok_ && n_ > 2 && std::all_of(others.begin(), others.end(), NothingLost)) return OrderFree();
    SummationTree tree = Grow(0, std::move(others));
    if (!ok_) return result_;
    result_.tree = Canonical(std::move(tree));
    return result_;
  }

 private:
  static bool NothingLost(const Met& met) { return met.size == 2; }

  std::vector<int64_t> Terms(int64_t first) const {
    std::vector<int64_t> terms;
    for (int64_t term = first; term < n_; ++term) terms.push_back(term);
    return terms;
  }

  void Fail(int64_t first, int64_t second, double answer) {
    if (!ok_) return;
    ok_ = false;
    result_ = {RevealOutcome::kInconsistent, {}, result_.probes, first, second, answer};
  }

  std::vector<Met> MeetAll(int64_t first, const std::vector<int64_t>& terms) {
    std::vector<Met> met;
    for (const int64_t term : terms) {
      if (!ok_) break;
      const double units = probe_(first, term);
      ++result_.probes;
      // Written so that a NaN fails, too.
      const bool whole = units >= 0 && units <= static_cast<double>(n_ - 2) &&
                         units == static_cast<double>(static_cast<int64_t>(units));
      if (!whole) {
        Fail(first, term, units);
        break;
      }
      met.push_back({n_ - static_cast<int64_t>(units), term});
    }
    return met;
  }

  // The subtree that holds `first` and `others`, which say where they meet `first`. From `first`
  // upwards: the terms that meet it in a node of l terms are the node's other children.
  SummationTree Grow(int64_t first, std::vector<Met> others) {
    std::stable_sort(others.begin(), others.end(),
                     [](const Met& a, const Met& b) { return a.size < b.size; });
    SummationTree tree = LeafOf(first);
    int64_t size = 1;
    for (size_t i = 0; i < others.size() && ok_;) {
      const int64_t node = others[i].size;
      std::vector<int64_t> terms;
      for (; i < others.size() && others[i].size == node; ++i) terms.push_back(others[i].term);
      size += static_cast<int64_t>(terms.size());
      if (size != node) {
        Fail(first, terms.front(), static_cast<double>(n_ - node));
        break;
      }
      std::vector<SummationTree> children;
      children.push_back(std::move(tree));
      AddChildren(std::move(terms), node, &children);
      tree = SumOf(std::move(children));
    }
    return tree;
  }

  // `terms` are all that is below a node of `node` terms beside its first child: two of them are in
  // one child when they meet below the node.
  void AddChildren(std::vector<int64_t> terms, int64_t node, std::vector<SummationTree>* children) {
    while (!terms.empty() && ok_) {
      const int64_t first = terms.front();
      terms.erase(terms.begin());
      std::vector<Met> same_child;
      std::vector<int64_t> rest;
      for (const Met& met : MeetAll(first, terms)) {
        if (met.size > node) Fail(first, met.term, static_cast<double>(n_ - met.size));
        if (met.size < node) {
          same_child.push_back(met);
        } else {
          rest.push_back(met.term);
        }
      }
      if (ok_) children->push_back(Grow(first, std::move(same_child)));
      terms = std::move(rest);
    }
  }

  // Nothing was lost between the first term and any other: so it has to be for every pair.
  RevealedSum OrderFree() {
    std::vector<SummationTree> leaves = {LeafOf(0)};
    for (int64_t first = 1; first < n_; ++first) {
      for (const Met& met : MeetAll(first, Terms(first + 1))) {
        if (!NothingLost(met)) Fail(first, met.term, static_cast<double>(n_ - met.size));
      }
      leaves.push_back(LeafOf(first));
    }
    if (!ok_) return result_;
    result_.outcome = RevealOutcome::kOrderFree;
    result_.tree = SumOf(std::move(leaves));
    result_.tree.order_free = true;
    return result_;
  }

  const int64_t n_;
  const SumProbe& probe_;
  bool ok_ = true;
  RevealedSum result_;
};

}  // namespace

RevealedSum RevealTree(int64_t n, const SumProbe& probe) {
  BV_CHECK(n >= 1);
  return Search(n, probe).Run();
}

}  // namespace batchvar
