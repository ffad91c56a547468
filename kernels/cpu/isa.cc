#include "kernels/cpu/isa.h"

namespace batchvar {

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kScalar: return "scalar";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
  }
  return "?";
}

bool ParseIsa(std::string_view name, Isa* isa) {
  for (const Isa candidate : kAllIsas) {
    if (name != IsaName(candidate)) continue;
    *isa = candidate;
    return true;
  }
  return false;
}

bool HasIsa(Isa isa) {
  if (isa == Isa::kScalar) return true;
#if defined(__x86_64__)
  // The compiler's runtime also asks whether the operating system saves the wide registers. F16C is
  // older than AVX2, and Clang has no name for it here.
  if (isa == Isa::kAvx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

Isa BestIsa() {
  Isa best = Isa::kScalar;
  for (const Isa candidate : kAllIsas) {
    if (HasIsa(candidate)) best = candidate;
  }
  return best;
}

}  // namespace batchvar
