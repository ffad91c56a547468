// What sm_90a's instructions of kernels/cuda/ptx_sm90.cuh do, for g++: mbarriers, copies of boxes
// by the copy engine (TMA) and matrix multiplication by a warpgroup (wgmma). Copies end at any
// later moment; products of a wgmma are added at the latest at the wait for its group, so whatever
// frees a stage too early shows. Memory fences do nothing: fibers see each other's stores at once.
#ifndef BATCHVAR_KERNELS_SIMT_SM90_MODEL_H_
#define BATCHVAR_KERNELS_SIMT_SM90_MODEL_H_

#include <cstdint>
#include <source_location>

#include "sim/numerics/dtype.h"

// What the driver encodes for a 2D tensor of 16-bit words: here its plain numbers, in the driver's
// size. Elements [y][x], x contiguous; a box of box_x x box_y lands swizzled by 128 bytes.
struct alignas(64) CUtensorMap {
  const uint16_t* words;
  int64_t size_x, size_y;
  int64_t row_words;
  int32_t box_x, box_y;
  uint8_t unused[88];
};
static_assert(sizeof(CUtensorMap) == 128);

namespace batchvar::simt {

// mbarrier.init, arrive (after adding `bytes` to what its phase expects), and the wait for the end
// of the phase of that parity.
void MbarrierInit(uint64_t* barrier, uint32_t arrivals, const std::source_location& where);
void MbarrierArrive(uint64_t* barrier, uint32_t bytes, const std::source_location& where);
void MbarrierWait(uint64_t* barrier, uint32_t parity, const std::source_location& where);

// cp.async.bulk.tensor.2d: the box at (x, y) to `shared`; its bytes complete on the barrier. What
// lies outside the tensor becomes zeros, and counts.
void TmaLoad2d(void* shared, const CUtensorMap& map, uint64_t* barrier, int32_t x, int32_t y,
               const std::source_location& where);

// wgmma.mma_async.m64n{n}k16, both operands K-major in shared memory behind descriptors: d += a b.
// d is this thread's n / 2 accumulators and has to stay where it is until the wait.
void WgmmaM64K16(DType dtype, int32_t n, float* d, uint64_t a, uint64_t b,
                 const std::source_location& where);
void WgmmaCommit();
void WgmmaWait(int32_t pending_groups, const std::source_location& where);  // a warp's, together

// The address of shared memory as instructions take it: counted from its begin.
uint32_t SharedOffset(const void* shared, const std::source_location& where);

}  // namespace batchvar::simt

#endif  // BATCHVAR_KERNELS_SIMT_SM90_MODEL_H_
