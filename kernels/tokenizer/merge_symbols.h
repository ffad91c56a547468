// The merging loop that all BPE tokenizers share: of the adjacent pairs that may merge, the one of
// the lowest rank merges first, the leftmost of equals, until none is left. Pairs wait in a heap,
// so a long text costs n log n. Used by byte_level_bpe.cc and llama2c_tokenizer.cc.
#ifndef BATCHVAR_KERNELS_TOKENIZER_MERGE_SYMBOLS_H_
#define BATCHVAR_KERNELS_TOKENIZER_MERGE_SYMBOLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

namespace batchvar {

// What a pair becomes, and when: lower ranks first.
struct Merge {
  double rank = 0;
  int32_t id = 0;
};

// `find(left, right)` gives std::optional<Merge> for two token ids. Returns what is left of `ids`.
template <typename Find>
std::vector<int32_t> MergeSymbols(std::vector<int32_t> ids, const Find& find) {
  constexpr int32_t kGone = -1;
  const size_t size = ids.size();
  std::vector<size_t> previous(size), next(size);  // of the symbols that are left; size: none
  for (size_t i = 0; i < size; ++i) {
    previous[i] = i == 0 ? size : i - 1;
    next[i] = i + 1;
  }
  // (rank, left position, left id, right id, merged id). The ids tell an entry that is out of date.
  using Entry = std::tuple<double, size_t, int32_t, int32_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;
  const auto offer = [&](size_t left) {
    if (left >= size || next[left] >= size) return;
    const int32_t right = ids[next[left]];
    const std::optional<Merge> merge = find(ids[left], right);
    if (merge) waiting.emplace(merge->rank, left, ids[left], right, merge->id);
  };
  for (size_t i = 0; i < size; ++i) offer(i);
  while (!waiting.empty()) {
    const auto [rank, at, left, right, merged] = waiting.top();
    waiting.pop();
    if (ids[at] != left || next[at] >= size || ids[next[at]] != right) continue;
    const size_t taken = next[at];
    ids[at] = merged;
    ids[taken] = kGone;
    next[at] = next[taken];
    if (next[at] < size) previous[next[at]] = at;
    offer(previous[at]);
    offer(at);
  }
  std::erase(ids, kGone);
  return ids;
}

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_TOKENIZER_MERGE_SYMBOLS_H_
