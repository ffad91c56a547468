// The summation orders of one row of one step: for every op of the model, the strips of columns and
// their Orders. It is all that decides the row's bits besides its token and the KV that it reads.
// Every layer runs an op under the same orders, as plans depend on shapes alone. Made by
// step_planner.h, or by whoever wants a model to be summed as another one would be.
#ifndef BATCHVAR_KERNELS_DECODER_ROW_PLAN_H_
#define BATCHVAR_KERNELS_DECODER_ROW_PLAN_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "sim/base/digest.h"
#include "sim/plan/plan.h"
#include "sim/shape/op_shape.h"

namespace batchvar {

// One op's orders for a row. Columns are those of the op's output on one rank (all ranks run the
// same plan): GEMMs, also those of experts, [0, n); norms [0, width) and attention [0, head_dim)
// with a single order; all-reduces [0, width), with pieces over ranks.
struct OpOrders {
  std::vector<OrderStrip> strips;
  Digest klass;  // ClassOfStrips
};

// Rows that share the pointer are batched without a comparison.
using OpOrdersPtr = std::shared_ptr<const OpOrders>;
OpOrdersPtr MakeOpOrders(std::vector<OrderStrip> strips);
OpOrdersPtr MakeOpOrders(const Order& order, int64_t columns);  // one order for all of them

inline constexpr size_t kNumOps = static_cast<size_t>(Op::kArgmax) + 1;

struct RowPlan {
  std::array<OpOrdersPtr, kNumOps> ops;  // null where the model, or this row, has no such op
  // Digest of the classes of all ops present, in execution order: RowKey's `row_classes`
  // (kernels/row_memo.h).
  Digest row_classes;

  void Set(Op op, OpOrdersPtr orders) { ops[static_cast<size_t>(op)] = std::move(orders); }
  bool Has(Op op) const { return ops[static_cast<size_t>(op)] != nullptr; }
  const OpOrders& Of(Op op) const;        // CHECKs that it is there
  const Order& SingleOrder(Op op) const;  // of norms and attention
  void Finish();                          // fills row_classes; last of all
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_ROW_PLAN_H_
