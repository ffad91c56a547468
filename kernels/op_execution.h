// One op under two plans on the same data: which bits differ, and one sum taken apart. The data
// never depends on the plans, the row that is executed is one of many in each of the two batches,
// and the other rows are not computed at all: a row's bits do not depend on their values.
// Called by `batchvar execute` and by the tests of the published cases.
#ifndef BATCHVAR_KERNELS_OP_EXECUTION_H_
#define BATCHVAR_KERNELS_OP_EXECUTION_H_

#include <cstdint>
#include <vector>

#include "kernels/cpu/float_environment.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/worker_pool.h"
#include "sim/divergence/execution.h"
#include "sim/plan/plan.h"

namespace batchvar {

struct ExecutorChoice {
  Isa isa = Isa::kScalar;
  WorkerPool* pool = nullptr;
};

// Rows x and weights w, 16-bit words of one dtype: x[rows][k], w[columns][k]. Where there are fewer
// columns than the plans have, the first ones are executed.
struct GemmData {
  DType dtype = DType::kBf16;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t k = 1;
  std::vector<uint16_t> x;
  std::vector<uint16_t> w;
};

// One side: the strips that each row of data is executed under, and their class.
struct RowOrders {
  std::vector<OrderStrip> strips;
  Digest klass;
};

// The orders of row `row` of a plan.
RowOrders OrdersOfRow(const GemmPlan& plan, int64_t row);

// Each function fills everything of `execution`, or returns why nothing can be trusted.
FloatFault ExecuteGemmTwice(const GemmData& data, const RowOrders& a, const RowOrders& b,
                            const ExecutorChoice& executor, Execution* execution);

// q[rows][heads][head_dim] and one request's KV, keys and values [kv_len][kv_heads][head_dim]:
// every row of data is the query at the last position. `rows` runs are independent draws of q.
struct AttentionData {
  DType dtype = DType::kBf16;
  int64_t rows = 1;
  int64_t kv_len = 1;
  int32_t q_heads = 1;
  int32_t kv_heads = 1;
  int32_t head_dim = 1;
  std::vector<uint16_t> q;
  std::vector<uint16_t> k;
  std::vector<uint16_t> v;
};

FloatFault ExecuteAttentionTwice(const AttentionData& data, const Order& a, const Order& b,
                                 const ExecutorChoice& executor, Execution* execution);

// x[rows][width], weight[width].
struct NormData {
  DType dtype = DType::kBf16;
  int64_t rows = 1;
  int64_t width = 1;
  float eps = 1e-5f;
  std::vector<uint16_t> x;
  std::vector<uint16_t> weight;
};

FloatFault ExecuteNormTwice(const NormData& data, const Order& a, const Order& b,
                            const ExecutorChoice& executor, Execution* execution);

// Ranks' rows, values[rank][row][width]. Each side has the strips of its row (columns counted
// from the row's begin).
struct AllReduceData {
  DType dtype = DType::kBf16;
  int32_t ranks = 2;
  int64_t rows = 1;
  int64_t width = 1;
  std::vector<std::vector<uint16_t>> values;
};

FloatFault ExecuteAllReduceTwice(const AllReduceData& data, const RowOrders& a, const RowOrders& b,
                                 const ExecutorChoice& executor, Execution* execution);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_OP_EXECUTION_H_
