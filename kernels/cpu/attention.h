// Attention of the CPU executor: query rows under their Orders, bit for bit what OrderedAttention
// (sim/numerics/ordered_attention.h) defines, at the speed of the GEMM kernels. Rows that read the
// same keys and values under the same order (the query heads of a GQA group) run together, so each
// block of KV is unpacked once for all of them.
#ifndef BATCHVAR_KERNELS_CPU_ATTENTION_H_
#define BATCHVAR_KERNELS_CPU_ATTENTION_H_

#include <cstdint>
#include <span>

#include "kernels/cpu/float_environment.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/worker_pool.h"
#include "sim/numerics/ordered_attention.h"

namespace batchvar {

// One query row of one head. The order is the row's own: pieces clipped to what it may see.
struct AttentionJob {
  AttentionOperands operands;
  const Order* order = nullptr;
  float* output = nullptr;  // [head_dim], before the rounding to order.output
};

// Runs all jobs; which thread runs which never changes a bit. `fallbacks` (may be null) counts the
// fused sums that the scalar reference had to redo. A fault of any thread's float environment is
// returned, and the outputs are then undefined.
FloatFault ExecuteAttention(Isa isa, std::span<const AttentionJob> jobs, WorkerPool* pool,
                            int64_t* fallbacks);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_ATTENTION_H_
