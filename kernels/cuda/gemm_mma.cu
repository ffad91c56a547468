// GEMM on tensor cores by mma.sync, sm_80 and later: y = x W^T, 16-bit operands, fp32 sums.
//
// Every output has one accumulator for each of its partial sums, from +0 through ascending k: the
// order of its piece. A block keeps kStages tiles of K in flight by cp.async; the tile that is
// overwritten is the one that every warp has left before the barrier of this turn.
#include "kernels/cuda/gemm_kernels.h"
#include "kernels/cuda/gemm_tile.cuh"

namespace batchvar {
namespace {

template <int kTileM_, int kTileN_, int kTileK_, int kWarpsM_, int kWarpsN_, int kStages_>
struct MmaShape {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kTileK = kTileK_;
  static constexpr int kWarpsN = kWarpsN_;
  static constexpr int kStages = kStages_;
  static constexpr int kThreads = kWarpsM_ * kWarpsN_ * 32;
  static constexpr int kWarpM = kTileM / kWarpsM_;  // rows and columns of one warp
  static constexpr int kWarpN = kTileN / kWarpsN_;
  static constexpr int kStageWords = (kTileM + kTileN) * kTileK;
  static constexpr int kSharedBytes = kStages * kStageWords * 2;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0);
};

// As kMmaTiles lists them.
using DecodeShape = MmaShape<16, 64, 64, 1, 4, 4>;
using MiddleShape = MmaShape<64, 64, 64, 2, 2, 3>;
using LargeShape = MmaShape<128, 128, 32, 2, 4, 4>;

template <typename Shape>
struct MmaSums {
  float value[Shape::kWarpM / 16][Shape::kWarpN / 8][4];
};

// One instruction's worth of K: the products of k in [16 step, 16 step + 16) of the tile.
template <DType kType, typename Shape, int kInstrK>
__device__ __forceinline__ void AddStep(const uint16_t* x_tile, const uint16_t* w_tile, int step,
                                        int warp_m, int warp_n, MmaSums<Shape>* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  uint32_t b[Shape::kWarpN / 8][2];
  BV_UNROLL
  for (int j = 0; j < Shape::kWarpN / 16; ++j) {
    // Matrices: columns 0..7 at k 0..7 and 8..15, columns 8..15 at k 0..7 and 8..15.
    const int row = warp_n * Shape::kWarpN + j * 16 + lane / 16 * 8 + lane % 8;
    uint32_t four[4];
    ptx::LdMatrixX4(four, w_tile + SwizzledOffset<Shape::kTileK>(row, step * 2 + lane / 8 % 2));
    b[2 * j][0] = four[0], b[2 * j][1] = four[1];
    b[2 * j + 1][0] = four[2], b[2 * j + 1][1] = four[3];
  }
  BV_UNROLL
  for (int i = 0; i < Shape::kWarpM / 16; ++i) {
    // Matrices: rows 0..7 and 8..15 at k 0..7, then both at k 8..15.
    const int row = warp_m * Shape::kWarpM + i * 16 + lane % 16;
    uint32_t a[4];
    ptx::LdMatrixX4(a, x_tile + SwizzledOffset<Shape::kTileK>(row, step * 2 + lane / 16));
    BV_UNROLL
    for (int j = 0; j < Shape::kWarpN / 8; ++j) {
      if constexpr (kInstrK == 16) {
        ptx::MmaK16<kType>(sums->value[i][j], a, b[j]);
      } else {
        ptx::MmaK8<kType>(sums->value[i][j], a[0], a[1], b[j][0]);
        ptx::MmaK8<kType>(sums->value[i][j], a[2], a[3], b[j][1]);
      }
    }
  }
}

template <typename Shape>
__device__ __forceinline__ void StoreSums(const GemmKernelArguments& arguments,
                                          const GemmItem& item, int warp_m, int warp_n,
                                          const MmaSums<Shape>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  BV_UNROLL
  for (int i = 0; i < Shape::kWarpM / 16; ++i) {
    BV_UNROLL
    for (int j = 0; j < Shape::kWarpN / 8; ++j) {
      BV_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int row = warp_m * Shape::kWarpM + i * 16 + e / 2 * 8 + lane / 4;
        const int column = warp_n * Shape::kWarpN + j * 8 + lane % 4 * 2 + e % 2;
        StoreSum(arguments, item, item.out.m_begin + row, item.out.n_begin + column,
                 sums.value[i][j][e]);
      }
    }
  }
}

template <DType kType, typename Shape, int kInstrK, bool kAsync>
__device__ __forceinline__ void SumItem(const GemmKernelArguments& arguments, const GemmItem& item,
                                        uint16_t* stages) {
  constexpr int kStages = Shape::kStages;
  const int warp_m = static_cast<int>(threadIdx.x) / 32 / Shape::kWarpsN;
  const int warp_n = static_cast<int>(threadIdx.x) / 32 % Shape::kWarpsN;
  KTiles<Shape::kTileK> next(item);
  const int32_t count = item.k_tiles;
  const auto load = [&](int32_t tile) {
    if (tile < count) {
      uint16_t* const x_tile = stages + tile % kStages * Shape::kStageWords;
      LoadTile<Shape::kTileM, Shape::kTileK, Shape::kThreads, kAsync>(
          x_tile, arguments.x, arguments.k, item.out.m_begin, item.out.m_end, next.begin(),
          next.end());
      LoadTile<Shape::kTileN, Shape::kTileK, Shape::kThreads, kAsync>(
          x_tile + Shape::kTileM * Shape::kTileK, arguments.w, arguments.k, item.out.n_begin,
          item.out.n_end, next.begin(), next.end());
      next.Next();
    }
    ptx::CpAsyncCommit();  // an empty group too, so that the count of groups is that of tiles
  };

  MmaSums<Shape> sums = {};
  BV_UNROLL
  for (int32_t tile = 0; tile < kStages - 1; ++tile) load(tile);
  for (int32_t tile = 0; tile < count; ++tile) {
    ptx::CpAsyncWait<kStages - 2>();
    __syncthreads();
    load(tile + kStages - 1);
    const uint16_t* const x_tile = stages + tile % kStages * Shape::kStageWords;
    BV_UNROLL
    for (int step = 0; step < Shape::kTileK / 16; ++step) {
      AddStep<kType, Shape, kInstrK>(x_tile, x_tile + Shape::kTileM * Shape::kTileK, step, warp_m,
                                     warp_n, &sums);
    }
  }
  StoreSums<Shape>(arguments, item, warp_m, warp_n, sums);
  __syncthreads();  // the next item overwrites the stages
}

template <DType kType, typename Shape, int kInstrK, bool kAsync>
__global__ void __launch_bounds__(Shape::kThreads)
    GemmMmaKernel(const GemmKernelArguments arguments) {
  BV_DYNAMIC_SHARED(shared);
  const int32_t last = arguments.units[blockIdx.x + 1];
  for (int32_t i = arguments.units[blockIdx.x]; i < last; ++i) {
    const GemmItem item = arguments.items[i];
    SumItem<kType, Shape, kInstrK, kAsync>(arguments, item, reinterpret_cast<uint16_t*>(shared));
  }
}

template <DType kType, typename Shape, int kInstrK, bool kAsync>
CudaStatus Launch(const GemmKernelArguments& arguments, int32_t num_units, cudaStream_t stream) {
  const auto kernel = &GemmMmaKernel<kType, Shape, kInstrK, kAsync>;
  BV_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   Shape::kSharedBytes));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<uint32_t>(num_units));
  config.blockDim = dim3(Shape::kThreads);
  config.dynamicSmemBytes = Shape::kSharedBytes;
  config.stream = stream;
  BV_CUDA_TRY(cudaLaunchKernelEx(&config, kernel, arguments));
  return {};
}

template <DType kType>
CudaStatus LaunchOfType(const GemmWork& work, const GemmKernelArguments& arguments,
                        cudaStream_t stream) {
  const int32_t num_units = static_cast<int32_t>(work.units.size()) - 1;
  const bool is_async = work.aligned_runs && work.k % kChunkWords == 0;
  if (work.instr_k == 8) return Launch<kType, MiddleShape, 8, false>(arguments, num_units, stream);
  if (!is_async) return Launch<kType, MiddleShape, 16, false>(arguments, num_units, stream);
  if (work.tile == kMmaTiles[0]) {
    return Launch<kType, DecodeShape, 16, true>(arguments, num_units, stream);
  }
  if (work.tile == kMmaTiles[1]) {
    return Launch<kType, MiddleShape, 16, true>(arguments, num_units, stream);
  }
  return Launch<kType, LargeShape, 16, true>(arguments, num_units, stream);
}

}  // namespace

CudaStatus LaunchGemmMma(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                         cudaStream_t stream) {
  return dtype == DType::kBf16 ? LaunchOfType<DType::kBf16>(work, arguments, stream)
                               : LaunchOfType<DType::kFp16>(work, arguments, stream);
}

}  // namespace batchvar
