// The launches of the single kernels behind LaunchGemm (gemm.h). Whoever calls them has checked the
// arguments; `dtype` is that of the operands. Each says in its source what it does.
#ifndef BATCHVAR_KERNELS_CUDA_GEMM_KERNELS_H_
#define BATCHVAR_KERNELS_CUDA_GEMM_KERNELS_H_

#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/cuda_status.h"
#include "kernels/cuda/gemm_work.h"

namespace batchvar {

struct GemmKernelArguments;

CudaStatus LaunchGemmMma(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                         cudaStream_t stream);
// sm_90a only.
CudaStatus LaunchGemmWgmma(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                           cudaStream_t stream);
CudaStatus LaunchGemmFma(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                         cudaStream_t stream);
CudaStatus LaunchGemv(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                      cudaStream_t stream);
// `combines` are the work's, on the device.
CudaStatus LaunchCombine(const GemmWork& work, const CombineItem* combines,
                         const GemmKernelArguments& arguments, cudaStream_t stream);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CUDA_GEMM_KERNELS_H_
