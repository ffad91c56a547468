// The plans of one experiment: for every op of its model, the plan and the class at a number of
// rows M, made once and kept. What a step's op does depends on M alone for GEMMs, norms and
// all-reduces; attention depends on the whole step and is asked for through attention().
//
// PlanAll() fills the book in parallel; after it, Find() may be called from any thread. Lookup()
// plans on demand and is for one thread.
#ifndef BATCHVAR_SIM_REPLAY_PLAN_BOOK_H_
#define BATCHVAR_SIM_REPLAY_PLAN_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/experiment_spec.h"
#include "sim/io/run_file.h"
#include "sim/plan/allreduce_policy.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/gemm_policy.h"
#include "sim/shape/op_shape.h"

namespace batchvar {

struct OpPlan {
  int64_t rows = 0;   // M
  Order order;        // of every output element; of the first tile or slice where they differ
  GemmDecision gemm;  // GEMMs only
  std::string policy;
  Digest klass;
  // Set where the order depends on the output tile (stream-K, sliced all-reduces): `order` is then
  // that of the first tile, and a row's class depends on its place in the batch.
  std::shared_ptr<const GemmPlan> by_tile;
  std::shared_ptr<const AllReducePlan> by_slice;
  bool DependsOnRow() const { return by_tile != nullptr || by_slice != nullptr; }
};

class PlanBook {
 public:
  explicit PlanBook(const ExperimentSpec& spec);

  const std::vector<OpShape>& ops() const { return ops_; }
  // Every op but attention.
  const OpPlan& Lookup(size_t op, int64_t rows);
  const OpPlan* Find(size_t op, int64_t rows) const;
  // The class of row `row` of the op's output: plan.klass where it does not depend on the row.
  Digest RowClass(size_t op, const OpPlan& plan, int64_t row) const;
  // The orders of that row, column range by column range, of a plan that DependsOnRow() or of
  // another plan of the same op: one strip over all columns.
  std::vector<OrderStrip> RowStrips(size_t op, const OpPlan& plan, int64_t row) const;
  // Why the GEMM policy has no plan for one of these row counts ("" when it has all). Only tables
  // can lack one; to be asked before PlanAll() and Lookup(), which CHECK it.
  std::string FirstMissing(const std::vector<int64_t>& padded_m,
                           const std::vector<int64_t>& heads) const;
  // Plans every op at each of the given row counts: `padded_m` for the body, `heads` for the head.
  void PlanAll(const std::vector<int64_t>& padded_m, const std::vector<int64_t>& heads,
               int32_t threads);
  // M of `op` in a step.
  int64_t RowsOfOp(size_t op, int64_t padded_m, int64_t num_requests) const {
    return RowsFor(ops_[op], padded_m, num_requests);
  }

  const AttentionPolicy& attention() const { return *attention_; }
  AttentionRule RuleOf(const StepBatch& batch, int32_t step_in_span) const;
  Order AttentionOrder(const AttentionRule& rule, const AttentionRequest& request) const;
  Order AttentionRowOrder(const AttentionRule& rule, const AttentionRequest& request,
                          int64_t position) const;
  const AttentionHeads& heads() const { return heads_; }
  const DeviceSpec& device() const { return device_; }

  // Everything planned so far, in the order of ops and of M.
  std::vector<PlanRecord> Records() const;

 private:
  OpPlan Make(size_t op, int64_t rows) const;
  OpPlan MakeGemm(const OpShape& shape, int64_t rows) const;
  OpPlan MakeAllReduce(const OpShape& shape, int64_t rows) const;
  AllReduceMessage MessageOf(const OpShape& shape, int64_t rows) const;
  // (op, M) of every op but attention, in order.
  std::vector<std::pair<size_t, int64_t>> Wanted(const std::vector<int64_t>& padded_m,
                                                 const std::vector<int64_t>& heads) const;

  DeviceSpec device_;
  PolicySpec policies_;
  DType dtype_;
  int32_t tp_;
  std::vector<OpShape> ops_;
  std::unique_ptr<GemmPolicy> gemm_;
  std::unique_ptr<AttentionPolicy> attention_;
  AttentionHeads heads_;
  std::vector<std::map<int64_t, OpPlan>> plans_;  // by op, by M
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_PLAN_BOOK_H_
