#include "sim/report/execution_text.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sim/divergence/order_tree.h"
#include "sim/divergence/probe_terms.h"
#include "sim/numerics/float_bits.h"
#include "sim/plan/plan_words.h"
#include "sim/report/tree_outline.h"

namespace batchvar {
namespace {

constexpr int64_t kPartialsShown = 16;

std::string ValueText(float value) {
  return absl::StrFormat("%16.9g  0x%08x", value, BitsOf(value));
}

std::string RangeText(const Range& range) {
  return absl::StrFormat("[%d, %d)", range.begin, range.end);
}

constexpr int64_t kTermsOutlined = 4096;

// All terms of the sum, or places spread over it where there are too many to walk.
std::vector<int64_t> PlacesOf(int64_t extent) {
  if (extent > kTermsOutlined) return ProbePlaces(extent, kMaxProbeTerms);
  std::vector<int64_t> places(extent);
  std::iota(places.begin(), places.end(), int64_t{0});
  return places;
}

std::string OutlineText(const Execution& execution, const Order& order) {
  const std::vector<int64_t> places = PlacesOf(execution.extent);
  SummationTree tree;
  if (execution.op == "gemm") {
    tree = TreeOfDot(order, places);
  } else if (execution.op == "attention") {
    tree = TreeOfAttention(order, places);
  } else if (execution.op == "norm") {
    tree = TreeOfRow(order, execution.extent, execution.output, places);
  } else {
    tree = TreeOfRanks(order);
  }
  std::string text;
  for (const std::string& line : TreeOutline(tree, places)) {
    absl::StrAppend(&text, "     ", line, "\n");
  }
  return text;
}

std::string SideText(const char* name, const std::string& words, const ExecutionSide& side,
                     DType output) {
  const std::vector<PartialSum>& partials = side.example.partials;
  const auto count = static_cast<int64_t>(partials.size());
  std::string text = absl::StrFormat("  %s  %s\n", name, words);
  for (int64_t i = 0; i < std::min(count, kPartialsShown); ++i) {
    absl::StrAppendFormat(&text, "     %-16s %s\n", RangeText(partials[i].range),
                          ValueText(partials[i].value));
  }
  if (count > kPartialsShown) {
    absl::StrAppend(&text, "     ... ", count - kPartialsShown, " more in --json\n");
  }
  absl::StrAppendFormat(&text, "     %-16s %s   combine %s\n", "sum", ValueText(side.example.sum),
                        CombineName(side.order.combine));
  absl::StrAppendFormat(&text, "     %-16s %s\n", DTypeName(output),
                        ValueText(side.example.result));
  return text;
}

// What the ranges of an op's partial sums count.
std::string PartialWords(const std::string& op) {
  if (op == "gemm") return "each piece of K summed alone";
  if (op == "attention") return "each piece of KV as a result of its own";
  if (op == "norm") return "squares summed by the threads of each warp";
  return "what each rank has";
}

std::string ShareText(int64_t part, int64_t whole) {
  return absl::StrFormat("%d of %d (%.3g %%)", part, whole,
                         whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / whole);
}

}  // namespace

std::string ExecutionText(const Execution& execution, const std::string& words_a,
                          const std::string& words_b) {
  const BitsDifference& difference = execution.difference;
  const bool same = execution.a.klass == execution.b.klass;
  std::string text = absl::StrCat("a        ", words_a, "\nb        ", words_b, "\nclass    ");
  absl::StrAppend(&text, same ? "one: equal bits by construction" : "two: the bits may differ",
                  "  (", execution.a.klass.ShortHex(), same ? "" : " and ",
                  same ? "" : execution.b.klass.ShortHex(), ")\n\n");
  absl::StrAppend(&text, "outputs  ", CountWords(execution.rows, "row"), " x ",
                  CountWords(execution.columns, "column"), ", on ", execution.isa, "\n");
  absl::StrAppend(&text, "differ   ", ShareText(difference.differ_fp32, difference.outputs),
                  " in fp32, ", difference.max_ulp, " ULP at most\n");
  absl::StrAppend(&text, "         ", ShareText(difference.differ_16bit, difference.outputs),
                  " after rounding to ", DTypeName(execution.output), ", ",
                  difference.max_ulp_16bit, " ULP at most\n");
  if (execution.fused_sums > 0) {
    absl::StrAppend(&text, "guard    ", ShareText(execution.fallbacks, execution.fused_sums),
                    " fused sums were redone by the scalar reference\n");
  }
  absl::StrAppendFormat(&text, "\nexample  row %d, column %d; exactly %.12g; %s\n",
                        execution.example_row, execution.example_column, execution.exact,
                        PartialWords(execution.op));
  absl::StrAppend(&text, SideText("a", words_a, execution.a, execution.output));
  absl::StrAppend(&text, SideText("b", words_b, execution.b, execution.output));
  absl::StrAppend(
      &text, "\ntrees    (0..15) is one rounding over 16 terms, to: and so on, ->: then added\n");
  absl::StrAppend(&text, "  a\n", OutlineText(execution, execution.a.order));
  absl::StrAppend(&text, "  b\n", OutlineText(execution, execution.b.order));
  return text;
}

}  // namespace batchvar
