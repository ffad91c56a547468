// GEMM by fp32 fused multiply-adds, for orders without tensor cores: every output is one chain of
// __fmaf_rn over ascending k for each of its partial sums. Tiles as in gemm_mma.cu; a thread has
// 4 x 4 outputs, 16 rows and columns apart, so that a warp reads whole rows of banks.
//
// Products beyond a run's end are left out, not padded: adding +0 would turn a sum of -0 into +0.
#include "kernels/cuda/gemm_kernels.h"
#include "kernels/cuda/gemm_tile.cuh"
#include "sim/numerics/elementary.h"

namespace batchvar {
namespace {

constexpr int kTileM = kFmaTile.m, kTileN = kFmaTile.n, kTileK = kFmaTile.k;
constexpr int kThreadsM = 16, kThreadsN = 16, kThreads = kThreadsM * kThreadsN;
constexpr int kOutputsM = kTileM / kThreadsM, kOutputsN = kTileN / kThreadsN;
constexpr int kStages = 3;
constexpr int kStageWords = (kTileM + kTileN) * kTileK;
constexpr int kSharedBytes = kStages * kStageWords * 2;

// Word j (0..7) of a chunk in registers.
__device__ __forceinline__ uint16_t WordOf(const uint4& chunk, int j) {
  const uint32_t pair = j < 2 ? chunk.x : j < 4 ? chunk.y : j < 6 ? chunk.z : chunk.w;
  return static_cast<uint16_t>(pair >> j % 2 * 16);
}

// The products of one chunk of 8 k; unless kWhole only the first `valid` of them exist.
template <DType kType, bool kWhole>
__device__ __forceinline__ void AddChunk(const uint16_t* x_tile, const uint16_t* w_tile, int chunk,
                                         int32_t valid, float (&sums)[kOutputsM][kOutputsN]) {
  const int thread_m = static_cast<int>(threadIdx.x) / kThreadsN;
  const int thread_n = static_cast<int>(threadIdx.x) % kThreadsN;
  uint4 a[kOutputsM];
  uint4 b[kOutputsN];
  BV_UNROLL
  for (int i = 0; i < kOutputsM; ++i) {
    a[i] = *reinterpret_cast<const uint4*>(x_tile +
                                           SwizzledOffset<kTileK>(thread_m + i * kThreadsM, chunk));
  }
  BV_UNROLL
  for (int j = 0; j < kOutputsN; ++j) {
    b[j] = *reinterpret_cast<const uint4*>(w_tile +
                                           SwizzledOffset<kTileK>(thread_n + j * kThreadsN, chunk));
  }
  BV_UNROLL
  for (int k = 0; k < kChunkWords; ++k) {
    if (!kWhole && k >= valid) continue;
    BV_UNROLL
    for (int i = 0; i < kOutputsM; ++i) {
      BV_UNROLL
      for (int j = 0; j < kOutputsN; ++j) {
        sums[i][j] = __fmaf_rn(ptx::WidenWord<kType>(WordOf(a[i], k)),
                               ptx::WidenWord<kType>(WordOf(b[j], k)), sums[i][j]);
      }
    }
  }
}

template <DType kType, bool kAsync>
__device__ __forceinline__ void SumItem(const GemmKernelArguments& arguments, const GemmItem& item,
                                        uint16_t* stages) {
  KTiles<kTileK> next(item);
  KTiles<kTileK> here(item);
  const int32_t count = item.k_tiles;
  const auto load = [&](int32_t tile) {
    if (tile < count) {
      uint16_t* const x_tile = stages + tile % kStages * kStageWords;
      LoadTile<kTileM, kTileK, kThreads, kAsync>(x_tile, arguments.x, arguments.k, item.out.m_begin,
                                                 item.out.m_end, next.begin(), next.end());
      LoadTile<kTileN, kTileK, kThreads, kAsync>(x_tile + kTileM * kTileK, arguments.w, arguments.k,
                                                 item.out.n_begin, item.out.n_end, next.begin(),
                                                 next.end());
      next.Next();
    }
    ptx::CpAsyncCommit();
  };

  float sums[kOutputsM][kOutputsN] = {};
  BV_UNROLL
  for (int32_t tile = 0; tile < kStages - 1; ++tile) load(tile);
  for (int32_t tile = 0; tile < count; ++tile) {
    ptx::CpAsyncWait<kStages - 2>();
    __syncthreads();
    load(tile + kStages - 1);
    const uint16_t* const x_tile = stages + tile % kStages * kStageWords;
    for (int chunk = 0; chunk < kTileK / kChunkWords; ++chunk) {
      const int32_t valid = here.end() - here.begin() - chunk * kChunkWords;
      const uint16_t* const w_tile = x_tile + kTileM * kTileK;
      if (valid >= kChunkWords) {
        AddChunk<kType, true>(x_tile, w_tile, chunk, valid, sums);
      } else if (valid > 0) {
        AddChunk<kType, false>(x_tile, w_tile, chunk, valid, sums);
      }
    }
    here.Next();
  }
  BV_UNROLL
  for (int i = 0; i < kOutputsM; ++i) {
    BV_UNROLL
    for (int j = 0; j < kOutputsN; ++j) {
      const int thread = static_cast<int>(threadIdx.x);
      StoreSum(arguments, item, item.out.m_begin + thread / kThreadsN + i * kThreadsM,
               item.out.n_begin + thread % kThreadsN + j * kThreadsN, CanonicalNan(sums[i][j]));
    }
  }
  __syncthreads();  // the next item overwrites the stages
}

template <DType kType, bool kAsync>
__global__ void __launch_bounds__(kThreads) GemmFmaKernel(const GemmKernelArguments arguments) {
  BV_DYNAMIC_SHARED(shared);
  const int32_t last = arguments.units[blockIdx.x + 1];
  for (int32_t i = arguments.units[blockIdx.x]; i < last; ++i) {
    const GemmItem item = arguments.items[i];
    SumItem<kType, kAsync>(arguments, item, reinterpret_cast<uint16_t*>(shared));
  }
}

template <DType kType, bool kAsync>
CudaStatus Launch(const GemmWork& work, const GemmKernelArguments& arguments, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<uint32_t>(work.units.size() - 1));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes;
  config.stream = stream;
  BV_CUDA_TRY(cudaLaunchKernelEx(&config, &GemmFmaKernel<kType, kAsync>, arguments));
  return {};
}

}  // namespace

CudaStatus LaunchGemmFma(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                         cudaStream_t stream) {
  const bool is_async = work.aligned_runs && work.k % kChunkWords == 0;
  if (dtype == DType::kBf16) {
    return is_async ? Launch<DType::kBf16, true>(work, arguments, stream)
                    : Launch<DType::kBf16, false>(work, arguments, stream);
  }
  return is_async ? Launch<DType::kFp16, true>(work, arguments, stream)
                  : Launch<DType::kFp16, false>(work, arguments, stream);
}

}  // namespace batchvar
