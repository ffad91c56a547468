// GEMM on Hopper's tensor cores by wgmma and TMA, sm_90a: y = x W^T, 16-bit operands, fp32 sums.
//
// A block has one producer thread, which has the copy engine bring tiles of x and w into a ring of
// stages, and two consumer warpgroups with 64 rows each. `full` of a stage completes when its bytes
// are there, `empty` when every consumer warp has read it: a warp knows only of its own part of a
// wgmma. Every output has one chain of wgmma k16 for each of its partial sums, ascending from its
// piece's begin: the bits of mma.sync on this device.
#include "kernels/cuda/gemm_kernels.h"
#include "kernels/cuda/gemm_tile.cuh"
#include "kernels/cuda/ptx_sm90.cuh"
#include "kernels/cuda/tensor_map.h"

namespace batchvar {
namespace {

constexpr int kTileM = kWgmmaTile.m, kTileN = kWgmmaTile.n, kTileK = kWgmmaTile.k;
constexpr int kStages = 4;
constexpr int kConsumers = 2;  // warpgroups
constexpr int kGroupThreads = 128;
constexpr int kThreads = (kConsumers + 1) * kGroupThreads;
constexpr int kStageWords = (kTileM + kTileN) * kTileK;
constexpr int kStageBytes = kStageWords * 2;
constexpr int kSharedBytes = kStages * kStageBytes;
constexpr int kStepK = 16;
constexpr int kSteps = kTileK / kStepK;
static_assert(kTileM == kConsumers * 64 && kTileN == ptx::kWgmmaN);

struct StageBarriers {
  uint64_t full[kStages];
  uint64_t empty[kStages];
};

// A place in the ring: which stage, and how often the ring has been gone around.
struct RingPlace {
  int32_t stage = 0;
  uint32_t round = 0;
  __device__ __forceinline__ void Next() {
    if (++stage == kStages) {
      stage = 0;
      ++round;
    }
  }
};

__device__ __forceinline__ void Produce(const GemmKernelArguments& arguments,
                                        const CUtensorMap* x_map, const CUtensorMap* w_map,
                                        uint16_t* stages, StageBarriers* barriers) {
  RingPlace place;
  const int32_t last = arguments.units[blockIdx.x + 1];
  for (int32_t i = arguments.units[blockIdx.x]; i < last; ++i) {
    const GemmItem item = arguments.items[i];
    KTiles<kTileK> tiles(item);
    for (int32_t tile = 0; tile < item.k_tiles; ++tile, tiles.Next(), place.Next()) {
      uint64_t* const full = &barriers->full[place.stage];
      uint16_t* const x_tile = stages + place.stage * kStageWords;
      // In the first round the stages are empty: the phase before the first one has ended.
      ptx::MbarrierWait(&barriers->empty[place.stage], (place.round & 1) ^ 1);
      ptx::MbarrierArriveExpect(full, kStageBytes);
      ptx::TmaLoad2d(x_tile, x_map, full, tiles.begin(), item.out.m_begin);
      ptx::TmaLoad2d(x_tile + kTileM * kTileK, w_map, full, tiles.begin(), item.out.n_begin);
    }
  }
}

// Always whole tiles: pieces end at tiles, and beyond K both operands are zeros, which change
// nothing.
template <DType kType>
__device__ __forceinline__ void AddTile(uint64_t x_tile, uint64_t w_tile,
                                        float (&sums)[ptx::kWgmmaSums]) {
  constexpr uint64_t kStepOfDescriptor = kStepK * 2 / 16;
  ptx::WgmmaFence();
  BV_UNROLL
  for (int step = 0; step < kSteps; ++step) {
    ptx::WgmmaN128<kType>(sums, x_tile + step * kStepOfDescriptor,
                          w_tile + step * kStepOfDescriptor);
  }
  ptx::WgmmaCommit();
}

// The sums of one item; one group of wgmma stays under way while the next stage is awaited.
template <DType kType>
__device__ __forceinline__ void SumItem(const GemmItem& item, int32_t consumer,
                                        const uint16_t* stages, StageBarriers* barriers,
                                        RingPlace* place, float (&sums)[ptx::kWgmmaSums]) {
  const bool releases = threadIdx.x % 32 == 0;
  int32_t before = -1;  // the stage that the group under way reads
  for (int32_t tile = 0; tile < item.k_tiles; ++tile, place->Next()) {
    const uint16_t* const x_tile = stages + place->stage * kStageWords;
    ptx::MbarrierWait(&barriers->full[place->stage], place->round & 1);
    AddTile<kType>(ptx::TileDescriptor(x_tile + consumer * 64 * kTileK),
                   ptx::TileDescriptor(x_tile + kTileM * kTileK), sums);
    ptx::WgmmaWait<1>();
    if (before >= 0 && releases) ptx::MbarrierArrive(&barriers->empty[before]);
    before = place->stage;
  }
  ptx::WgmmaWait<0>();
  if (before >= 0 && releases) ptx::MbarrierArrive(&barriers->empty[before]);
}

template <DType kType>
__device__ __forceinline__ void Consume(const GemmKernelArguments& arguments, int32_t consumer,
                                        const uint16_t* stages, StageBarriers* barriers) {
  const int32_t lane = static_cast<int32_t>(threadIdx.x) % 32;
  const int32_t warp = static_cast<int32_t>(threadIdx.x) / 32 % 4;
  RingPlace place;
  const int32_t last = arguments.units[blockIdx.x + 1];
  for (int32_t i = arguments.units[blockIdx.x]; i < last; ++i) {
    const GemmItem item = arguments.items[i];
    float sums[ptx::kWgmmaSums] = {};
    SumItem<kType>(item, consumer, stages, barriers, &place, sums);
    BV_UNROLL
    for (int e = 0; e < ptx::kWgmmaSums; ++e) {
      const int32_t row = consumer * 64 + warp * 16 + lane / 4 + e / 2 % 2 * 8;
      const int32_t column = e / 4 * 8 + lane % 4 * 2 + e % 2;
      StoreSum(arguments, item, item.out.m_begin + row, item.out.n_begin + column, sums[e]);
    }
  }
}

template <DType kType>
__global__ void __launch_bounds__(kThreads)
    GemmWgmmaKernel(const GemmKernelArguments arguments, const __grid_constant__ CUtensorMap x_map,
                    const __grid_constant__ CUtensorMap w_map) {
  BV_DYNAMIC_SHARED(shared);
  BV_STATIC_SHARED(StageBarriers, barriers);
  uint16_t* const stages = reinterpret_cast<uint16_t*>(shared);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::MbarrierInit(&barriers.full[s], 1);
      ptx::MbarrierInit(&barriers.empty[s], kConsumers * kGroupThreads / 32);
    }
    ptx::MbarrierInitFence();
  }
  __syncthreads();
  const int32_t group = static_cast<int32_t>(threadIdx.x) / kGroupThreads;
  if (group == kConsumers) {
    if (threadIdx.x % kGroupThreads == 0) Produce(arguments, &x_map, &w_map, stages, &barriers);
  } else {
    Consume<kType>(arguments, group, stages, &barriers);
  }
}

template <DType kType>
CudaStatus Launch(const GemmWork& work, const GemmKernelArguments& arguments, cudaStream_t stream) {
  CUtensorMap x_map, w_map;
  BV_CUDA_RETURN_IF_ERROR(MakeTensorMap(arguments.x, work.m, work.k, kTileM, &x_map));
  BV_CUDA_RETURN_IF_ERROR(MakeTensorMap(arguments.w, work.n, work.k, kTileN, &w_map));
  const auto kernel = &GemmWgmmaKernel<kType>;
  BV_CUDA_TRY(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<uint32_t>(work.units.size() - 1));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes;
  config.stream = stream;
  BV_CUDA_TRY(cudaLaunchKernelEx(&config, kernel, arguments, x_map, w_map));
  return {};
}

}  // namespace

CudaStatus LaunchGemmWgmma(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                           cudaStream_t stream) {
  int device = 0, major = 0, minor = 0;
  BV_CUDA_TRY(cudaGetDevice(&device));
  BV_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  BV_CUDA_TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  BV_CUDA_REQUIRE(major == 9 && minor == 0,
                  "wgmma is sm_90a's; this device is sm_" + std::to_string(10 * major + minor));
  return dtype == DType::kBf16 ? Launch<DType::kBf16>(work, arguments, stream)
                               : Launch<DType::kFp16>(work, arguments, stream);
}

}  // namespace batchvar
