// The part of the CUDA runtime's host side that kernels/cuda calls, on top of device.h: memory that
// is host memory, launches that have ended when they return. Errors are those that CUDA reports; a
// fault inside a kernel is cudaErrorLaunchFailure, and LastFault() has its words. Included instead
// of <cuda_runtime.h> by kernels/cuda/cuda.cuh, in tests only.
#ifndef BATCHVAR_KERNELS_SIMT_CUDA_HOST_H_
#define BATCHVAR_KERNELS_SIMT_CUDA_HOST_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "kernels/simt/cuda_language.h"

// Names, values and spelling are CUDA's.
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorNoDevice = 100,
  cudaErrorLaunchFailure = 719,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
struct cudaStreamOfShim;
using cudaStream_t = cudaStreamOfShim*;

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  void* attrs = nullptr;
  unsigned int numAttrs = 0;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

namespace batchvar::simt {

// The words of the last fault inside a kernel.
const std::string& LastFault();

// How much dynamic shared memory a kernel was allowed, by its address.
cudaError_t AllowShared(const void* kernel, int bytes);
cudaError_t LaunchBody(const cudaLaunchConfig_t& config, const void* kernel,
                       const std::function<void()>& body);

// How many of the shim's allocations are alive: 0 when everything was freed.
int64_t LiveAllocations();

}  // namespace batchvar::simt

template <typename... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute, int value) {
  return batchvar::simt::AllowShared(reinterpret_cast<const void*>(kernel), value);
}

// Arguments are copied when the kernel is launched, as on a GPU.
template <typename... P, typename... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... a) {
  const auto body = [kernel, ... copies = P(std::forward<A>(a))] { kernel(copies...); };
  return batchvar::simt::LaunchBody(*config, reinterpret_cast<const void*>(kernel), body);
}

#endif  // BATCHVAR_KERNELS_SIMT_CUDA_HOST_H_
