#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cpu/attention.h"
#include "kernels/execution_example.h"
#include "kernels/op_execution.h"
#include "sim/base/check.h"
#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

AttentionOperands HeadOf(const AttentionData& data, int64_t row, int64_t head) {
  const int64_t group = data.q_heads / data.kv_heads;
  const int64_t kv_head = head / group;
  return {data.dtype, data.head_dim,
          // Rounded once from the exact value; kernels fold log2(e) in, which is their own.
          static_cast<float>(1.0 / std::sqrt(static_cast<double>(data.head_dim))),
          &data.q[(row * data.q_heads + head) * data.head_dim], &data.k[kv_head * data.head_dim],
          &data.v[kv_head * data.head_dim], int64_t{data.kv_heads} * data.head_dim};
}

FloatFault RunAttention(const AttentionData& data, const Order& order,
                        const ExecutorChoice& executor, std::vector<float>* out,
                        int64_t* fallbacks) {
  const int64_t width = int64_t{data.q_heads} * data.head_dim;
  out->assign(data.rows * width, 0.0f);
  std::vector<AttentionJob> jobs;
  for (int64_t row = 0; row < data.rows; ++row) {
    for (int64_t head = 0; head < data.q_heads; ++head) {
      jobs.push_back(
          {HeadOf(data, row, head), &order, out->data() + row * width + head * data.head_dim});
    }
  }
  return ExecuteAttention(executor.isa, jobs, executor.pool, fallbacks);
}

// A piece's own normalised result for one element of the head.
void TakeAttentionApart(const AttentionOperands& head, const Order& order, int64_t element,
                        ExecutionSide* side) {
  side->klass = ClassOfOrder(order);
  side->order = order;
  for (const Range& piece : order.pieces) {
    Order alone = order;
    alone.pieces = {piece};
    alone.combine = Combine::kNone;
    std::vector<float> output(head.head_dim);
    OrderedAttention(alone, head, output.data());
    side->example.partials.push_back({piece, output[element]});
  }
  std::vector<float> output(head.head_dim);
  OrderedAttention(order, head, output.data());
  FillResult(output[element], order.output, &side->example);
}

double ExactAttention(const AttentionOperands& head, int64_t kv_len, int64_t element) {
  std::vector<double> scores(kv_len);
  for (int64_t j = 0; j < kv_len; ++j) {
    for (int32_t d = 0; d < head.head_dim; ++d) {
      scores[j] +=
          double{Widen(head.q[d], head.dtype)} * Widen(head.k[head.KvOffset(j) + d], head.dtype);
    }
    scores[j] *= double{head.scale};
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0, output = 0;
  for (int64_t j = 0; j < kv_len; ++j) {
    const double p = std::exp(scores[j] - largest);
    sum += p;
    output += p * Widen(head.v[head.KvOffset(j) + element], head.dtype);
  }
  return output / sum;
}

}  // namespace

FloatFault ExecuteAttentionTwice(const AttentionData& data, const Order& a, const Order& b,
                                 const ExecutorChoice& executor, Execution* execution) {
  BV_CHECK(CoversOnce(a, data.kv_len) && CoversOnce(b, data.kv_len));
  execution->op = "attention";
  execution->extent = data.kv_len;
  TwoResults results;
  for (auto [order, out] : {std::pair(&a, &results.a), std::pair(&b, &results.b)}) {
    const FloatFault fault = RunAttention(data, *order, executor, out, &execution->fallbacks);
    if (fault != FloatFault::kNone) return fault;
  }
  const int64_t width = int64_t{data.q_heads} * data.head_dim;
  FillDifference(results, data.rows, width, data.dtype, executor, execution);
  const int64_t element = execution->example_column % data.head_dim;
  const AttentionOperands head =
      HeadOf(data, execution->example_row, execution->example_column / data.head_dim);
  TakeAttentionApart(head, a, element, &execution->a);
  TakeAttentionApart(head, b, element, &execution->b);
  execution->exact = ExactAttention(head, data.kv_len, element);
  return FloatFault::kNone;
}

}  // namespace batchvar
