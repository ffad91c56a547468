// Makes RowPlans from policies: what the planner says about one row of one step of a batch. The
// same rules and classes as in sim/replay, for the model that is executed. For one thread; results
// are shared and immutable.
#ifndef BATCHVAR_KERNELS_DECODER_STEP_PLANNER_H_
#define BATCHVAR_KERNELS_DECODER_STEP_PLANNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/decoder/row_plan.h"
#include "sim/plan/allreduce_policy.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/device_spec.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/policy_spec.h"
#include "sim/shape/model_spec.h"
#include "sim/shape/op_shape.h"

namespace batchvar {

struct PlannerInputs {
  ModelSpec model;
  int32_t tp = 1;
  DType dtype = DType::kBf16;
  DeviceSpec device;
  PolicySpec policies;  // tables read already (LoadGemmTables of sim/io)
};

// One step of the engine. Requests stand in batch order; a request's rows in the body follow those
// of the requests before it, and its row in the head is its number.
struct PlannedStep {
  int64_t padded_tokens = 0;  // M of the body
  std::vector<AttentionRequest> requests;
  std::vector<int64_t> first_rows;  // by request
  AttentionRule rule;
};

class StepPlanner {
 public:
  explicit StepPlanner(const PlannerInputs& inputs);

  // `padded_tokens` is at least the sum of q_len; no request is empty.
  PlannedStep Begin(int64_t padded_tokens, std::vector<AttentionRequest> requests) const;
  // Why a GEMM of such a step has no plan ("" when all have). Only tables can lack one; to be asked
  // before Row(), which CHECKs it.
  std::string FirstMissing(const PlannedStep& step) const;

  // The plan of the row at `position`, one of the request's own of this step. Only a row that
  // `has_head` passes through lm_head: engines sample a request's last row of a step.
  RowPlan Row(const PlannedStep& step, int64_t request, int64_t position, bool has_head);

  const PlannerInputs& inputs() const { return inputs_; }

 private:
  // An op's plan at one M. Either all rows share `orders`, or a plan says what each of them has.
  struct OpAtRows {
    OpOrdersPtr orders;
    std::optional<GemmPlan> by_tile;
    std::optional<AllReducePlan> by_slice;
    std::map<int64_t, OpOrdersPtr> of_row;
  };
  OpAtRows Make(const OpShape& shape, int64_t rows) const;
  AllReduceMessage MessageOf(const OpShape& shape, int64_t rows) const;
  OpAtRows MakeAllReduce(const OpShape& shape, int64_t rows) const;
  OpOrdersPtr OrdersAt(size_t op, int64_t rows, int64_t row);
  // Rows of one class share one object, whatever their plans.
  OpOrdersPtr Intern(size_t op, OpOrdersPtr orders);

  PlannerInputs inputs_;
  std::vector<OpShape> ops_;
  AttentionHeads heads_;
  std::unique_ptr<GemmPolicy> gemm_;
  std::unique_ptr<AttentionPolicy> attention_;
  std::vector<std::map<int64_t, OpAtRows>> plans_;     // by op, by M
  std::vector<std::map<Digest, OpOrdersPtr>> orders_;  // by op, by class
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_STEP_PLANNER_H_
