// What an Order means for one output element of a GEMM: the scalar definition that every faster
// executor must equal bit for bit. Reference speed; the fast ones are in kernels/.
//
// Inside a piece a tensor-core order chains fused dot-product-adds over ascending k from c = +0,
// counted from the piece's begin; products that are missing at the piece's end are zeros, which
// change nothing. An order without tensor cores chains fp32 fused multiply-adds instead.
#ifndef BATCHVAR_SIM_NUMERICS_ORDERED_DOT_H_
#define BATCHVAR_SIM_NUMERICS_ORDERED_DOT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/numerics/elementary.h"
#include "sim/numerics/order.h"
#include "sim/numerics/ordered_sum.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {

// Operands of one output element: a row of activations and a column of weights, 16-bit words of
// `dtype` (bf16 or fp16), strides in elements.
struct DotOperands {
  DType dtype = DType::kBf16;
  const uint16_t* a = nullptr;
  int64_t a_stride = 1;
  const uint16_t* b = nullptr;
  int64_t b_stride = 1;
};

// Adds products [begin, end) to `sum` (fp32), one instruction after another.
inline float ChainFused(const MmaModel& model, const DotOperands& x, int64_t begin, int64_t end,
                        float sum) {
  uint32_t bits = BitsOf(sum);
  int64_t k = begin;
  for (; k + model.fused <= end; k += model.fused) {
    bits = FusedDotAdd(model, x.dtype, x.a + k * x.a_stride, x.a_stride, x.b + k * x.b_stride,
                       x.b_stride, bits);
  }
  if (k == end) return FloatOf(bits);
  uint16_t a[32] = {};
  uint16_t b[32] = {};
  for (int64_t i = 0; k + i < end; ++i) {
    a[i] = x.a[(k + i) * x.a_stride];
    b[i] = x.b[(k + i) * x.b_stride];
  }
  return FloatOf(FusedDotAdd(model, x.dtype, a, 1, b, 1, bits));
}

inline float ChainFma(const DotOperands& x, int64_t begin, int64_t end, float sum) {
  for (int64_t k = begin; k < end; ++k) {
    sum = FusedMultiplyAdd(Widen(x.a[k * x.a_stride], x.dtype), Widen(x.b[k * x.b_stride], x.dtype),
                           sum);
  }
  return CanonicalNan(sum);
}

inline float Chain(const Order& order, const DotOperands& x, int64_t begin, int64_t end,
                   float sum) {
  if (!IsMma(order.arithmetic)) return ChainFma(x, begin, end, sum);
  return ChainFused(MmaModelOf(order.arithmetic, order.instr_k), x, begin, end, sum);
}

// The fp32 sum of one piece. With slice_k > 1, slice s sums its stretch of every block, and the
// slices then meet: ascending, or in a butterfly.
inline float SumOfPiece(const Order& order, const DotOperands& x, const Range& piece) {
  if (order.slice_k <= 1) return Chain(order, x, piece.begin, piece.end, 0.0f);
  std::vector<float> slices(order.slice_k, 0.0f);
  const int64_t stretch = order.block / order.slice_k;
  for (int64_t block = piece.begin; block < piece.end; block += order.block) {
    for (int32_t s = 0; s < order.slice_k; ++s) {
      const int64_t begin = std::min(block + s * stretch, piece.end);
      const int64_t end = std::min(begin + stretch, piece.end);
      if (begin < end) slices[s] = Chain(order, x, begin, end, slices[s]);
    }
  }
  if (order.combine == Combine::kButterfly) return SumButterfly(slices.data(), order.slice_k);
  return SumSerial(slices.data(), 1, order.slice_k);
}

// The output element before its rounding to order.output (RoundTo); with kSerial16bit it is
// rounded already.
inline float OrderedDot(const Order& order, const DotOperands& x) {
  std::vector<float> partials;
  partials.reserve(order.pieces.size());
  for (const Range& piece : order.pieces) {
    partials.push_back(RoundTo(SumOfPiece(order, x, piece), order.combine == Combine::kSerial16bit
                                                                ? DType::kFp32
                                                                : order.partial));
  }
  return CombinePartials(order.combine, order.output, partials.data(), 1,
                         static_cast<int64_t>(partials.size()));
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_ORDERED_DOT_H_
