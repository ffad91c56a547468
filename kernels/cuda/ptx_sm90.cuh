// PTX that only sm_90a has, as functions, like ptx.cuh: mbarriers, TMA copies of boxes, and wgmma.
// All 128 threads of a warpgroup call the Wgmma functions together. PTX ISA 8.0.
//
// Operands of wgmma are K-major tiles of 64 words (128 bytes) a row, swizzled by 128 bytes, which
// is how TMA lays them; tiles are aligned to 1024 bytes.
#ifndef BATCHVAR_KERNELS_CUDA_PTX_SM90_CUH_
#define BATCHVAR_KERNELS_CUDA_PTX_SM90_CUH_

#include <cstdint>

#include "kernels/cuda/ptx.cuh"

#ifdef __CUDACC__
#include <cuda.h>
#else
#include "kernels/simt/sm90_model.h"
#endif

namespace batchvar::ptx {

inline constexpr int kWgmmaN = 128;
inline constexpr int kWgmmaSums = kWgmmaN / 2;  // accumulators of a thread

#ifdef __CUDACC__

__device__ __forceinline__ void MbarrierInit(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)),
               "r"(arrivals)
               : "memory");
}

// Makes initialised barriers visible to the copy engine; before the block's barrier.
__device__ __forceinline__ void MbarrierInitFence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}

__device__ __forceinline__ void MbarrierArrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}

// Arrives, and has the phase wait for `bytes` of copies as well.
__device__ __forceinline__ void MbarrierArriveExpect(uint64_t* barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
      "r"(bytes)
      : "memory");
}

// Until the phase of this parity has ended; a fresh barrier is in phase 0.
__device__ __forceinline__ void MbarrierWait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra end;\n"
      "bra again;\n"
      "end:\n"
      "}\n" ::"r"(SharedAddress(barrier)),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void TmaLoad2d(void* shared, const CUtensorMap* map, uint64_t* barrier,
                                          int32_t x, int32_t y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(SharedAddress(shared)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(x), "r"(y)
      : "memory");
}

__device__ __forceinline__ void WgmmaFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int kPending>
__device__ __forceinline__ void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

#define BV_EIGHT(d, i)                                                                        \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define BV_ACCUMULATORS(d)                                                           \
  BV_EIGHT(d, 0), BV_EIGHT(d, 8), BV_EIGHT(d, 16), BV_EIGHT(d, 24), BV_EIGHT(d, 32), \
      BV_EIGHT(d, 40), BV_EIGHT(d, 48), BV_EIGHT(d, 56)

// d += a b for one m64n128k16; a and b are descriptors of shared memory.
template <DType kType>
__device__ __forceinline__ void WgmmaN128(float (&d)[kWgmmaSums], uint64_t a, uint64_t b) {
  if constexpr (kType == DType::kBf16) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, 1, 1, 1, 0, 0;\n"
        : BV_ACCUMULATORS(d)
        : "l"(a), "l"(b));
  } else {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, 1, 1, 1, 0, 0;\n"
        : BV_ACCUMULATORS(d)
        : "l"(a), "l"(b));
  }
}

#undef BV_EIGHT
#undef BV_ACCUMULATORS

#else  // the same functions on the models

inline uint32_t SharedAddress(const void* shared, Place where = Place::current()) {
  return simt::SharedOffset(shared, where);
}

inline void MbarrierInit(uint64_t* barrier, uint32_t arrivals, Place where = Place::current()) {
  simt::MbarrierInit(barrier, arrivals, where);
}

inline void MbarrierInitFence() {}

inline void MbarrierArrive(uint64_t* barrier, Place where = Place::current()) {
  simt::MbarrierArrive(barrier, 0, where);
}

inline void MbarrierArriveExpect(uint64_t* barrier, uint32_t bytes,
                                 Place where = Place::current()) {
  simt::MbarrierArrive(barrier, bytes, where);
}

inline void MbarrierWait(uint64_t* barrier, uint32_t parity, Place where = Place::current()) {
  simt::MbarrierWait(barrier, parity, where);
}

inline void TmaLoad2d(void* shared, const CUtensorMap* map, uint64_t* barrier, int32_t x, int32_t y,
                      Place where = Place::current()) {
  simt::TmaLoad2d(shared, *map, barrier, x, y, where);
}

inline void WgmmaFence() {}
inline void WgmmaCommit() { simt::WgmmaCommit(); }

template <int kPending>
void WgmmaWait(Place where = Place::current()) {
  simt::WgmmaWait(kPending, where);
}

template <DType kType>
void WgmmaN128(float (&d)[kWgmmaSums], uint64_t a, uint64_t b, Place where = Place::current()) {
  simt::WgmmaM64K16(kType, kWgmmaN, d, a, b, where);
}

#endif

// The descriptor of a swizzled K-major tile: eight rows are 1024 bytes. Adding 2 to it moves on by
// 16 words of K (32 bytes).
__device__ __forceinline__ uint64_t TileDescriptor(const void* tile) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  constexpr uint64_t kEightRows = uint64_t{1024 >> 4} << 32;
  constexpr uint64_t kLeadingUnused = uint64_t{1} << 16;
  return kSwizzle128 | kEightRows | kLeadingUnused | ((SharedAddress(tile) & 0x3FFFF) >> 4);
}

}  // namespace batchvar::ptx

#endif  // BATCHVAR_KERNELS_CUDA_PTX_SM90_CUH_
