#include "sim/replay/row_comparison.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

// Tokens [begin, end) of one pass, all computed by `entry`.
struct RowRun {
  int32_t pass = 0;
  int64_t begin = 0;
  int64_t end = 0;
  const HistoryEntry* entry = nullptr;
};

std::vector<RowRun> RunsOf(const RequestHistory& history) {
  std::vector<RowRun> runs;
  int32_t pass = 0;
  for (const HistoryEntry& entry : history.entries()) {
    if (!runs.empty() && entry.begin() < runs.back().end) ++pass;
    runs.push_back({pass, entry.begin(), entry.end(), &entry});
  }
  return runs;
}

bool IsHeadOp(Op op) { return op == Op::kLmHead || op == Op::kArgmax; }

// Only rows that yield a token pass through the head.
bool ReachesHead(const HistoryEntry& entry, int64_t position) {
  if (entry.phase == Phase::kDecode) return true;
  return entry.phase == Phase::kLastChunk && position == entry.end() - 1;
}

// Both cover the same columns.
std::vector<ColumnDifference> DifferingColumns(const std::vector<OrderStrip>& a,
                                               const std::vector<OrderStrip>& b) {
  BV_CHECK(!a.empty() && !b.empty() && a.back().columns.end == b.back().columns.end);
  std::vector<ColumnDifference> differing;
  int64_t begin = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t end = std::min(a[i].columns.end, b[j].columns.end);
    if (a[i].order != b[j].order) {
      const bool joins = !differing.empty() && differing.back().columns.end == begin &&
                         differing.back().a == a[i].order && differing.back().b == b[j].order;
      if (joins) {
        differing.back().columns.end = end;
      } else {
        differing.push_back({{begin, end}, a[i].order, b[j].order});
      }
    }
    begin = end;
    if (a[i].columns.end == end) ++i;
    if (b[j].columns.end == end) ++j;
  }
  return differing;
}

class Comparer {
 public:
  Comparer(PlanBook* book_a, PlanBook* book_b) : books_{book_a, book_b} {
    BV_CHECK(book_a->ops().size() == book_b->ops().size());
    out_.by_op.resize(book_a->ops().size());
  }

  // Tokens [begin, end) that both entries compute.
  void Compare(int32_t pass, int64_t begin, int64_t end, const HistoryEntry& a,
               const HistoryEntry& b) {
    for (size_t op = 0; op < out_.by_op.size(); ++op) {
      const Op kind = books_[0]->ops()[op].op;
      if (kind == Op::kAttention) {
        for (int64_t p = begin; p < end; ++p) CompareAttention(pass, p, op, a, b);
      } else if (IsHeadOp(kind)) {
        for (int64_t p = begin; p < end; ++p) {
          if (ReachesHead(a, p) && ReachesHead(b, p)) CompareOp(pass, p, p + 1, op, a, b);
        }
      } else {
        CompareOp(pass, begin, end, op, a, b);
      }
    }
  }

  RowComparison Take() { return std::move(out_); }
  RowComparison* out() { return &out_; }

 private:
  const OpPlan& PlanOf(int side, size_t op, const HistoryEntry& entry) {
    PlanBook* book = books_[side];
    return book->Lookup(op, book->RowsOfOp(op, entry.padded_m, entry.num_requests));
  }

  static int64_t StepOf(const HistoryEntry& entry, int64_t position) {
    return entry.phase == Phase::kDecode ? entry.first_step + (position - entry.begin())
                                         : entry.first_step;
  }

  RowSide OpSide(int side, size_t op, const HistoryEntry& entry, int64_t position) {
    const OpPlan& plan = PlanOf(side, op, entry);
    const int64_t row = RowOf(side, op, entry, position);
    return {entry,
            StepOf(entry, position),
            plan.rows,
            plan.order,
            plan.policy,
            plan.gemm.tile,
            books_[side]->RowClass(op, plan, row),
            row};
  }

  Order AttentionOrderAt(int side, const HistoryEntry& entry, int64_t position) const {
    const bool decode = entry.phase == Phase::kDecode;
    const AttentionRequest request = {entry.num_scheduled, decode ? position + 1 : entry.end()};
    return books_[side]->AttentionRowOrder(entry.rule, request, position);
  }

  RowSide AttentionSide(int side, const HistoryEntry& entry, int64_t position) {
    const Order order = AttentionOrderAt(side, entry, position);
    return {
        entry, StepOf(entry, position), entry.num_requests, order, books_[side]->attention().name(),
        {},    ClassOfOrder(order)};
  }

  RowDifference OpDifference(int32_t pass, int64_t position, size_t op, const HistoryEntry& a,
                             const HistoryEntry& b) {
    RowDifference difference{
        pass, position, op, OpSide(0, op, a, position), OpSide(1, op, b, position), {}, 0};
    const OpPlan& plan_a = PlanOf(0, op, a);
    const OpPlan& plan_b = PlanOf(1, op, b);
    if (!plan_a.DependsOnRow() && !plan_b.DependsOnRow()) return difference;
    const std::vector<OrderStrip> strips = books_[0]->RowStrips(op, plan_a, difference.a.row);
    difference.columns =
        DifferingColumns(strips, books_[1]->RowStrips(op, plan_b, difference.b.row));
    difference.num_columns = strips.back().columns.end;
    difference.a.order = difference.columns.front().a;
    difference.b.order = difference.columns.front().b;
    return difference;
  }

  // Where a class depends on the place in the batch, every token is compared by its own row.
  void CompareOp(int32_t pass, int64_t begin, int64_t end, size_t op, const HistoryEntry& a,
                 const HistoryEntry& b) {
    const OpPlan& plan_a = PlanOf(0, op, a);
    const OpPlan& plan_b = PlanOf(1, op, b);
    out_.by_op[op].compared += end - begin;
    const bool by_row = plan_a.DependsOnRow() || plan_b.DependsOnRow();
    const int64_t stride = by_row ? 1 : end - begin;
    for (int64_t p = begin; p < end; p += stride) {
      if (books_[0]->RowClass(op, plan_a, RowOf(0, op, a, p)) ==
          books_[1]->RowClass(op, plan_b, RowOf(1, op, b, p))) {
        continue;
      }
      out_.by_op[op].differ += stride;
      if (out_.first.has_value()) continue;
      out_.first = OpDifference(pass, p, op, a, b);
    }
  }

  // The row of the op's output that belongs to the request's token at `position`.
  int64_t RowOf(int side, size_t op, const HistoryEntry& entry, int64_t position) const {
    const OpShape& shape = books_[side]->ops()[op];
    if (shape.rows_of == RowsOf::kRequests) return entry.sequence;
    const int64_t token = entry.phase == Phase::kDecode ? 0 : position - entry.begin();
    return (entry.first_row + token) * shape.rows_per_token;
  }

  void CompareAttention(int32_t pass, int64_t position, size_t op, const HistoryEntry& a,
                        const HistoryEntry& b) {
    ++out_.by_op[op].compared;
    if (AttentionOrderAt(0, a, position) == AttentionOrderAt(1, b, position)) return;
    ++out_.by_op[op].differ;
    if (out_.first.has_value()) return;
    out_.first = RowDifference{
        pass, position, op, AttentionSide(0, a, position), AttentionSide(1, b, position), {}, 0};
  }

  PlanBook* books_[2];
  RowComparison out_;
};

void AddUnpaired(bool in_a, int32_t pass, int64_t begin, int64_t end, RowComparison* out) {
  if (begin >= end) return;
  if (!out->unpaired.empty()) {
    UnpairedRows& last = out->unpaired.back();
    if (last.in_a == in_a && last.pass == pass && last.end == begin) {
      last.end = end;
      return;
    }
  }
  out->unpaired.push_back({in_a, pass, begin, end});
}

}  // namespace

RowComparison CompareRows(const RequestHistory& a, PlanBook* book_a, const RequestHistory& b,
                          PlanBook* book_b) {
  Comparer comparer(book_a, book_b);
  std::vector<RowRun> runs_a = RunsOf(a);
  std::vector<RowRun> runs_b = RunsOf(b);
  size_t i = 0;
  size_t j = 0;
  // Both lists ascend by (pass, begin); consume the common part, set aside what only one has.
  while (i < runs_a.size() || j < runs_b.size()) {
    RowRun* x = i < runs_a.size() ? &runs_a[i] : nullptr;
    RowRun* y = j < runs_b.size() ? &runs_b[j] : nullptr;
    const bool only_a =
        y == nullptr ||
        (x != nullptr && (x->pass < y->pass || (x->pass == y->pass && x->end <= y->begin)));
    const bool only_b =
        x == nullptr ||
        (y != nullptr && (y->pass < x->pass || (x->pass == y->pass && y->end <= x->begin)));
    if (only_a) {
      AddUnpaired(true, x->pass, x->begin, x->end, comparer.out());
      ++i;
      continue;
    }
    if (only_b) {
      AddUnpaired(false, y->pass, y->begin, y->end, comparer.out());
      ++j;
      continue;
    }
    const int64_t begin = std::max(x->begin, y->begin);
    AddUnpaired(true, x->pass, x->begin, begin, comparer.out());
    AddUnpaired(false, y->pass, y->begin, begin, comparer.out());
    const int64_t end = std::min(x->end, y->end);
    comparer.Compare(x->pass, begin, end, *x->entry, *y->entry);
    x->begin = y->begin = end;
    if (x->begin == x->end) ++i;
    if (y->begin == y->end) ++j;
  }
  return comparer.Take();
}

}  // namespace batchvar
