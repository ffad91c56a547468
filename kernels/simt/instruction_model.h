// What the PTX instructions of kernels/cuda/ptx.cuh do, for g++: fragments go from lanes to
// matrices and back as the PTX ISA lays them out, the arithmetic is FusedDotAdd
// (sim/numerics/tensor_core.h) of the device's generation (device.h). Called by ptx.cuh only.
#ifndef BATCHVAR_KERNELS_SIMT_INSTRUCTION_MODEL_H_
#define BATCHVAR_KERNELS_SIMT_INSTRUCTION_MODEL_H_

#include <cstdint>
#include <source_location>

#include "sim/numerics/dtype.h"

namespace batchvar::simt {

// mma.sync.aligned.m16n8k{k}.row.col.f32.{dtype}.{dtype}.f32, k 16 or 8: a holds k / 4 registers, b
// k / 8, d and c four floats, d = a b + c. d may be c.
void MmaM16N8(DType dtype, int32_t k, float* d, const uint32_t* a, const uint32_t* b,
              const float* c, const std::source_location& where);

// ldmatrix.sync.aligned.m8n8.x{count}[.trans].shared.b16: lane 8 i + r brings the address of row r
// of matrix i; rows are 16 bytes, aligned to that.
void LdMatrix(int32_t count, bool transposed, uint32_t* registers, const void* row,
              const std::source_location& where);

// cp.async.cg.shared.global of 16 bytes, of which `source_bytes` are read and the rest are zeros.
void CpAsync16(void* shared, const void* global, int32_t source_bytes,
               const std::source_location& where);
void CpAsyncCommit();
void CpAsyncWait(int32_t pending_groups);

}  // namespace batchvar::simt

#endif  // BATCHVAR_KERNELS_SIMT_INSTRUCTION_MODEL_H_
