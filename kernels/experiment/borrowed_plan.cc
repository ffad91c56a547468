#include "kernels/experiment/borrowed_plan.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {
namespace {

constexpr int64_t kInstructionK = 16;  // m16n8k16, wgmma k16: two sums of 8 on Ampere

// True when all pieces but the last in the list have one length and stand in ascending order.
bool AreEqual(const std::vector<Range>& pieces) {
  const int64_t length = pieces[0].end - pieces[0].begin;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].begin != static_cast<int64_t>(i) * length) return false;
    if (i + 1 < pieces.size() && pieces[i].end - pieces[i].begin != length) return false;
    if (pieces[i].end - pieces[i].begin > length) return false;
  }
  return true;
}

int64_t MoveEdge(int64_t edge, int64_t planned, int64_t executed, int64_t unit) {
  const int64_t units = CeilDiv(executed, unit);
  return std::min(CeilDiv(edge * units, planned) * unit, executed);
}

}  // namespace

Order BorrowOrder(const Order& order, int64_t planned_k, int64_t executed_k) {
  if (planned_k == executed_k) return order;
  Order borrowed = order;
  borrowed.pieces.clear();
  const int64_t unit = IsMma(order.arithmetic) ? kInstructionK : 1;
  const auto count = static_cast<int64_t>(order.pieces.size());
  const int64_t per_piece = CeilDiv(CeilDiv(executed_k, unit), count) * unit;
  const bool equal = AreEqual(order.pieces);
  for (int64_t i = 0; i < count; ++i) {
    Range piece;
    if (equal) {
      piece = {std::min(i * per_piece, executed_k), std::min((i + 1) * per_piece, executed_k)};
    } else {
      piece = {MoveEdge(order.pieces[i].begin, planned_k, executed_k, unit),
               MoveEdge(order.pieces[i].end, planned_k, executed_k, unit)};
    }
    if (piece.begin < piece.end) borrowed.pieces.push_back(piece);
  }
  if (borrowed.pieces.size() == 1 && borrowed.combine != Combine::kButterfly) {
    borrowed.combine = Combine::kNone;
    borrowed.partial = DType::kFp32;
  }
  return borrowed;
}

std::vector<OrderStrip> BorrowStrips(const std::vector<OrderStrip>& strips, int64_t planned_columns,
                                     int64_t executed_columns, int64_t planned_k,
                                     int64_t executed_k) {
  std::vector<OrderStrip> borrowed;
  for (const OrderStrip& strip : strips) {
    const Range columns = {MoveEdge(strip.columns.begin, planned_columns, executed_columns, 1),
                           MoveEdge(strip.columns.end, planned_columns, executed_columns, 1)};
    if (columns.begin >= columns.end) continue;
    Order order = BorrowOrder(strip.order, planned_k, executed_k);
    if (!borrowed.empty() && borrowed.back().order == order) {
      borrowed.back().columns.end = columns.end;
    } else {
      borrowed.push_back({columns, std::move(order)});
    }
  }
  return borrowed;
}

BorrowedPlans::BorrowedPlans(PlanBook* book, const ModelSpec& executed, int32_t tp)
    : book_(book), hidden_size_(executed.hidden_size), executed_(StepOps(executed, tp)) {
  for (const OpShape& op : executed_) {
    const auto& planned = book_->ops();
    const auto found = std::find_if(planned.begin(), planned.end(),
                                    [&op](const OpShape& shape) { return shape.op == op.op; });
    planned_op_.push_back(found == planned.end() ? -1 : static_cast<int>(found - planned.begin()));
  }
}

std::string BorrowedPlans::WhyNot() const {
  for (size_t i = 0; i < executed_.size(); ++i) {
    if (planned_op_[i] >= 0) continue;
    return std::string("the planned model has no ") + OpName(executed_[i].op) +
           ", which the executed one has; choose a plan_model of its family";
  }
  return "";
}

OpOrdersPtr BorrowedPlans::Make(size_t i, int64_t rows, int64_t row_in_op) {
  const OpShape& executed = executed_[i];
  const auto planned_op = static_cast<size_t>(planned_op_[i]);
  const OpShape& planned = book_->ops()[planned_op];
  const OpPlan& plan = book_->Lookup(planned_op, rows);
  if (KindOf(executed.op) == OpKind::kNorm || KindOf(executed.op) == OpKind::kRowwise) {
    Order order = plan.order;
    order.pieces = {{0, executed.k}};
    return MakeOpOrders(order, executed.k);
  }
  if (KindOf(executed.op) == OpKind::kAllReduce) {
    // Pieces are ranks, as many in both; columns are the message, one hidden state a row.
    const std::vector<OrderStrip> strips = book_->RowStrips(planned_op, plan, row_in_op);
    return MakeOpOrders(BorrowStrips(strips, strips.back().columns.end, hidden_size_, 1, 1));
  }
  return MakeOpOrders(BorrowStrips(book_->RowStrips(planned_op, plan, row_in_op), planned.n,
                                   executed.n, planned.k, executed.k));
}

OpOrdersPtr BorrowedPlans::OrdersOf(size_t i, int64_t rows, int64_t row_in_op) {
  const auto planned_op = static_cast<size_t>(planned_op_[i]);
  const bool by_row = book_->Lookup(planned_op, rows).DependsOnRow();
  OpOrdersPtr& made = made_[{i, rows, by_row ? row_in_op : 0}];
  if (made == nullptr) {
    made = Make(i, rows, row_in_op);
    OpOrdersPtr& shared = by_class_[{i, made->klass}];
    if (shared == nullptr) shared = made;
    made = shared;
  }
  return made;
}

OpOrdersPtr BorrowedPlans::AttentionOf(const PlannedRow& row, int64_t head_dim) const {
  const HistoryEntry& entry = *row.entry;
  const bool decode = entry.num_scheduled == 1;
  const AttentionRequest request = {entry.num_scheduled, decode ? row.position + 1 : entry.end()};
  return MakeOpOrders(book_->AttentionRowOrder(entry.rule, request, row.position), head_dim);
}

RowPlan BorrowedPlans::Row(const PlannedRow& row) {
  const HistoryEntry& entry = *row.entry;
  const int64_t first = entry.num_computed + row.step * entry.num_scheduled;
  const int64_t row_in_body = entry.first_row + (row.position - first);
  RowPlan plan;
  for (size_t i = 0; i < executed_.size(); ++i) {
    const OpShape& op = executed_[i];
    const bool head = op.rows_of == RowsOf::kRequests;
    if (head && !row.samples) continue;
    if (op.op == Op::kAttention) {
      plan.Set(op.op, AttentionOf(row, op.head_dim));
      continue;
    }
    if (op.op == Op::kArgmax) continue;
    const int64_t rows =
        book_->RowsOfOp(static_cast<size_t>(planned_op_[i]), entry.padded_m, entry.num_requests);
    // Ops that run several rows a token do not differ from row to row (norms, experts).
    plan.Set(op.op, OrdersOf(i, rows, head ? entry.sequence : row_in_body));
  }
  plan.Finish();
  return plan;
}

}  // namespace batchvar
