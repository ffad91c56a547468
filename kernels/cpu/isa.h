// The instruction sets that the CPU executor is written for, and which of them this CPU has. Every
// one gives the same bits (tests/kernels proves it); they differ in speed only. Read by whoever
// calls ExecuteGemm and by tests, which run each of them.
#ifndef BATCHVAR_KERNELS_CPU_ISA_H_
#define BATCHVAR_KERNELS_CPU_ISA_H_

#include <cstdint>
#include <string_view>

namespace batchvar {

enum class Isa : uint8_t {
  kScalar,  // the definition itself (sim/numerics), any CPU
  kAvx2,    // AVX2, FMA and F16C
  kAvx512,  // AVX-512 F, BW, VL and DQ
};

inline constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512};

const char* IsaName(Isa isa);  // "scalar", "avx2", "avx512"

// False if `name` is none of the names above; *isa is then left alone.
bool ParseIsa(std::string_view name, Isa* isa);

bool HasIsa(Isa isa);
Isa BestIsa();  // the last one of kAllIsas that this CPU has

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_ISA_H_
