// Exp (sim/numerics/elementary.h) over arrays, per instruction set: the same operations in the
// same order, so the same bits. As with gemm_kernel.h, the sources built for one instruction set
// see declarations only.
#ifndef BATCHVAR_KERNELS_CPU_EXP_KERNEL_H_
#define BATCHVAR_KERNELS_CPU_EXP_KERNEL_H_

#include <cstdint>

#include "kernels/cpu/isa.h"

namespace batchvar {

// values[i] = Exp(values[i] - largest).
void ExpMinus(Isa isa, float largest, float* values, int64_t count);

// Whole vectors only; returns how many values it did.
int64_t ExpMinusAvx2(float largest, float* values, int64_t count);
int64_t ExpMinusAvx512(float largest, float* values, int64_t count);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_EXP_KERNEL_H_
