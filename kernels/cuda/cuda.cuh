// Every CUDA source here includes this instead of <cuda_runtime.h>, so that one text is compiled by
// nvcc for a GPU and by g++ for the tests (kernels/simt). Apart from this header and ptx.cuh no
// source asks which of the two it is.
#ifndef BATCHVAR_KERNELS_CUDA_CUDA_CUH_
#define BATCHVAR_KERNELS_CUDA_CUDA_CUH_

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "kernels/simt/cuda_host.h"
#include "kernels/simt/cuda_language.h"
#endif

// A variable of the block, for kernel scope: BV_STATIC_SHARED(Type, name). No initialiser.
// BV_DYNAMIC_SHARED(name) declares `uint8_t* name`, the launch's dynamic shared memory, aligned to
// 1024 bytes: under nvcc the extern array asks for it, ptxas then places it so.
#ifdef __CUDACC__
#define BV_STATIC_SHARED(Type, name) __shared__ Type name
#define BV_DYNAMIC_SHARED(name)                               \
  extern __shared__ __align__(1024) uint8_t dynamic_shared[]; \
  uint8_t* const name = dynamic_shared
#else
#define BV_STATIC_SHARED(Type, name) \
  static const char name##_key = 0;  \
  Type& name = *static_cast<Type*>(  \
      ::batchvar::simt::Block::Current().StaticShared(&name##_key, sizeof(Type), alignof(Type)))
#define BV_DYNAMIC_SHARED(name) \
  uint8_t* const name = ::batchvar::simt::Block::Current().dynamic_shared()
#endif

// Loops whose indices have to be constants, because they name registers.
#ifdef __CUDACC__
#define BV_UNROLL _Pragma("unroll")
#else
#define BV_UNROLL
#endif

#endif  // BATCHVAR_KERNELS_CUDA_CUDA_CUH_
