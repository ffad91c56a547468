// What an Order means for a sum over one row of numbers (RMSNorm, log-softmax) and for a sum over
// ranks (all-reduce). Scalar, the definition for every faster form.
//
// Row: `order.block` threads share the row. Each loads vectors of up to 16 bytes with a stride of
// the whole block and chains its own terms in ascending order from +0. Then threads meet in XOR
// butterflies, the farthest partner first: the 32 of a warp, then the warps (FlashInfer fb28d724,
// norm.cuh; a vLLM block reduction is taken to do the same).
#ifndef BATCHVAR_SIM_NUMERICS_ORDERED_ROWS_H_
#define BATCHVAR_SIM_NUMERICS_ORDERED_ROWS_H_

#include <cstdint>
#include <vector>

#include "sim/numerics/elementary.h"
#include "sim/numerics/order.h"
#include "sim/numerics/ordered_sum.h"

namespace batchvar {

inline constexpr int32_t kWarpThreads = 32;
inline constexpr int64_t kRowVectorBytes = 16;  // one load of a thread

// Elements that a thread of a row kernel loads at once: as many as divide the row, up to 16 bytes.
BV_HOST_DEVICE constexpr int64_t RowVectorWidth(int64_t width, DType dtype) {
  int64_t vector = kRowVectorBytes / DTypeBytes(dtype);
  while (width % vector != 0) vector /= 2;
  return vector;
}

// Sums of up to 1024 threads into one: butterflies within warps, then over the warps.
// `sums` has `threads` entries and is overwritten.
inline float SumThreads(float* sums, int32_t threads) {
  float warps[kWarpThreads] = {};
  float lanes[kWarpThreads];
  for (int32_t warp = 0; warp * kWarpThreads < threads; ++warp) {
    for (int32_t lane = 0; lane < kWarpThreads; ++lane) {
      const int32_t thread = warp * kWarpThreads + lane;
      lanes[lane] = thread < threads ? sums[thread] : 0.0f;
    }
    warps[warp] = SumButterfly(lanes, kWarpThreads);
  }
  return threads <= kWarpThreads ? warps[0] : SumButterfly(warps, kWarpThreads);
}

// Sum over i < width of what `add(i, sum)` makes of a thread's running sum, in the order's way.
// `dtype` is the type that the row is stored in.
template <typename Add>
float SumRow(const Order& order, int64_t width, DType dtype, const Add& add) {
  const int64_t vector = RowVectorWidth(width, dtype);
  std::vector<float> sums(order.block, 0.0f);
  for (int64_t v = 0; v < width / vector; ++v) {
    float& sum = sums[v % order.block];
    for (int64_t i = v * vector; i < (v + 1) * vector; ++i) sum = add(i, sum);
  }
  return SumThreads(sums.data(), order.block);
}

// Sum of squares of fp32 values, by fused multiply-adds.
inline float SumOfSquares(const Order& order, const float* row, int64_t width, DType dtype) {
  return SumRow(order, width, dtype,
                [row](int64_t i, float sum) { return FusedMultiplyAdd(row[i], row[i], sum); });
}

// One element of an all-reduce: the ranks' values in the order's list, before the final rounding.
// A piece [r, r + n) stands for ranks r, r + 1, ..., one after another.
inline float SumOfRanks(const Order& order, const float* value_of_rank) {
  std::vector<float> terms;
  for (const Range& piece : order.pieces) {
    for (int64_t rank = piece.begin; rank < piece.end; ++rank) {
      terms.push_back(value_of_rank[rank]);
    }
  }
  return CombinePartials(order.combine, order.output, terms.data(), 1,
                         static_cast<int64_t>(terms.size()));
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_ORDERED_ROWS_H_
