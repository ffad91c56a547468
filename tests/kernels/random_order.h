// Random Orders of GEMMs: every arithmetic, combine, slicing and width that plans make, and odd
// ones that they do not. Used by the tests of the executors.
#ifndef BATCHVAR_TESTS_KERNELS_RANDOM_ORDER_H_
#define BATCHVAR_TESTS_KERNELS_RANDOM_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/rng.h"
#include "sim/numerics/order.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {

// Disjoint pieces that cover [0, k), cut at multiples of `grain`, in a random order.
inline std::vector<Range> RandomPieces(int64_t k, int64_t count, int64_t grain,
                                       RandomStream* random) {
  std::vector<int64_t> cuts = {0, k};
  for (int64_t i = 1; i < count; ++i) {
    cuts.push_back(std::min<int64_t>(k, random->NextBelow(k / grain + 1) * grain));
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<Range> pieces;
  for (size_t i = 1; i < cuts.size(); ++i) pieces.push_back({cuts[i - 1], cuts[i]});
  for (size_t i = pieces.size() - 1; i > 0; --i) {
    std::swap(pieces[i], pieces[random->NextBelow(i + 1)]);
  }
  return pieces;
}

inline Order RandomOrder(int64_t k, DType dtype, RandomStream* random) {
  constexpr Arithmetic kArithmetics[] = {Arithmetic::kMmaSm80, Arithmetic::kMmaSm90,
                                         Arithmetic::kMmaSm100, Arithmetic::kFmaChain};
  constexpr Combine kCombines[] = {Combine::kSerialFp32, Combine::kSerial16bit, Combine::kPairwise,
                                   Combine::kTurnstile};
  constexpr int64_t kGrains[] = {1, 5, 16, 32};
  constexpr int32_t kWidths[] = {0, 0, 0, 8, 4, 2, 5};
  Order order;
  order.arithmetic = kArithmetics[random->NextBelow(4)];
  order.output = dtype;
  order.pieces = {{0, k}};
  if (IsMma(order.arithmetic)) order.instr_k = kWidths[random->NextBelow(7)];
  switch (random->NextBelow(4)) {
    case 0: break;  // one piece
    case 1:         // slices in one piece: slice-K, or the lanes of a GEMV
      order.slice_k = 1 << random->NextBelow(6);
      order.block = order.slice_k * static_cast<int32_t>(8 << random->NextBelow(2));
      if (random->NextBelow(2) == 0) order.combine = Combine::kButterfly;
      break;
    default:
      order.pieces =
          RandomPieces(k, 2 + random->NextBelow(7), kGrains[random->NextBelow(4)], random);
      order.combine = kCombines[random->NextBelow(4)];
      if (random->NextBelow(3) == 0) order.partial = dtype;
      if (random->NextBelow(4) == 0) {
        order.slice_k = 2;
        order.block = 64;
      }
  }
  return order;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_KERNELS_RANDOM_ORDER_H_
