// The PTX instructions that the kernels use, as functions: inline PTX under nvcc, and the bit-exact
// model of kernels/simt under g++. PTX ISA 8.0; sm_80 and later. What only sm_90a has is in
// ptx_sm90.cuh. All lanes of a warp call the functions named Mma and LdMatrix together.
#ifndef BATCHVAR_KERNELS_CUDA_PTX_CUH_
#define BATCHVAR_KERNELS_CUDA_PTX_CUH_

#include <cstdint>
#include <source_location>

#include "kernels/cuda/cuda.cuh"
#include "sim/numerics/dtype.h"
#include "sim/numerics/float_bits.h"

#ifndef __CUDACC__
#include "kernels/simt/instruction_model.h"
#endif

namespace batchvar::ptx {

#ifdef __CUDACC__

__device__ __forceinline__ uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// d += a b for one m16n8k16 (a: 4 registers, b: 2) of `kType`, fp32 accumulators.
template <DType kType>
__device__ __forceinline__ void MmaK16(float (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]) {
  if constexpr (kType == DType::kBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

// d += a b for one m16n8k8 (a: 2 registers, b: 1).
template <DType kType>
__device__ __forceinline__ void MmaK8(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  if constexpr (kType == DType::kBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(b));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(b));
  }
}

// Four 8 x 8 matrices of 16-bit words; lane 8 i + r brings row r of matrix i (16 bytes, aligned).
__device__ __forceinline__ void LdMatrixX4(uint32_t (&registers)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(SharedAddress(row))
               : "memory");
}

// The same with each matrix transposed.
__device__ __forceinline__ void LdMatrixX4Transposed(uint32_t (&registers)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(SharedAddress(row))
               : "memory");
}

// 16 bytes to shared memory behind the thread's back; only `source_bytes` are read, the rest become
// zeros. Both addresses are 16-byte aligned.
__device__ __forceinline__ void CpAsync16(void* shared, const void* global, int32_t source_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(source_bytes)
               : "memory");
}

__device__ __forceinline__ void CpAsyncCommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until at most kPending of this thread's groups are under way.
template <int kPending>
__device__ __forceinline__ void CpAsyncWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// A 16-bit word as fp32, exactly. (FloatOfFp16 has a loop for subnormals, this is one instruction.)
template <DType kType>
__device__ __forceinline__ float WidenWord(uint16_t word) {
  if constexpr (kType == DType::kBf16) {
    return __uint_as_float(static_cast<uint32_t>(word) << 16);
  } else {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(word));
    return wide;
  }
}

#else  // the same functions on the models

using Place = std::source_location;

template <DType kType>
void MmaK16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
            Place where = Place::current()) {
  simt::MmaM16N8(kType, 16, d, a, b, d, where);
}

template <DType kType>
void MmaK8(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t b, Place where = Place::current()) {
  const uint32_t a[2] = {a0, a1};
  simt::MmaM16N8(kType, 8, d, a, &b, d, where);
}

inline void LdMatrixX4(uint32_t (&registers)[4], const void* row, Place where = Place::current()) {
  simt::LdMatrix(4, false, registers, row, where);
}

inline void LdMatrixX4Transposed(uint32_t (&registers)[4], const void* row,
                                 Place where = Place::current()) {
  simt::LdMatrix(4, true, registers, row, where);
}

inline void CpAsync16(void* shared, const void* global, int32_t source_bytes,
                      Place where = Place::current()) {
  simt::CpAsync16(shared, global, source_bytes, where);
}

inline void CpAsyncCommit() { simt::CpAsyncCommit(); }

template <DType kType>
float WidenWord(uint16_t word) {
  return Widen(word, kType);
}

template <int kPending>
void CpAsyncWait() {
  simt::CpAsyncWait(kPending);
}

#endif

}  // namespace batchvar::ptx

#endif  // BATCHVAR_KERNELS_CUDA_PTX_CUH_
