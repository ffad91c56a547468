// Two forward passes over the same tokens, op by op: where the bits part first, how the difference
// grows from layer to layer, and whether it reaches the token.
//
// A pass is a list of records in execution order, one for each op that ran. Both passes ran the
// same model, so their records stand at the same places; a record holds the op's results for the
// rows that were asked for, before the final rounding, as the executor wrote them.
#ifndef BATCHVAR_SIM_DIVERGENCE_PASS_COMPARISON_H_
#define BATCHVAR_SIM_DIVERGENCE_PASS_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/divergence/bits_difference.h"
#include "sim/divergence/near_tie.h"
#include "sim/numerics/dtype.h"
#include "sim/shape/op_shape.h"

namespace batchvar {

struct OpRecord {
  int32_t layer = -1;  // -1: outside the layers (final norm, lm_head)
  Op op = Op::kQkvProj;
  DType output = DType::kBf16;  // what the results are rounded to
  std::vector<float> values;
};

// One rung of the layers x ops ladder.
struct LadderRung {
  int32_t layer = -1;
  Op op = Op::kQkvProj;
  BitsDifference difference;
};

struct Divergence {
  std::vector<LadderRung> ladder;  // every op, in execution order
  // Index into the ladder of the first op whose fp32 bits differ, and of the first that hands on
  // other 16-bit words. An op before the second one differs by its order alone.
  std::optional<int64_t> first_op;
  std::optional<int64_t> first_op_16bit;
  TopTwo a;
  TopTwo b;
  int64_t logits_changed = 0;
  double max_logit_distance = 0.0;
  bool Flipped() const { return a.top != b.top; }
};

// `a` and `b` list the same ops with the same number of results; the logits are of one position
// and of equal sizes.
Divergence ComparePasses(const std::vector<OpRecord>& a, const std::vector<OpRecord>& b,
                         std::span<const float> logits_a, std::span<const float> logits_b);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_PASS_COMPARISON_H_
