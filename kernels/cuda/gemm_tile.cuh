// What the tiled GEMM kernels share: their arguments, how they walk K, how operand tiles come into
// shared memory, and where sums go. Device code.
//
// A tile of kRows x kTileK 16-bit words lies row by row in shared memory; within a row the 16-byte
// chunks are swizzled so that eight rows of one chunk column, which is what ldmatrix reads in one
// wavefront, lie in eight different columns of banks.
#ifndef BATCHVAR_KERNELS_CUDA_GEMM_TILE_CUH_
#define BATCHVAR_KERNELS_CUDA_GEMM_TILE_CUH_

#include <cstdint>

#include "kernels/cuda/gemm_work.h"
#include "kernels/cuda/ptx.cuh"
#include "sim/numerics/float_bits.h"

namespace batchvar {

struct GemmKernelArguments {
  const uint16_t* x = nullptr;  // [m][k]
  const uint16_t* w = nullptr;  // [n][k]
  int32_t m = 0, n = 0, k = 0;
  const GemmItem* items = nullptr;
  const int32_t* units = nullptr;
  float* partials = nullptr;  // [slot][m][n]
  float* sums = nullptr;      // [m][n] before the final rounding, or null
  uint16_t* y = nullptr;      // [m][n] after it, or null
  DType output = DType::kBf16;
};

inline constexpr int32_t kChunkWords = 8;  // 16 bytes

// Where chunk `chunk` of row `row` lies, in words.
template <int kTileK>
__device__ __forceinline__ int32_t SwizzledOffset(int32_t row, int32_t chunk) {
  constexpr int32_t kChunks = kTileK / kChunkWords;
  static_assert(kChunks == 8 || kChunks == 4);
  const int32_t turn = kChunks == 8 ? row & 7 : (row >> 1) & 3;
  return row * kTileK + ((chunk ^ turn) * kChunkWords);
}

// The K tiles of an item, in ascending order: each run is cut anew, the last tile of a run is
// short.
template <int kTileK>
class KTiles {
 public:
  __device__ __forceinline__ explicit KTiles(const GemmItem& item)
      : k_end_(item.k_end),
        run_(item.run),
        step_(item.step),
        first_(item.k_begin),
        k_(item.k_begin) {}

  __device__ __forceinline__ int32_t begin() const { return k_; }
  __device__ __forceinline__ int32_t end() const {
    return first_ + run_ < k_end_ ? first_ + run_ : k_end_;
  }

  __device__ __forceinline__ void Next() {
    k_ += kTileK;
    if (k_ < end()) return;
    first_ += step_;
    k_ = first_;
  }

 private:
  int32_t k_end_, run_, step_;
  int32_t first_;  // where the run began
  int32_t k_;
};

// Rows [row_begin, row_begin + kRows) and k [k_begin, k_begin + kTileK) of a [rows][k] matrix into
// a tile; what lies beyond row_end or k_end becomes zeros. Neighbouring threads take neighbouring
// chunks of a row. kAsync: by cp.async, and everything is 16-byte aligned; else word by word.
template <int kRows, int kTileK, int kThreads, bool kAsync>
__device__ __forceinline__ void LoadTile(uint16_t* tile, const uint16_t* matrix, int32_t row_words,
                                         int32_t row_begin, int32_t row_end, int32_t k_begin,
                                         int32_t k_end) {
  constexpr int32_t kChunks = kTileK / kChunkWords;
  static_assert(kRows * kChunks % kThreads == 0);
  BV_UNROLL
  for (int32_t i = 0; i < kRows * kChunks / kThreads; ++i) {
    const int32_t at = i * kThreads + static_cast<int32_t>(threadIdx.x);
    const int32_t row = at / kChunks;
    const int32_t chunk = at % kChunks;
    const int32_t k = k_begin + chunk * kChunkWords;
    int32_t valid = k_end - k < kChunkWords ? k_end - k : kChunkWords;
    if (valid < 0 || row_begin + row >= row_end) valid = 0;
    // An address inside the matrix even where nothing is read.
    const uint16_t* from =
        matrix + (valid > 0 ? static_cast<int64_t>(row_begin + row) * row_words + k : 0);
    uint16_t* to = tile + SwizzledOffset<kTileK>(row, chunk);
    if constexpr (kAsync) {
      ptx::CpAsync16(to, from, valid * static_cast<int32_t>(sizeof(uint16_t)));
    } else {
      BV_UNROLL
      for (int32_t j = 0; j < kChunkWords; ++j) to[j] = j < valid ? from[j] : uint16_t{0};
    }
  }
}

// One output's sum: to its partial slot, or, if there is only one, to the output.
__device__ __forceinline__ void StoreSum(const GemmKernelArguments& arguments, const GemmItem& item,
                                         int32_t row, int32_t column, float sum) {
  if (row >= item.out.m_end || column >= item.out.n_end) return;
  const int64_t at = static_cast<int64_t>(row) * arguments.n + column;
  if (item.is_final == 0) {
    arguments.partials[static_cast<int64_t>(item.slot) * arguments.m * arguments.n + at] = sum;
    return;
  }
  if (arguments.sums != nullptr) arguments.sums[at] = sum;
  if (arguments.y != nullptr) arguments.y[at] = Narrow(sum, arguments.output);
}

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CUDA_GEMM_TILE_CUH_
