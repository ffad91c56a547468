// Shared by the op_execution_*.cc: how two result arrays become the parts of an Execution that do
// not depend on the op. For those files only.
#ifndef BATCHVAR_KERNELS_EXECUTION_EXAMPLE_H_
#define BATCHVAR_KERNELS_EXECUTION_EXAMPLE_H_

#include <cstdint>
#include <vector>

#include "kernels/op_execution.h"
#include "sim/divergence/execution.h"

namespace batchvar {

struct TwoResults {
  std::vector<float> a;  // [rows][columns]
  std::vector<float> b;
};

// Compares, and picks the example: see Execution::example_row.
void FillDifference(const TwoResults& results, int64_t rows, int64_t columns, DType output,
                    const ExecutorChoice& executor, Execution* execution);

// An example's sum, and what it is rounded to.
void FillResult(float sum, DType output, ExampleSum* example);

// The order of a column. One of the strips holds it.
const Order& OrderAt(const std::vector<OrderStrip>& strips, int64_t column);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXECUTION_EXAMPLE_H_
