// The CPU executor's GEMM: y = x W^T for rows that may each have their own summation orders. It
// walks Orders (sim/numerics/order.h) and nothing else decides one: not the instruction set, not
// the number of threads, not the rows beside a row. Every output has the bits of OrderedDot
// (sim/numerics/ordered_dot.h). Called by whatever runs a model or compares bits.
#ifndef BATCHVAR_KERNELS_CPU_GEMM_H_
#define BATCHVAR_KERNELS_CPU_GEMM_H_

#include <cstdint>
#include <span>

#include "kernels/cpu/float_environment.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/packed_matrix.h"
#include "kernels/cpu/worker_pool.h"
#include "sim/plan/plan.h"

namespace batchvar {

struct GemmRow {
  const uint16_t* x = nullptr;  // [K] words of the weights' dtype
  std::span<const OrderStrip>
      strips;            // disjoint columns; rows that point to equal ones are batched
  float* out = nullptr;  // [N]: the sums before their rounding to order.output; columns of no strip
                         // are left alone
};

struct GemmOutcome {
  FloatFault fault = FloatFault::kNone;  // if not kNone, nothing was computed and `out` is junk
  int64_t fused_sums = 0;  // lanes times blocks that tensor-core orders took, filling columns too
  int64_t fallbacks = 0;   // of these, redone by the scalar reference: slow, never wrong

  bool ok() const { return fault == FloatFault::kNone; }
};

// Orders are those of GEMM plans over [0, weights.k()): any pieces, slices, instr_k and combine.
// `isa` must be one that this CPU has. Threads of `pool` split panels and groups of rows.
GemmOutcome ExecuteGemm(Isa isa, const PackedMatrix& weights, std::span<const GemmRow> rows,
                        WorkerPool* pool);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_GEMM_H_
