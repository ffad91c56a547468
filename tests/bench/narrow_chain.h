// The fp32 FMA chain at M = 1 with 16 columns at a time, over the executor's bf16 panels. The
// executor's own chain takes 32 columns; both wait for the latency of one FMA after another, so
// this one shows what the blocking alone does to a ratio.
#ifndef BATCHVAR_TESTS_BENCH_NARROW_CHAIN_H_
#define BATCHVAR_TESTS_BENCH_NARROW_CHAIN_H_

#include "kernels/cpu/packed_matrix.h"

namespace batchvar {

// out[n] = x[k] . w[n][k]. bf16; out has room for whole panels. x86-64 with AVX2 and FMA only.
void NarrowChain(const float* x, const PackedMatrix& weights, float* out);

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_BENCH_NARROW_CHAIN_H_
