#include "kernels/execution_example.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {

void FillDifference(const TwoResults& results, int64_t rows, int64_t columns, DType output,
                    const ExecutorChoice& executor, Execution* execution) {
  execution->isa = IsaName(executor.isa);
  execution->output = output;
  execution->rows = rows;
  execution->columns = columns;
  execution->difference = CompareBits(results.a, results.b, output);
  const BitsDifference& difference = execution->difference;
  int64_t place = difference.first_16bit >= 0 ? difference.first_16bit : difference.first;
  place = std::max<int64_t>(place, 0);
  execution->example_row = place / columns;
  execution->example_column = place % columns;
}

void FillResult(float sum, DType output, ExampleSum* example) {
  example->sum = sum;
  example->result = RoundTo(sum, output);
}

const Order& OrderAt(const std::vector<OrderStrip>& strips, int64_t column) {
  for (const OrderStrip& strip : strips) {
    if (strip.columns.begin <= column && column < strip.columns.end) return strip.order;
  }
  BV_CHECK(false);
}

}  // namespace batchvar
