// The reference kernels: the scalar definitions of sim/numerics, lane by lane.
#include <algorithm>

#include "kernels/cpu/gemm_kernel.h"
#include "sim/base/check.h"
#include "sim/numerics/ordered_dot.h"

namespace batchvar {

namespace {

MmaModel ModelOf(const KernelCall& call) {
  return {call.fused, call.fraction_bits, call.floor_exponent, kFp32FractionBits};
}

DotOperands LaneOf(const KernelCall& call, int32_t row, int32_t column) {
  // ChainFused and ChainFma count from k_begin, as the panel pointer does.
  return {call.dtype, call.x[row] + call.k_begin, 1, call.words + PanelWord(column, call.dtype),
          kPanelColumns};
}

void AddFused(const KernelCall& call) {
  for (int32_t row = 0; row < call.num_rows; ++row) {
    for (int32_t column = 0; column < kPanelColumns; ++column) {
      float& sum = call.sums[row * call.sums_stride + column];
      sum = ChainFused(ModelOf(call), LaneOf(call, row, column), 0, call.k_end - call.k_begin, sum);
    }
  }
}

void AddChain(const KernelCall& call) {
  for (int32_t row = 0; row < call.num_rows; ++row) {
    for (int32_t column = 0; column < kPanelColumns; ++column) {
      float& sum = call.sums[row * call.sums_stride + column];
      sum = ChainFma(LaneOf(call, row, column), 0, call.k_end - call.k_begin, sum);
    }
  }
}

}  // namespace

float RedoLane(const KernelCall& call, int64_t block, int32_t row, int32_t column, float c) {
  const int64_t begin = block * call.fused;
  const int64_t end = std::min(begin + call.fused, call.k_end - call.k_begin);
  return ChainFused(ModelOf(call), LaneOf(call, row, column), begin, end, c);
}

const GemmKernels kScalarGemmKernels = {kMaxRowsPerCall, false, AddFused, AddChain, nullptr};

const GemmKernels& GemmKernelsOf(Isa isa) {
  BV_CHECK(HasIsa(isa));
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return kAvx2GemmKernels;
  if (isa == Isa::kAvx512) return kAvx512GemmKernels;
#endif
  return kScalarGemmKernels;
}

}  // namespace batchvar
