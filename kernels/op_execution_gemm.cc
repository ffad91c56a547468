#include <algorithm>
#include <utility>

#include "kernels/cpu/gemm.h"
#include "kernels/execution_example.h"
#include "kernels/op_execution.h"
#include "sim/base/check.h"
#include "sim/numerics/ordered_dot.h"
#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

// Strips without the columns that are not executed.
std::vector<OrderStrip> FirstColumns(const std::vector<OrderStrip>& strips, int64_t columns) {
  std::vector<OrderStrip> first;
  for (const OrderStrip& strip : strips) {
    if (strip.columns.begin >= columns) continue;
    first.push_back(strip);
    first.back().columns.end = std::min(first.back().columns.end, columns);
  }
  return first;
}

GemmOutcome RunGemm(const GemmData& data, const PackedMatrix& weights, const RowOrders& orders,
                    const ExecutorChoice& executor, std::vector<float>* out) {
  const std::vector<OrderStrip> strips = FirstColumns(orders.strips, data.columns);
  out->assign(data.rows * data.columns, 0.0f);
  std::vector<GemmRow> rows;
  for (int64_t row = 0; row < data.rows; ++row) {
    rows.push_back({&data.x[row * data.k], strips, out->data() + row * data.columns});
  }
  return ExecuteGemm(executor.isa, weights, rows, executor.pool);
}

void TakeGemmApart(const GemmData& data, const RowOrders& orders, int64_t row, int64_t column,
                   ExecutionSide* side) {
  side->klass = orders.klass;
  side->order = OrderAt(orders.strips, column);
  const DotOperands operands{data.dtype, &data.x[row * data.k], 1, &data.w[column * data.k], 1};
  for (const Range& piece : side->order.pieces) {
    side->example.partials.push_back({piece, SumOfPiece(side->order, operands, piece)});
  }
  FillResult(OrderedDot(side->order, operands), side->order.output, &side->example);
}

// The exact sum of a row's products, rounded to fp32.
double ExactDot(const GemmData& data, int64_t row, int64_t column) {
  std::vector<float> products(data.k);
  for (int64_t k = 0; k < data.k; ++k) {
    products[k] = Widen(data.x[row * data.k + k], data.dtype) *
                  Widen(data.w[column * data.k + k], data.dtype);
  }
  return double{SumExactly(products.data(), 1, data.k, DType::kFp32)};
}

}  // namespace

RowOrders OrdersOfRow(const GemmPlan& plan, int64_t row) {
  return {StripsOfRow(plan, row), ClassOfRow(plan, row)};
}

FloatFault ExecuteGemmTwice(const GemmData& data, const RowOrders& a, const RowOrders& b,
                            const ExecutorChoice& executor, Execution* execution) {
  BV_CHECK(std::ssize(data.x) == data.rows * data.k && std::ssize(data.w) == data.columns * data.k);
  execution->op = "gemm";
  execution->extent = data.k;
  const PackedMatrix weights = PackedMatrix::Pack(data.w.data(), data.columns, data.k, data.dtype);
  TwoResults results;
  for (auto [orders, out] : {std::pair(&a, &results.a), std::pair(&b, &results.b)}) {
    const GemmOutcome outcome = RunGemm(data, weights, *orders, executor, out);
    if (!outcome.ok()) return outcome.fault;
    execution->fused_sums += outcome.fused_sums;
    execution->fallbacks += outcome.fallbacks;
  }
  FillDifference(results, data.rows, data.columns, data.dtype, executor, execution);
  const int64_t row = execution->example_row, column = execution->example_column;
  TakeGemmApart(data, a, row, column, &execution->a);
  TakeGemmApart(data, b, row, column, &execution->b);
  // The example is recomputed by the scalar definition: both ways must agree.
  BV_CHECK(BitsOf(execution->a.example.sum) == BitsOf(results.a[row * data.columns + column]));
  BV_CHECK(BitsOf(execution->b.example.sum) == BitsOf(results.b[row * data.columns + column]));
  execution->exact = ExactDot(data, row, column);
  return FloatFault::kNone;
}

}  // namespace batchvar
