#include "kernels/cpu/exp_kernel.h"

#include "sim/numerics/elementary.h"

namespace batchvar {

void ExpMinus(Isa isa, float largest, float* values, int64_t count) {
  int64_t done = 0;
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) done = ExpMinusAvx2(largest, values, count);
  if (isa == Isa::kAvx512) done = ExpMinusAvx512(largest, values, count);
#else
  static_cast<void>(isa);
#endif
  for (int64_t i = done; i < count; ++i) values[i] = Exp(values[i] - largest);
}

}  // namespace batchvar
