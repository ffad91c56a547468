// The CUDA executor's GEMM: y = x W^T under planned orders, with the bits of OrderedDot
// (sim/numerics/ordered_dot.h) and of the CPU executor, on a device whose tensor cores are those of
// the orders. Buffers are allocated once for a GemmWork and serve any number of launches on one
// stream. Needs the CUDA runtime and no other library.
#ifndef BATCHVAR_KERNELS_CUDA_GEMM_H_
#define BATCHVAR_KERNELS_CUDA_GEMM_H_

#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/cuda_status.h"
#include "kernels/cuda/gemm_work.h"

namespace batchvar {

// What a work needs on the device. Free it with FreeGemmBuffers, also after an error.
struct GemmBuffers {
  GemmItem* items = nullptr;
  int32_t* units = nullptr;
  CombineItem* combines = nullptr;
  float* partials = nullptr;  // [work.num_slots][m][n]
};

// All pointers are the device's, aligned to 16 bytes.
struct GemmOperands {
  DType dtype = DType::kBf16;   // bf16 or fp16
  const uint16_t* x = nullptr;  // [m][k]
  const uint16_t* w = nullptr;  // [n][k]
  float* sums = nullptr;        // [m][n]: before the rounding to the orders' output; may be null
  uint16_t* y = nullptr;        // [m][n]: after it; null if the output is fp32
};

// Allocates, and copies the lists; waits for the copies.
CudaStatus AllocateGemmBuffers(const GemmWork& work, cudaStream_t stream, GemmBuffers* buffers);
CudaStatus FreeGemmBuffers(GemmBuffers* buffers);

// Queues the GEMM on `stream`. An error of the launch is returned; one inside a kernel comes with
// the next call that waits.
CudaStatus LaunchGemm(const GemmWork& work, const GemmBuffers& buffers,
                      const GemmOperands& operands, cudaStream_t stream);

// "" or why the current device cannot give the bits of `arithmetic`: its tensor cores are others.
CudaStatus CheckDeviceArithmetic(Arithmetic arithmetic);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CUDA_GEMM_H_
