#include "sim/divergence/pass_comparison.h"

#include "sim/base/check.h"

namespace batchvar {

Divergence ComparePasses(const std::vector<OpRecord>& a, const std::vector<OpRecord>& b,
                         std::span<const float> logits_a, std::span<const float> logits_b) {
  BV_CHECK(a.size() == b.size());
  Divergence divergence;
  for (size_t i = 0; i < a.size(); ++i) {
    BV_CHECK(a[i].layer == b[i].layer && a[i].op == b[i].op && a[i].output == b[i].output);
    const BitsDifference difference = CompareBits(a[i].values, b[i].values, a[i].output);
    const auto place = static_cast<int64_t>(i);
    if (!divergence.first_op && difference.differ_fp32 > 0) divergence.first_op = place;
    if (!divergence.first_op_16bit && difference.differ_16bit > 0) {
      divergence.first_op_16bit = place;
    }
    divergence.ladder.push_back({a[i].layer, a[i].op, difference});
  }
  const BitsDifference logits = CompareBits(logits_a, logits_b, DType::kFp32);
  divergence.logits_changed = logits.differ_fp32;
  divergence.max_logit_distance = logits.max_abs;
  divergence.a = FindTopTwo(logits_a);
  divergence.b = FindTopTwo(logits_b);
  return divergence;
}

}  // namespace batchvar
