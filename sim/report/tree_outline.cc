#include "sim/report/tree_outline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace batchvar {
namespace {

using Lines = std::vector<std::string>;
using Places = std::vector<int64_t>;

constexpr size_t kColumns = 88;

// The common difference of an arithmetic progression of at least three numbers, or of two
// neighbours; 0 for anything else.
int64_t StrideOf(const Places& places) {
  if (places.size() < 2) return 0;
  const int64_t stride = places[1] - places[0];
  if (places.size() == 2) return stride == 1 || stride == -1 ? stride : 0;
  for (size_t i = 2; i < places.size(); ++i) {
    if (places[i] - places[i - 1] != stride) return 0;
  }
  return stride;
}

std::string PlacesText(const Places& places) {
  if (places.size() == 1) return absl::StrCat(places[0]);
  const int64_t stride = StrideOf(places);
  if (stride == 1 || stride == -1) return absl::StrCat(places.front(), "..", places.back());
  if (stride != 0) {
    return absl::StrCat(places[0], ", ", places[1], " .. ", places.back());
  }
  std::string text;
  for (size_t i = 0; i < places.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", places[i]);
  }
  return text;
}

// Steps of a chain: what each node adds to the sum before it, the innermost node first.
using Steps = std::vector<Places>;

// Empty when a node on the way has more than one child that is no leaf.
Steps ChainSteps(const SummationTree& tree, const Places& places) {
  Steps steps;
  for (const SummationTree* node = &tree; node != nullptr;) {
    const SummationTree* inner = nullptr;
    Places step;
    for (const SummationTree& child : node->children) {
      if (child.IsLeaf()) {
        step.push_back(places[child.leaf]);
      } else if (inner != nullptr || child.order_free) {
        return {};
      } else {
        inner = &child;
      }
    }
    steps.push_back(std::move(step));
    node = inner;
  }
  std::reverse(steps.begin(), steps.end());
  if (steps[0].size() == 2 && (steps.size() == 1 || steps[1].size() == 1)) {
    // The first addition; its terms in the direction in which the chain goes on.
    Places pair = steps[0];
    if (steps.size() > 1 && steps[1][0] < pair[0]) std::swap(pair[0], pair[1]);
    steps[0] = {pair[0]};
    steps.insert(steps.begin() + 1, {pair[1]});
  }
  return steps;
}

// Steps [begin, end) that go on evenly, as one word.
std::string RunText(const Steps& steps, size_t begin, size_t end) {
  if (steps[begin].size() > 1) {
    const std::string first = absl::StrCat("(", PlacesText(steps[begin]), ")");
    return end - begin == 1 ? first : absl::StrCat(first, " to (", PlacesText(steps[end - 1]), ")");
  }
  Places singles;
  for (size_t i = begin; i < end; ++i) singles.push_back(steps[i][0]);
  return PlacesText(singles);
}

// Where the run that starts at step `begin` ends: steps of one size at one distance.
size_t RunEnd(const Steps& steps, size_t begin) {
  size_t end = begin + 1;
  if (end == steps.size() || steps[end].size() != steps[begin].size()) return end;
  const int64_t size = std::ssize(steps[begin]);
  const int64_t distance = steps[end][0] - steps[begin][0];
  const bool fused = size > 1;
  if (fused && (StrideOf(steps[begin]) == 0 || distance != size * StrideOf(steps[begin]))) {
    return end;
  }
  while (end < steps.size() && std::ssize(steps[end]) == size &&
         steps[end][0] - steps[end - 1][0] == distance &&
         (!fused || StrideOf(steps[end]) == StrideOf(steps[begin]))) {
    ++end;
  }
  // Two single places that are no neighbours are no run.
  if (!fused && end - begin == 2 && distance != 1 && distance != -1) return begin + 1;
  return end;
}

Lines ChainLines(const Steps& steps) {
  Lines lines = {""};
  for (size_t i = 0; i < steps.size();) {
    const size_t end = RunEnd(steps, i);
    const std::string word = RunText(steps, i, end);
    if (lines.back().empty()) {
      lines.back() = word;
    } else if (lines.back().size() + word.size() + 4 <= kColumns) {
      absl::StrAppend(&lines.back(), " -> ", word);
    } else {
      lines.push_back("-> " + word);
    }
    i = end;
  }
  return lines;
}

// How far `b` is from `a` when it is the same shape moved along.
std::optional<int64_t> ShiftBetween(const SummationTree& a, const SummationTree& b,
                                    const Places& places) {
  if (a.IsLeaf() && b.IsLeaf()) return places[b.leaf] - places[a.leaf];
  if (a.IsLeaf() || b.IsLeaf() || a.children.size() != b.children.size()) return std::nullopt;
  std::optional<int64_t> shift;
  for (size_t i = 0; i < a.children.size(); ++i) {
    const auto here = ShiftBetween(a.children[i], b.children[i], places);
    if (!here.has_value() || (shift.has_value() && *shift != *here)) return std::nullopt;
    shift = here;
  }
  return shift;
}

// Sums that are added one after another, the innermost first. The sum so far is the child with more
// leaves. Two with equally many end a chain; on their own they are no chain.
std::vector<const SummationTree*> SerialTerms(const SummationTree& tree) {
  std::vector<const SummationTree*> terms;
  const SummationTree* node = &tree;
  while (node->children.size() == 2 && !node->order_free) {
    const int64_t first = CountLeaves(node->children[0]);
    const int64_t second = CountLeaves(node->children[1]);
    const SummationTree* more = &node->children[first >= second ? 0 : 1];
    const SummationTree* less = &node->children[first >= second ? 1 : 0];
    if (less->IsLeaf() && !terms.empty()) break;
    if (first == second && terms.empty()) break;
    terms.push_back(less);
    node = more;
    if (first == second) break;
  }
  terms.push_back(node);
  std::reverse(terms.begin(), terms.end());
  // The first addition has no first term.
  if (terms.size() > 1 && SmallestLeaf(*terms[1]) < SmallestLeaf(*terms[0])) {
    std::swap(terms[0], terms[1]);
  }
  return terms;
}

Lines LinesOf(const SummationTree& tree, const Places& places);

void AppendIndented(const Lines& lines, Lines* out) {
  for (const std::string& line : lines) out->push_back("  " + line);
}

Lines NodeLines(const std::string& heading, const std::vector<const SummationTree*>& terms,
                const Places& places) {
  const std::optional<int64_t> shift = ShiftBetween(*terms[0], *terms[1], places);
  bool alike = shift.has_value();
  for (size_t i = 2; i < terms.size() && alike; ++i) {
    alike = ShiftBetween(*terms[i - 1], *terms[i], places).value_or(0) == *shift;
  }
  if (alike) {
    Lines lines = {absl::StrCat(heading, terms.size() == 2 ? ", the second" : ", each next one",
                                " ", *shift, " further:")};
    AppendIndented(LinesOf(*terms[0], places), &lines);
    return lines;
  }
  Lines lines = {heading + ":"};
  for (const SummationTree* term : terms) AppendIndented(LinesOf(*term, places), &lines);
  return lines;
}

Lines LinesOf(const SummationTree& tree, const Places& places) {
  if (tree.IsLeaf()) return {absl::StrCat(places[tree.leaf])};
  const Steps steps = ChainSteps(tree, places);
  if (tree.order_free && steps.size() == 1) {
    return {absl::StrCat("exact sum of ", PlacesText(steps[0]), ", rounded once: no order")};
  }
  if (!steps.empty()) return ChainLines(steps);
  if (tree.children.size() > 2) {
    std::vector<const SummationTree*> children;
    for (const SummationTree& child : tree.children) children.push_back(&child);
    return NodeLines(absl::StrCat("fused sum of ", children.size()), children, places);
  }
  std::vector<const SummationTree*> terms = SerialTerms(tree);
  if (terms.size() < 3) {
    terms = {&tree.children[0], &tree.children[1]};
    return NodeLines("sum of 2", terms, places);
  }
  return NodeLines(absl::StrCat(terms.size(), " sums, one after another"), terms, places);
}

}  // namespace

std::vector<std::string> TreeOutline(const SummationTree& tree,
                                     const std::vector<int64_t>& places) {
  return LinesOf(tree, places);
}

}  // namespace batchvar
