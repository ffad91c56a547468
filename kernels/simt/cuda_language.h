// The CUDA C++ that kernels of this project are written in, for g++: keywords, built-in variables
// and functions of device code, each doing what it does on a GPU through block.h. Included instead
// of <cuda_runtime.h> by kernels/cuda/cuda.cuh where no nvcc compiles, that is in tests.
//
// How shared memory is declared: BV_STATIC_SHARED and BV_DYNAMIC_SHARED of kernels/cuda/cuda.cuh.
// Warp functions insist that their lanes meet at one place of the source, barriers too; hardware is
// more lenient in places, and no kernel here needs that.
#ifndef BATCHVAR_KERNELS_SIMT_CUDA_LANGUAGE_H_
#define BATCHVAR_KERNELS_SIMT_CUDA_LANGUAGE_H_

#include <cmath>
#include <cstdint>
#include <source_location>

#include "kernels/simt/block.h"
#include "sim/numerics/float_bits.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __grid_constant__

struct alignas(8) uint2 {
  uint32_t x, y;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

struct dim3 {
  uint32_t x = 1, y = 1, z = 1;
  constexpr dim3() = default;
  constexpr dim3(uint32_t a, uint32_t b = 1, uint32_t c = 1) : x(a), y(b), z(c) {}
};

// Set by Block whenever a thread goes on.
struct SimtIndex {
  uint32_t x, y, z;
};
inline thread_local SimtIndex threadIdx, blockIdx, blockDim, gridDim;

inline constexpr int warpSize = batchvar::simt::kWarpLanes;

inline void __syncthreads(std::source_location where = std::source_location::current()) {
  batchvar::simt::Block::Current().Barrier(0, 0, where);
}

inline void __syncwarp(uint32_t mask = 0xFFFFFFFF,
                       std::source_location where = std::source_location::current()) {
  batchvar::simt::Block::Current().WarpCollective(
      "__syncwarp", mask, nullptr, [](void* const*) {}, where);
}

namespace batchvar::simt {

// One lane's part in a shuffle of 32-bit words.
struct ShuffleLane {
  uint32_t value;
  int source;  // the lane that it asks
};

// The value of lane `source`; a fault if that lane does not take part.
uint32_t Shuffle(const char* name, uint32_t mask, uint32_t value, int source,
                 const std::source_location& where);

// Which lanes of the mask bring a predicate that holds.
uint32_t Ballot(uint32_t mask, bool predicate, const std::source_location& where);

inline int LaneOfThread() { return Block::Current().thread() % kWarpLanes; }

template <typename T>
T ShuffleAny(const char* name, uint32_t mask, T value, int source,
             const std::source_location& where) {
  static_assert(sizeof(T) == 4);
  return std::bit_cast<T>(Shuffle(name, mask, std::bit_cast<uint32_t>(value), source, where));
}

}  // namespace batchvar::simt

// Shuffles; `width` is a power of two up to 32 and splits the warp into rows of their own.
template <typename T>
T __shfl_sync(uint32_t mask, T value, int source, int width = 32,
              std::source_location where = std::source_location::current()) {
  const int lane = batchvar::simt::LaneOfThread();
  return batchvar::simt::ShuffleAny("__shfl_sync", mask, value,
                                    lane / width * width + (source & (width - 1)), where);
}

template <typename T>
T __shfl_xor_sync(uint32_t mask, T value, int lane_mask, int width = 32,
                  std::source_location where = std::source_location::current()) {
  const int lane = batchvar::simt::LaneOfThread();
  const int source = lane ^ lane_mask;
  const bool beyond = source >= lane / width * width + width;
  return batchvar::simt::ShuffleAny("__shfl_xor_sync", mask, value, beyond ? lane : source, where);
}

template <typename T>
T __shfl_down_sync(uint32_t mask, T value, uint32_t delta, int width = 32,
                   std::source_location where = std::source_location::current()) {
  const int lane = batchvar::simt::LaneOfThread();
  const int source = lane + static_cast<int>(delta);
  const bool beyond = source >= lane / width * width + width;
  return batchvar::simt::ShuffleAny("__shfl_down_sync", mask, value, beyond ? lane : source, where);
}

template <typename T>
T __shfl_up_sync(uint32_t mask, T value, uint32_t delta, int width = 32,
                 std::source_location where = std::source_location::current()) {
  const int lane = batchvar::simt::LaneOfThread();
  const int source = lane - static_cast<int>(delta);
  const bool beyond = source < lane / width * width;
  return batchvar::simt::ShuffleAny("__shfl_up_sync", mask, value, beyond ? lane : source, where);
}

inline uint32_t __ballot_sync(uint32_t mask, bool predicate,
                              std::source_location where = std::source_location::current()) {
  return batchvar::simt::Ballot(mask, predicate, where);
}

inline int __any_sync(uint32_t mask, bool predicate,
                      std::source_location where = std::source_location::current()) {
  return batchvar::simt::Ballot(mask, predicate, where) != 0;
}

inline int __all_sync(uint32_t mask, bool predicate,
                      std::source_location where = std::source_location::current()) {
  return batchvar::simt::Ballot(mask, predicate, where) == mask;
}

// Correctly rounded operations; a GPU's NaN is 0x7FFFFFFF.
inline float __fadd_rn(float a, float b) { return batchvar::CanonicalNan(a + b); }
inline float __fsub_rn(float a, float b) { return batchvar::CanonicalNan(a - b); }
inline float __fmul_rn(float a, float b) { return batchvar::CanonicalNan(a * b); }
inline float __fdiv_rn(float a, float b) { return batchvar::CanonicalNan(a / b); }
inline float __fmaf_rn(float a, float b, float c) {
  return batchvar::CanonicalNan(std::fma(a, b, c));
}
inline float __fsqrt_rn(float a) { return batchvar::CanonicalNan(std::sqrt(a)); }
inline float __uint_as_float(uint32_t bits) { return batchvar::FloatOf(bits); }
inline uint32_t __float_as_uint(float x) { return batchvar::BitsOf(x); }

template <typename T>
T __ldg(const T* address) {
  return *address;
}

// Fibers of one OS thread see each other's stores at once.
inline void __threadfence() {}
inline void __threadfence_block() {}

#endif  // BATCHVAR_KERNELS_SIMT_CUDA_LANGUAGE_H_
