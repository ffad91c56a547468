// The host side of the CUDA GEMM: checks, buffers, and which kernels a work takes.
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/gemm_kernels.h"
#include "kernels/cuda/gemm_tile.cuh"

namespace batchvar {
namespace {

template <typename T>
CudaStatus Allocate(int64_t count, T** pointer) {
  BV_CUDA_TRY(
      cudaMalloc(reinterpret_cast<void**>(pointer), sizeof(T) * static_cast<size_t>(count)));
  return {};
}

template <typename T>
CudaStatus Upload(const std::vector<T>& list, cudaStream_t stream, T** pointer) {
  if (list.empty()) return {};
  BV_CUDA_RETURN_IF_ERROR(Allocate(static_cast<int64_t>(list.size()), pointer));
  BV_CUDA_TRY(cudaMemcpyAsync(*pointer, list.data(), sizeof(T) * list.size(),
                              cudaMemcpyHostToDevice, stream));
  return {};
}

bool IsAligned16(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

CudaStatus CheckOperands(const GemmWork& work, const GemmBuffers& buffers,
                         const GemmOperands& operands) {
  BV_CUDA_REQUIRE(operands.dtype == DType::kBf16 || operands.dtype == DType::kFp16,
                  "operands are bf16 or fp16");
  BV_CUDA_REQUIRE(operands.x != nullptr && operands.w != nullptr, "x or w is null");
  BV_CUDA_REQUIRE(IsAligned16(operands.x) && IsAligned16(operands.w),
                  "x and w are aligned to 16 bytes");
  BV_CUDA_REQUIRE(operands.sums != nullptr || operands.y != nullptr, "there is no output");
  BV_CUDA_REQUIRE(operands.y == nullptr || work.output != DType::kFp32,
                  "y is 16 bits wide, the orders' output is fp32");
  BV_CUDA_REQUIRE(work.items.empty() || (buffers.items != nullptr && buffers.units != nullptr),
                  "the buffers are not this work's");
  BV_CUDA_REQUIRE(
      work.num_slots == 0 || (buffers.partials != nullptr && buffers.combines != nullptr),
      "the buffers are not this work's");
  return CheckDeviceArithmetic(work.arithmetic);
}

}  // namespace

CudaStatus CheckDeviceArithmetic(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::kFmaChain) return {};
  int device = 0, major = 0, minor = 0;
  BV_CUDA_TRY(cudaGetDevice(&device));
  BV_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  BV_CUDA_TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  BV_CUDA_REQUIRE(HasTensorCoresOf(arithmetic, 10 * major + minor),
                  "the orders are for other tensor cores than those of this device, sm_" +
                      std::to_string(10 * major + minor));
  return {};
}

CudaStatus AllocateGemmBuffers(const GemmWork& work, cudaStream_t stream, GemmBuffers* buffers) {
  *buffers = {};
  BV_CUDA_RETURN_IF_ERROR(Upload(work.items, stream, &buffers->items));
  BV_CUDA_RETURN_IF_ERROR(Upload(work.units, stream, &buffers->units));
  BV_CUDA_RETURN_IF_ERROR(Upload(work.combines, stream, &buffers->combines));
  if (work.num_slots > 0) {
    BV_CUDA_RETURN_IF_ERROR(Allocate(work.num_slots * work.m * work.n, &buffers->partials));
  }
  BV_CUDA_TRY(cudaStreamSynchronize(stream));  // the lists may go away now
  return {};
}

CudaStatus FreeGemmBuffers(GemmBuffers* buffers) {
  BV_CUDA_TRY(cudaFree(buffers->items));
  BV_CUDA_TRY(cudaFree(buffers->units));
  BV_CUDA_TRY(cudaFree(buffers->combines));
  BV_CUDA_TRY(cudaFree(buffers->partials));
  *buffers = {};
  return {};
}

CudaStatus LaunchGemm(const GemmWork& work, const GemmBuffers& buffers,
                      const GemmOperands& operands, cudaStream_t stream) {
  BV_CUDA_RETURN_IF_ERROR(CheckOperands(work, buffers, operands));
  GemmKernelArguments arguments;
  arguments.x = operands.x, arguments.w = operands.w;
  arguments.m = static_cast<int32_t>(work.m);
  arguments.n = static_cast<int32_t>(work.n);
  arguments.k = static_cast<int32_t>(work.k);
  arguments.items = buffers.items, arguments.units = buffers.units;
  arguments.partials = buffers.partials;
  arguments.sums = operands.sums, arguments.y = operands.y;
  arguments.output = work.output;
  switch (work.kernel) {
    case GemmKernel::kGemv: return LaunchGemv(work, operands.dtype, arguments, stream);
    case GemmKernel::kFma:
      BV_CUDA_RETURN_IF_ERROR(LaunchGemmFma(work, operands.dtype, arguments, stream));
      break;
    case GemmKernel::kWgmma:
      BV_CUDA_RETURN_IF_ERROR(LaunchGemmWgmma(work, operands.dtype, arguments, stream));
      break;
    case GemmKernel::kMma:
      BV_CUDA_RETURN_IF_ERROR(LaunchGemmMma(work, operands.dtype, arguments, stream));
      break;
  }
  if (work.combines.empty()) return {};
  return LaunchCombine(work, buffers.combines, arguments, stream);
}

}  // namespace batchvar
