#include "sim/report/execution_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sim/numerics/float_bits.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

constexpr int64_t kPartialsShown = 16;

std::string ValueText(float value) {
  return absl::StrFormat("%16.9g  0x%08x", value, BitsOf(value));
}

std::string RangeText(const Range& range) {
  return absl::StrFormat("[%d, %d)", range.begin, range.end);
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
  absl::StrAppendFormat(&text, "\nexample  row %d, column %d; exactly %.12g\n",
                        execution.example_row, execution.example_column, execution.exact);
  absl::StrAppend(&text, SideText("a", words_a, execution.a, execution.output));
  absl::StrAppend(&text, SideText("b", words_b, execution.b, execution.output));
  return text;
}

}  // namespace batchvar
