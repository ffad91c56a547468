// Decomposition of row reductions (RMSNorm, soft-max): one Order per row, given by its block of
// threads. All-reduces are in allreduce_policy.h.
//
//   norm_invariant  block = min(1024, width / vec), whatever the rows (FlashInfer fb28d724)
//   norm_vllm       the same below 256 rows, at most 256 threads from there on (vLLM 0.32.0), so a
//                   step that grows past 255 rows changes every row's sum
// with vec = gcd(16 bytes / element size, width).
#ifndef BATCHVAR_SIM_PLAN_ROW_POLICY_H_
#define BATCHVAR_SIM_PLAN_ROW_POLICY_H_

#include <cstdint>

#include "sim/plan/plan.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

// Order of one row of `width` elements when `num_rows` rows run in the step.
Order NormOrder(const NormPolicySpec& spec, int64_t num_rows, int64_t width, DType dtype);
PolicySource NormSource(const NormPolicySpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ROW_POLICY_H_
