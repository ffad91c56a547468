// GEMV without tensor cores, for a few rows of x: a group of `lanes` threads has one column of W^T
// and kRows rows. Lane s adds its vector of every block of lanes * vector_width elements, one
// product after another; then the lanes meet in a butterfly, the farthest partner first.
#include <bit>

#include "kernels/cuda/gemm_kernels.h"
#include "kernels/cuda/gemm_tile.cuh"

namespace batchvar {
namespace {

constexpr int kRows = 4;  // of x for each weight that is loaded
constexpr int kThreads = 256;

struct GemvLanes {
  int32_t lanes;         // 2^log2_lanes, at most kThreads
  int32_t log2_lanes;    // so that nothing is divided
  int32_t vector_width;  // elements of a lane in a block
};

template <DType kType, bool kAligned>
__device__ __forceinline__ void AddElements(const uint16_t* const (&x)[kRows], const uint16_t* w,
                                            int32_t begin, int32_t end, float (&sums)[kRows]) {
  int32_t k = begin;
  if constexpr (kAligned) {
    for (; k + kChunkWords <= end; k += kChunkWords) {
      const uint4 weights = *reinterpret_cast<const uint4*>(w + k);
      const uint32_t of_w[4] = {weights.x, weights.y, weights.z, weights.w};
      BV_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const uint4 row = *reinterpret_cast<const uint4*>(x[r] + k);
        const uint32_t of_x[4] = {row.x, row.y, row.z, row.w};
        BV_UNROLL
        for (int j = 0; j < kChunkWords; ++j) {
          sums[r] = __fmaf_rn(
              ptx::WidenWord<kType>(static_cast<uint16_t>(of_x[j / 2] >> j % 2 * 16)),
              ptx::WidenWord<kType>(static_cast<uint16_t>(of_w[j / 2] >> j % 2 * 16)), sums[r]);
        }
      }
    }
  }
  for (; k < end; ++k) {
    const float weight = ptx::WidenWord<kType>(w[k]);
    BV_UNROLL
    for (int r = 0; r < kRows; ++r)
      sums[r] = __fmaf_rn(ptx::WidenWord<kType>(x[r][k]), weight, sums[r]);
  }
}

// Every lane of a group ends with the group's sum. All threads of the block take part.
__device__ __forceinline__ void SumLanes(int32_t lanes, float (&sums)[kRows]) {
  using Meeting = float[kRows][kThreads];
  BV_STATIC_SHARED(Meeting, meeting);
  const int32_t thread = static_cast<int32_t>(threadIdx.x);
  int32_t distance = lanes / 2;
  for (; distance >= warpSize; distance /= 2) {
    BV_UNROLL
    for (int r = 0; r < kRows; ++r) meeting[r][thread] = sums[r];
    __syncthreads();
    BV_UNROLL
    for (int r = 0; r < kRows; ++r) sums[r] = __fadd_rn(sums[r], meeting[r][thread ^ distance]);
    __syncthreads();  // before the next round overwrites what a partner still reads
  }
  for (; distance > 0; distance /= 2) {
    BV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sums[r] = __fadd_rn(sums[r], __shfl_xor_sync(0xFFFFFFFF, sums[r], distance));
    }
  }
}

template <DType kType, bool kAligned>
__global__ void __launch_bounds__(kThreads)
    GemvKernel(const GemmKernelArguments arguments, const GemvLanes group) {
  const int32_t thread = static_cast<int32_t>(threadIdx.x);
  const int32_t lane = thread & (group.lanes - 1);
  const int32_t column = static_cast<int32_t>(blockIdx.x) * (kThreads >> group.log2_lanes) +
                         (thread >> group.log2_lanes);
  const int32_t row = static_cast<int32_t>(blockIdx.y) * kRows;
  // Groups and rows beyond the edge repeat the last one and store nothing.
  const int32_t read_column = column < arguments.n ? column : arguments.n - 1;
  const uint16_t* w = arguments.w + static_cast<int64_t>(read_column) * arguments.k;
  const uint16_t* x[kRows];
  BV_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const int32_t read_row = row + r < arguments.m ? row + r : arguments.m - 1;
    x[r] = arguments.x + static_cast<int64_t>(read_row) * arguments.k;
  }

  float sums[kRows] = {};
  const int64_t block = static_cast<int64_t>(group.lanes) * group.vector_width;
  for (int64_t k = static_cast<int64_t>(lane) * group.vector_width; k < arguments.k; k += block) {
    const int32_t begin = static_cast<int32_t>(k);
    const int32_t end =
        arguments.k - begin < group.vector_width ? arguments.k : begin + group.vector_width;
    AddElements<kType, kAligned>(x, w, begin, end, sums);
  }
  SumLanes(group.lanes, sums);

  if (lane != 0 || column >= arguments.n) return;
  BV_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (row + r >= arguments.m) continue;
    const int64_t at = static_cast<int64_t>(row + r) * arguments.n + column;
    const float sum = CanonicalNan(sums[r]);
    if (arguments.sums != nullptr) arguments.sums[at] = sum;
    if (arguments.y != nullptr) arguments.y[at] = Narrow(sum, arguments.output);
  }
}

template <DType kType, bool kAligned>
CudaStatus Launch(const GemvLanes& group, const GemmKernelArguments& arguments,
                  cudaStream_t stream) {
  const uint32_t columns = static_cast<uint32_t>(kThreads / group.lanes);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((static_cast<uint32_t>(arguments.n) + columns - 1) / columns,
                        (static_cast<uint32_t>(arguments.m) + kRows - 1) / kRows);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  BV_CUDA_TRY(cudaLaunchKernelEx(&config, &GemvKernel<kType, kAligned>, arguments, group));
  return {};
}

}  // namespace

CudaStatus LaunchGemv(const GemmWork& work, DType dtype, const GemmKernelArguments& arguments,
                      cudaStream_t stream) {
  const GemvLanes group{work.lanes, std::countr_zero(static_cast<uint32_t>(work.lanes)),
                        work.vector_width};
  const bool aligned = work.k % kChunkWords == 0 && work.vector_width % kChunkWords == 0;
  if (dtype == DType::kBf16) {
    return aligned ? Launch<DType::kBf16, true>(group, arguments, stream)
                   : Launch<DType::kBf16, false>(group, arguments, stream);
  }
  return aligned ? Launch<DType::kFp16, true>(group, arguments, stream)
                 : Launch<DType::kFp16, false>(group, arguments, stream);
}

}  // namespace batchvar
