// One op executed twice on the same data, under two orders: what `batchvar execute` prints. A plain
// value: made by kernels/op_execution.h, written by sim/report/execution_*.h.
#ifndef BATCHVAR_SIM_DIVERGENCE_EXECUTION_H_
#define BATCHVAR_SIM_DIVERGENCE_EXECUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/digest.h"
#include "sim/divergence/bits_difference.h"
#include "sim/numerics/dtype.h"
#include "sim/numerics/order.h"

namespace batchvar {

// What one piece of an order summed to, before it met the others.
struct PartialSum {
  Range range;  // of K, of KV positions, of ranks; norms: of the threads of a warp
  float value = 0.0f;
};

// One side of the example: a single output element, taken apart.
struct ExampleSum {
  std::vector<PartialSum> partials;  // in combine order
  float sum = 0.0f;                  // before the final rounding
  float result = 0.0f;               // after it
};

struct ExecutionSide {
  Order order;   // of the example's element
  Digest klass;  // of the executed row
  ExampleSum example;
};

struct Execution {
  std::string op;  // "gemm", "attention", "norm", "allreduce"
  std::string isa;
  DType output = DType::kBf16;
  int64_t rows = 0;     // executed: rows of data, each under the same two orders
  int64_t columns = 0;  // results of a row that were executed
  int64_t extent = 0;   // terms of a sum: K, KV positions, the row's width, ranks
  BitsDifference difference;
  // The first output that differs after rounding, else the first whose fp32 bits differ, else 0.
  int64_t example_row = 0;
  int64_t example_column = 0;
  double exact = 0.0;  // the example without roundings (in double where that is all there is)
  ExecutionSide a;
  ExecutionSide b;
  int64_t fused_sums = 0;  // tensor-core sums that the executor ran, both sides
  int64_t fallbacks = 0;   // of these, redone by the scalar reference
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_EXECUTION_H_
