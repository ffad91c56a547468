// RowPlans from a replay: the orders that a step of the planned model gave a row, laid onto the
// model that is executed. Where both are one model they are taken as they are. Where the plans are
// borrowed from a larger model:
//
//   K       in units of the instruction's k (16; 1 without tensor cores). Equal pieces become
//           ceil(units / pieces) units each, in order; edges of unequal ones (stream-K) move by
//           their fraction of the range, rounded up to units
//   columns by their fraction of the range
//   norms   the plan's block of threads, over the executed row
//   KV      as planned: both models have the same positions
#ifndef BATCHVAR_KERNELS_EXPERIMENT_BORROWED_PLAN_H_
#define BATCHVAR_KERNELS_EXPERIMENT_BORROWED_PLAN_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/decoder/row_plan.h"
#include "sim/replay/plan_book.h"
#include "sim/replay/request_history.h"
#include "sim/shape/model_spec.h"

namespace batchvar {

// The order of a sum over `planned_k` terms, for one over `executed_k`.
Order BorrowOrder(const Order& order, int64_t planned_k, int64_t executed_k);
std::vector<OrderStrip> BorrowStrips(const std::vector<OrderStrip>& strips, int64_t planned_columns,
                                     int64_t executed_columns, int64_t planned_k,
                                     int64_t executed_k);

// One row of one step: where it stood.
struct PlannedRow {
  const HistoryEntry* entry = nullptr;
  int64_t step = 0;      // within the entry
  int64_t position = 0;  // token of the request
  bool samples = false;  // passes through lm_head
};

class BorrowedPlans {
 public:
  // The book belongs to the planned model; both outlive this object. For one thread.
  BorrowedPlans(PlanBook* book, const ModelSpec& executed, int32_t tp);

  // Why the executed model cannot be summed as the planned one is ("" when it can): an op that only
  // one of them has.
  std::string WhyNot() const;

  RowPlan Row(const PlannedRow& row);

 private:
  // Where the executed model's op `i` is planned; -1 if nowhere.
  int PlannedOp(size_t i) const { return planned_op_[i]; }
  OpOrdersPtr OrdersOf(size_t i, int64_t rows, int64_t row_in_op);
  OpOrdersPtr Make(size_t i, int64_t rows, int64_t row_in_op);
  OpOrdersPtr AttentionOf(const PlannedRow& row, int64_t head_dim) const;

  PlanBook* book_;
  int64_t hidden_size_;
  std::vector<OpShape> executed_;
  std::vector<int> planned_op_;
  // By executed op, M, and the row where the plan differs from row to row (else 0).
  std::map<std::tuple<size_t, int64_t, int64_t>, OpOrdersPtr> made_;
  std::map<std::pair<size_t, Digest>, OpOrdersPtr> by_class_;  // equal orders share one object
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_BORROWED_PLAN_H_
