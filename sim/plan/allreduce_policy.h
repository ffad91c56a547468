// All-reduce: which ranks an element is summed over, in which order. Some algorithms start at
// another rank from slice to slice of the message, so an element's order depends on where it lies,
// and with it on how many tokens the step has.
//
//   one_shot  every rank adds ranks 0, 1, ..., n-1 in fp32, one rounding
//   two_shot  rank r owns slice r and adds r, r+1, ... (mod n) in fp32; slices are counted in
//             16-byte units, the last one takes the rest
//   ring      chunk c adds c+1, c+2, ..., c and is rounded to the element type at every hop
//   tree      one node: a chain n-1, ..., 1, 0, rounded at every hop
//   exact     the exact sum, rounded once (a switch that adds: NVLS)
//   vllm, sglang  one of these, by bytes, ranks and device
//   one_shot_up_to  one_shot, or a two_shot whose slices are whole rows: row t belongs to rank
//             t mod n, so nothing but the choice depends on the size
#ifndef BATCHVAR_SIM_PLAN_ALLREDUCE_POLICY_H_
#define BATCHVAR_SIM_PLAN_ALLREDUCE_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/device_spec.h"
#include "sim/plan/plan.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

// `rows` x `width` elements, row after row, summed over `ranks`.
struct AllReduceMessage {
  int64_t rows = 1;
  int64_t width = 1;
  DType dtype = DType::kBf16;
  int32_t ranks = 1;
  int64_t Elements() const { return rows * width; }
  int64_t Bytes() const { return Elements() * DTypeBytes(dtype); }
};

struct AllReducePlan {
  AllReducePolicyKind algorithm = AllReducePolicyKind::kOneShot;  // never a selector
  std::vector<OrderStrip> slices;  // ascending, of the flattened message; equal neighbours joined
  // > 0: slices are those of the first `period_rows` rows, and the rows behind repeat them. Keeps
  // the plan of a long message small, and its class that of a short one.
  int64_t period_rows = 0;
  Digest klass;        // of the whole message
  std::string reason;  // why this algorithm
};

AllReducePlan PlanAllReduce(const AllReducePolicySpec& spec, const AllReduceMessage& message,
                            const DeviceSpec& device);
// The class of row `row`: its own stretch of the slices, whatever its place in the message.
Digest ClassOfAllReduceRow(const AllReducePlan& plan, const AllReduceMessage& message, int64_t row);
// That stretch, counted from the row's first column.
std::vector<OrderStrip> StripsOfAllReduceRow(const AllReducePlan& plan,
                                             const AllReduceMessage& message, int64_t row);
PolicySource AllReduceSource(const AllReducePolicySpec& spec);

// 1 or 2: the kernel of vLLM's custom all-reduce on a full NVLink mesh.
int32_t VllmCustomStage(int32_t ranks, int64_t bytes);
// Messages of so many bytes and more leave vLLM's custom all-reduce; 0 where it does not run.
int64_t VllmCustomLimit(int32_t ranks, int32_t compute_capability);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ALLREDUCE_POLICY_H_
