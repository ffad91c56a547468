#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/cpu/row_ops.h"
#include "kernels/execution_example.h"
#include "kernels/op_execution.h"
#include "sim/base/check.h"
#include "sim/numerics/ordered_rows.h"
#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

// The sums of squares of the order's warps, as they meet.
void TakeNormApart(const NormData& data, int64_t row, const Order& order, float result,
                   ExecutionSide* side) {
  side->klass = ClassOfOrder(order);
  side->order = order;
  std::vector<float> x(data.width);
  WidenRow(std::span(data.x).subspan(row * data.width, data.width), data.dtype, x.data());
  for (int32_t first = 0; first < order.block; first += kWarpThreads) {
    const int32_t last = std::min(first + kWarpThreads, order.block);
    const int64_t vector = RowVectorWidth(data.width, data.dtype);
    std::vector<float> sums(last - first, 0.0f);
    for (int64_t v = 0; v < data.width / vector; ++v) {
      const auto thread = static_cast<int32_t>(v % order.block);
      if (thread < first || thread >= last) continue;
      for (int64_t i = v * vector; i < (v + 1) * vector; ++i) {
        sums[thread - first] = FusedMultiplyAdd(x[i], x[i], sums[thread - first]);
      }
    }
    side->example.partials.push_back(
        {{first, last}, SumThreads(sums.data(), static_cast<int32_t>(sums.size()))});
  }
  FillResult(result, order.output, &side->example);
}

void RunNorm(const NormData& data, const Order& order, std::vector<float>* out) {
  out->assign(data.rows * data.width, 0.0f);
  for (int64_t row = 0; row < data.rows; ++row) {
    RmsNormRow(order, std::span(data.x).subspan(row * data.width, data.width), data.weight,
               data.eps, data.dtype, out->data() + row * data.width);
  }
}

double ExactNorm(const NormData& data, int64_t row, int64_t column) {
  double squares = 0;
  for (int64_t i = 0; i < data.width; ++i) {
    const double x = Widen(data.x[row * data.width + i], data.dtype);
    squares += x * x;
  }
  return Widen(data.x[row * data.width + column], data.dtype) /
         std::sqrt(squares / static_cast<double>(data.width) + double{data.eps}) *
         Widen(data.weight[column], data.dtype);
}

}  // namespace

FloatFault ExecuteNormTwice(const NormData& data, const Order& a, const Order& b,
                            const ExecutorChoice& executor, Execution* execution) {
  if (const FloatFault fault = FindFloatFault(); fault != FloatFault::kNone) return fault;
  execution->op = "norm";
  execution->extent = data.width;
  TwoResults results;
  RunNorm(data, a, &results.a);
  RunNorm(data, b, &results.b);
  FillDifference(results, data.rows, data.width, data.dtype, executor, execution);
  const int64_t row = execution->example_row, column = execution->example_column;
  TakeNormApart(data, row, a, results.a[row * data.width + column], &execution->a);
  TakeNormApart(data, row, b, results.b[row * data.width + column], &execution->b);
  execution->exact = ExactNorm(data, row, column);
  return FloatFault::kNone;
}

namespace {

void RunAllReduce(const AllReduceData& data, const RowOrders& orders, std::vector<float>* out) {
  out->assign(data.rows * data.width, 0.0f);
  for (int64_t row = 0; row < data.rows; ++row) {
    std::vector<const uint16_t*> ranks;
    for (const auto& values : data.values) ranks.push_back(&values[row * data.width]);
    AllReduceRow(orders.strips, data.width, ranks, data.dtype, out->data() + row * data.width);
  }
}

void TakeAllReduceApart(const AllReduceData& data, const RowOrders& orders, int64_t place,
                        ExecutionSide* side) {
  side->klass = orders.klass;
  side->order = OrderAt(orders.strips, place % data.width);
  std::vector<float> terms;
  for (const auto& values : data.values) terms.push_back(Widen(values[place], data.dtype));
  for (const Range& piece : side->order.pieces) {
    for (int64_t rank = piece.begin; rank < piece.end; ++rank) {
      side->example.partials.push_back({{rank, rank + 1}, terms[rank]});
    }
  }
  FillResult(SumOfRanks(side->order, terms.data()), side->order.output, &side->example);
}

}  // namespace

FloatFault ExecuteAllReduceTwice(const AllReduceData& data, const RowOrders& a, const RowOrders& b,
                                 const ExecutorChoice& executor, Execution* execution) {
  if (const FloatFault fault = FindFloatFault(); fault != FloatFault::kNone) return fault;
  BV_CHECK(std::ssize(data.values) == data.ranks);
  execution->op = "allreduce";
  execution->extent = data.ranks;
  TwoResults results;
  RunAllReduce(data, a, &results.a);
  RunAllReduce(data, b, &results.b);
  FillDifference(results, data.rows, data.width, data.dtype, executor, execution);
  const int64_t place = execution->example_row * data.width + execution->example_column;
  TakeAllReduceApart(data, a, place, &execution->a);
  TakeAllReduceApart(data, b, place, &execution->b);
  std::vector<float> terms;
  for (const auto& values : data.values) terms.push_back(Widen(values[place], data.dtype));
  execution->exact = double{SumExactly(terms.data(), 1, std::ssize(terms), DType::kFp32)};
  return FloatFault::kNone;
}

}  // namespace batchvar
