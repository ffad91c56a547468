// The second kernel of a split GEMM: for every output it adds the partial sums in the order of the
// list, by single fp32 additions (__fadd_rn) and nothing else, rounds where the order says so, and
// stores. A thread has one column of its block's rectangle; neighbouring threads read neighbouring
// columns.
#include "kernels/cuda/gemm_kernels.h"
#include "kernels/cuda/gemm_tile.cuh"
#include "sim/numerics/exact_sum.h"

namespace batchvar {
namespace {

constexpr int kCombineThreads = kCombineColumns;
constexpr int kPairwiseLevels = 9;  // 256 sums, and one level for what has no neighbour yet

// Neighbours first, an odd one out waits: SumPairwise (sim/numerics/ordered_sum.h) without its
// recursion. level[l] holds a finished sum of 2^l neighbours where bit l of the count is set.
class PairwiseSum {
 public:
  __device__ __forceinline__ void Add(float value) {
    bool carried = true;
    BV_UNROLL
    for (int l = 0; l < kPairwiseLevels; ++l) {
      if (!carried) continue;
      if ((count_ >> l & 1) != 0) {
        value = __fadd_rn(level_[l], value);
      } else {
        level_[l] = value;
        carried = false;
      }
    }
    ++count_;
  }

  // What is left of the count's bits meets from the shortest stretch, the last one, up.
  __device__ __forceinline__ float Total() const {
    float total = 0.0f;
    bool begun = false;
    BV_UNROLL
    for (int l = 0; l < kPairwiseLevels; ++l) {
      if ((count_ >> l & 1) == 0) continue;
      total = begun ? __fadd_rn(level_[l], total) : level_[l];
      begun = true;
    }
    return total;
  }

 private:
  float level_[kPairwiseLevels] = {};
  uint32_t count_ = 0;
};

// The partial sums of one output, `stride` apart.
struct Partials {
  const float* first;
  int64_t stride;
  __device__ __forceinline__ float At(int32_t slot) const { return first[slot * stride]; }
};

// A butterfly whose farthest partners meet first is a pairwise sum of the slices with the bits of
// their numbers reversed.
__device__ __forceinline__ float ButterflyOfSlices(const Partials& partials, int32_t slices) {
  PairwiseSum sum;
  int32_t at = 0;
  for (int32_t i = 0; i < slices; ++i) {
    sum.Add(partials.At(at));
    int32_t bit = slices >> 1;
    while ((at & bit) != 0) {
      at ^= bit;
      bit >>= 1;
    }
    at |= bit;
  }
  return sum.Total();
}

// The sum of one piece: its slices, ascending, rounded to the partial type.
__device__ __forceinline__ float PieceSum(const Partials& partials, const CombineItem& item,
                                          int32_t piece) {
  const int32_t first = item.first_slot + piece * item.slices;
  float sum = partials.At(first);
  for (int32_t s = 1; s < item.slices; ++s) sum = __fadd_rn(sum, partials.At(first + s));
  return RoundTo(sum, item.partial);
}

// A running sum in 16 bits keeps the NaN that 16 bits widen to; every other one has fp32's.
template <Combine kCombine>
__device__ __forceinline__ float CombineOne(const Partials& partials, const CombineItem& item,
                                            DType output) {
  if constexpr (kCombine == Combine::kButterfly) {
    return CanonicalNan(RoundTo(ButterflyOfSlices(partials, item.slices), item.partial));
  } else if constexpr (kCombine == Combine::kPairwise) {
    PairwiseSum sum;
    for (int32_t p = 0; p < item.pieces; ++p) sum.Add(PieceSum(partials, item, p));
    return CanonicalNan(sum.Total());
  } else if constexpr (kCombine == Combine::kSerial16bit) {
    float sum = RoundTo(PieceSum(partials, item, 0), output);
    for (int32_t p = 1; p < item.pieces; ++p) {
      sum = RoundTo(__fadd_rn(sum, PieceSum(partials, item, p)), output);
    }
    return sum;
  } else if constexpr (kCombine == Combine::kExactSum) {
    WideAccumulator exact;
    float special = 0.0f;
    bool finite = true;
    for (int32_t p = 0; p < item.pieces; ++p) {
      const float sum = PieceSum(partials, item, p);
      if ((BitsOf(sum) & kFp32Infinity) == kFp32Infinity) {
        special = __fadd_rn(special, sum);
        finite = false;
      } else {
        exact.Add(sum);
      }
    }
    return finite ? exact.Rounded(output) : CanonicalNan(special);
  } else {  // kNone, kSerialFp32, kTurnstile
    float sum = PieceSum(partials, item, 0);
    for (int32_t p = 1; p < item.pieces; ++p) sum = __fadd_rn(sum, PieceSum(partials, item, p));
    return CanonicalNan(sum);
  }
}

template <Combine kCombine>
__global__ void __launch_bounds__(kCombineThreads)
    CombineKernel(const GemmKernelArguments arguments, const CombineItem* __restrict__ items) {
  const CombineItem item = items[blockIdx.x];
  const int32_t column = item.out.n_begin + static_cast<int32_t>(threadIdx.x);
  if (column >= item.out.n_end) return;
  for (int32_t row = item.out.m_begin; row < item.out.m_end; ++row) {
    const int64_t at = static_cast<int64_t>(row) * arguments.n + column;
    const Partials partials{arguments.partials + at,
                            static_cast<int64_t>(arguments.m) * arguments.n};
    const float sum = CombineOne<kCombine>(partials, item, arguments.output);
    if (arguments.sums != nullptr) arguments.sums[at] = sum;
    if (arguments.y != nullptr) arguments.y[at] = Narrow(sum, arguments.output);
  }
}

template <Combine kCombine>
CudaStatus Launch(size_t count, const CombineItem* combines, const GemmKernelArguments& arguments,
                  cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<uint32_t>(count));
  config.blockDim = dim3(kCombineThreads);
  config.stream = stream;
  BV_CUDA_TRY(cudaLaunchKernelEx(&config, &CombineKernel<kCombine>, arguments, combines));
  return {};
}

}  // namespace

CudaStatus LaunchCombine(const GemmWork& work, const CombineItem* combines,
                         const GemmKernelArguments& arguments, cudaStream_t stream) {
  const size_t count = work.combines.size();
  switch (work.combine) {
    case Combine::kPairwise: return Launch<Combine::kPairwise>(count, combines, arguments, stream);
    case Combine::kSerial16bit:
      return Launch<Combine::kSerial16bit>(count, combines, arguments, stream);
    case Combine::kButterfly:
      return Launch<Combine::kButterfly>(count, combines, arguments, stream);
    case Combine::kExactSum: return Launch<Combine::kExactSum>(count, combines, arguments, stream);
    default: return Launch<Combine::kSerialFp32>(count, combines, arguments, stream);
  }
}

}  // namespace batchvar
