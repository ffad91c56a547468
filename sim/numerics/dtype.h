// Element types of operands, partial sums and results. Plain data for host, device and WebAssembly.
#ifndef BATCHVAR_SIM_NUMERICS_DTYPE_H_
#define BATCHVAR_SIM_NUMERICS_DTYPE_H_

#include <cstdint>

namespace batchvar {

// The values enter class digests: append, never renumber.
enum class DType : uint8_t { kFp32 = 0, kBf16 = 1, kFp16 = 2, kFp8E4m3 = 3 };

constexpr int DTypeBytes(DType dtype) {
  if (dtype == DType::kFp32) return 4;
  return dtype == DType::kFp8E4m3 ? 1 : 2;
}

constexpr const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kFp32: return "fp32";
    case DType::kBf16: return "bf16";
    case DType::kFp16: return "fp16";
    case DType::kFp8E4m3: return "fp8_e4m3";
  }
  return "?";
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_DTYPE_H_
