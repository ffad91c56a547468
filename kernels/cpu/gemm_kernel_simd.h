// The vector kernels, written once over a set of operations V (gemm_kernel_avx2.cc and _avx512.cc
// define one each in an unnamed namespace, so nothing here is shared between them).
//
// Why it is exact. In a lane, let e be the largest exponent of the block's products and of c, and
// shift = F - e. Multiplying a product by 2^shift is an integer addition to its exponent field, and
// converting the result to int32 is the truncation toward zero that the tensor core does. For
// 0 <= shift <= F + 100 nothing overflows on the way; a product that fp32 cannot hold exactly, or
// one that is 0, lies below the last place and converts to 0 as it should. The sum of at most 16
// products stays below 2^31; adding c may not, which is tested. Outside this range the scalar
// reference redoes the lane, except where all products are 0: c is then the result.
#ifndef BATCHVAR_KERNELS_CPU_GEMM_KERNEL_SIMD_H_
#define BATCHVAR_KERNELS_CPU_GEMM_KERNEL_SIMD_H_

#include "kernels/cpu/gemm_kernel.h"

namespace batchvar {

constexpr int32_t kLowestExactExponent = -100;
// |sum + c| from here on may have wrapped around 2^31; |c| alone is below 2^26.
constexpr uint32_t kWrapMargin = 1u << 27;

// R rows, P vectors of words (2 P vectors of columns), L products a block. kWide: the panel comes
// widened. `part` is the first vector of words.
template <typename V, int R, int P, int L, DType kType, bool kWide>
struct FusedTile {
  using F = typename V::F;
  using I = typename V::I;
  static constexpr int N = 2 * P;
  static constexpr int kWordsPerRow = kPanelColumns / 2;  // of 32 bits
  static constexpr bool kMayWrap = L == 16;

  // Few rows read a panel at the speed of memory, and the hardware's prefetchers stop at pages.
  static constexpr bool kPrefetch = !kWide && R <= 2;
  static constexpr int64_t kPrefetchRows = 64;  // of 64 bytes

  const KernelCall& call;
  int part;

  void Prefetch(int64_t k) const {
    __builtin_prefetch(call.words + (k + kPrefetchRows) * kPanelColumns);
  }

  // First column of vector n: bf16 takes the low halves of word vector n / 2, then the high ones;
  // fp16 its first words, then its last.
  int ColumnOf(int n) const {
    if constexpr (kType == DType::kFp16) return (2 * part + n) * V::kLanes;
    return (part + n / 2) * V::kLanes + (n % 2) * (kPanelColumns / 2);
  }

  const uint16_t* WordsAt(int64_t k, int p) const {
    return call.words + k * kPanelColumns + (part + p) * V::kLanes * 2;
  }

  // Row k of the panel as floats.
  [[gnu::always_inline]] void Columns(int64_t k, F (&b)[N]) const {
    if constexpr (kWide) {
      for (int n = 0; n < N; ++n) {
        b[n] = V::LoadFloats(call.wide.values + k * kPanelColumns + ColumnOf(n));
      }
    } else {
      for (int p = 0; p < P; ++p) {
        V::template Widen<kType>(WordsAt(k, p), &b[2 * p], &b[2 * p + 1]);
      }
    }
  }

  // Exponent bytes of rows k (low byte of each 16-bit word) and k + 1 (high byte); 0 for a zero.
  [[gnu::always_inline]] I ExponentsAt(int64_t k, int p) const {
    if constexpr (kWide) {
      return V::Load(call.wide.exponents + k / 2 * kWordsPerRow + (part + p) * V::kLanes);
    } else {
      return V::template PairExponents<kType>(V::Load(WordsAt(k, p)), V::Load(WordsAt(k + 1, p)));
    }
  }

  // Per 16-bit word of the panel, the largest of (exponent byte - shortfall) of even k in the low
  // byte and of odd k in the high one.
  [[gnu::always_inline]] void LargestExponents(int64_t k, const uint32_t* block,
                                               I (&largest)[R][P]) const {
    for (int r = 0; r < R; ++r) {
      for (int p = 0; p < P; ++p) largest[r][p] = V::Zero();
    }
    for (int i = 0; i < L / 2; ++i) {
      for (int p = 0; p < P; ++p) {
        const I pair = ExponentsAt(k + 2 * i, p);
        for (int r = 0; r < R; ++r) {
          const I shortfall = V::Broadcast(block + L * R + i * R + r);
          largest[r][p] = V::MaxU8(largest[r][p], V::SubtractSaturatedU8(pair, shortfall));
        }
      }
    }
  }

  // F - exponent of every lane of row r.
  [[gnu::always_inline]] void Shifts(const I (&largest)[P], const F (&c)[N], const uint32_t* base,
                                     I (&shift)[N]) const {
    for (int p = 0; p < P; ++p) {
      const I both = V::MaxU8(largest[p], V::template ShiftRight16<8>(largest[p]));
      I halves[2];
      V::template Split<kType>(both, &halves[0], &halves[1]);
      for (int h = 0; h < 2; ++h) {
        const I byte = V::And(halves[h], V::Set(0xFF));
        const I of_c = V::template ShiftRight<24>(V::template ShiftLeft<1>(V::Bits(c[2 * p + h])));
        const I field = V::Max(V::Add(byte, V::Broadcast(base)), of_c);
        shift[2 * p + h] = V::Subtract(V::Set(call.fraction_bits + 127), field);
      }
    }
  }

  [[gnu::always_inline]] void AddProducts(int64_t k, const uint32_t* block, const I (&scale)[R][N],
                                          I (&sum)[R][N]) const {
    for (int r = 0; r < R; ++r) {
      for (int n = 0; n < N; ++n) sum[r][n] = V::Zero();
    }
    for (int i = 0; i < L; ++i) {
      F b[N];
      if constexpr (kPrefetch) Prefetch(k + i);  // here, where the loads are far between
      Columns(k + i, b);
      for (int r = 0; r < R; ++r) {
        const F a = V::Float(V::Broadcast(block + i * R + r));
        for (int n = 0; n < N; ++n) {
          sum[r][n] = V::Add(sum[r][n], V::Truncate(V::Scaled(V::Multiply(a, b[n]), scale[r][n])));
        }
      }
    }
  }

  // One block: next = sums of c and its products. False if some lane may be inexact.
  [[gnu::always_inline]] bool AddBlock(int64_t k, const uint32_t* block, const F (&c)[R][N],
                                       F (&next)[R][N]) const {
    I largest[R][P], scale[R][N], sum[R][N];
    I worst_shift = V::Zero(), worst_sum = V::Zero();
    LargestExponents(k, block, largest);
    for (int r = 0; r < R; ++r) {
      I shift[N];
      Shifts(largest[r], c[r], block + (L + L / 2) * R + r, shift);
      for (int n = 0; n < N; ++n) {
        worst_shift = V::MaxU32(worst_shift, shift[n]);  // a negative one is the largest
        scale[r][n] = V::template ShiftLeft<23>(shift[n]);
      }
    }
    AddProducts(k, block, scale, sum);
    for (int r = 0; r < R; ++r) {
      for (int n = 0; n < N; ++n) {
        const I total = V::Add(sum[r][n], V::Truncate(V::Scaled(c[r][n], scale[r][n])));
        if constexpr (kMayWrap) {
          worst_sum = V::MaxU32(worst_sum, V::Add(total, V::Set((1u << 31) - kWrapMargin)));
        }
        next[r][n] = V::Unscaled(total, scale[r][n]);
      }
    }
    const int32_t most = call.fraction_bits - kLowestExactExponent;
    return V::AllAtMost(worst_shift, most) &&
           (!kMayWrap || V::AllAtMost(worst_sum, -2 * kWrapMargin - 1));
  }

  // Repairs the lanes of a block that AddBlock could not vouch for. Out of line: it is rare, and
  // its registers should not cost the loop any.
  [[gnu::noinline]] void Repair(int64_t block_index, const uint32_t* block, const F (&c)[R][N],
                                F (&next)[R][N]) const {
    const int64_t k = block_index * call.fused;
    I largest[R][P];
    LargestExponents(k, block, largest);
    for (int r = 0; r < R; ++r) {
      const uint32_t* base = block + (L + L / 2) * R + r;
      const bool has_products = static_cast<int32_t>(*base) != kScalarBase;
      I shift[N], nonzero[N];
      Shifts(largest[r], c[r], base, shift);
      NonzeroProducts(k, base[R], nonzero);
      for (int n = 0; n < N; ++n) {
        alignas(64) uint32_t redo[V::kLanes];
        alignas(64) float lanes[V::kLanes];
        const I outside =
            V::GreaterU32(shift[n], V::Set(call.fraction_bits - kLowestExactExponent));
        // All products are 0 and c is finite: the result is c, and +0 for a c of -0.
        I zero = V::Zero();
        if (has_products) zero = V::ZeroProductLanes(outside, nonzero[n], V::Bits(c[r][n]));
        next[r][n] = V::Float(V::Select(zero, V::Bits(V::AddFloats(c[r][n], V::Float(V::Zero()))),
                                        V::Bits(next[r][n])));
        I again = V::AndNot(zero, outside);
        if constexpr (kMayWrap) {
          // |next| * 2^shift as a float again: is the sum near 2^31?
          const I size = V::And(V::Scaled(next[r][n], V::template ShiftLeft<23>(shift[n])),
                                V::Set(0x7FFFFFFF));
          again = V::Or(again, V::AndNot(zero, V::GreaterU32(size, V::Set(0x4EEFFFFF))));
        }
        V::Store(redo, again);
        V::StoreFloats(lanes, next[r][n]);
        RedoLanes(block_index, r, n, c[r][n], redo, lanes);
        next[r][n] = V::LoadFloats(lanes);
      }
    }
  }

  // Lanes of nonzero[n] are 0 where every product of the block is.
  void NonzeroProducts(int64_t k, uint32_t nonzero_rows, I (&nonzero)[N]) const {
    for (int p = 0; p < P; ++p) {
      I words = V::Zero();
      for (int i = 0; i < L; ++i) {
        if ((nonzero_rows >> i & 1) != 0) words = V::Or(words, V::Load(WordsAt(k + i, p)));
      }
      words = V::And(words, V::Set(0x7FFF7FFF));
      V::template Split<kType>(words, &nonzero[2 * p], &nonzero[2 * p + 1]);
    }
  }

  void RedoLanes(int64_t block_index, int r, int n, F c, const uint32_t* redo, float* lanes) const {
    alignas(64) float before[V::kLanes];
    V::StoreFloats(before, c);
    for (int lane = 0; lane < V::kLanes; ++lane) {
      if (redo[lane] == 0) continue;
      lanes[lane] = RedoLane(call, block_index, r, ColumnOf(n) + lane, before[lane]);
      ++*call.fallbacks;
    }
  }

  void Run() const {
    const int64_t num_blocks = (call.k_end - call.k_begin + call.fused - 1) / call.fused;
    const uint32_t* block = call.blocks;
    F c[R][N];
    for (int r = 0; r < R; ++r) {
      for (int n = 0; n < N; ++n) {
        c[r][n] = V::LoadFloats(call.sums + r * call.sums_stride + ColumnOf(n));
      }
    }
    for (int64_t i = 0; i < num_blocks; ++i, block += RowBlockWords(L) * R) {
      F next[R][N];
      if (!AddBlock(i * call.fused, block, c, next)) [[unlikely]]
        Repair(i, block, c, next);
      for (int r = 0; r < R; ++r) {
        for (int n = 0; n < N; ++n) c[r][n] = next[r][n];
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int n = 0; n < N; ++n) {
        V::StoreFloats(call.sums + r * call.sums_stride + ColumnOf(n), c[r][n]);
      }
    }
  }
};

// The fp32 FMA chain over the same tile; its blocks hold values[k][R] only.
template <typename V, int R, int P, DType kType, bool kWide>
void ChainTile(const KernelCall& call, int part) {
  constexpr int N = 2 * P;
  const FusedTile<V, R, P, 16, kType, kWide> at{call, part};
  typename V::F c[R][N];
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) {
      c[r][n] = V::LoadFloats(call.sums + r * call.sums_stride + at.ColumnOf(n));
    }
  }
  for (int64_t k = 0; k < call.k_end - call.k_begin; ++k) {
    typename V::F b[N];
    if constexpr (at.kPrefetch) at.Prefetch(k);
    at.Columns(k, b);
    for (int r = 0; r < R; ++r) {
      const typename V::F a = V::Float(V::Broadcast(call.blocks + k * R + r));
      for (int n = 0; n < N; ++n) c[r][n] = V::MultiplyAdd(a, b[n], c[r][n]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) {
      V::StoreFloats(call.sums + r * call.sums_stride + at.ColumnOf(n), V::Canonical(c[r][n]));
    }
  }
}

// From run-time numbers to the instances. One or two rows take several word vectors at once where
// the instruction set is short of independent chains.
template <typename V, int R, bool kWide>
constexpr int kPartsOf = !kWide && R <= 2 ? V::kFewRowsParts : 1;

template <typename V, int R, DType kType, bool kWide>
void FusedRows(const KernelCall& call) {
  constexpr int P = kPartsOf<V, R, kWide>;
  for (int part = 0; part < 16 / V::kLanes; part += P) {
    if (call.padded == 16) FusedTile<V, R, P, 16, kType, kWide>{call, part}.Run();
    if (call.padded == 8) FusedTile<V, R, P, 8, kType, kWide>{call, part}.Run();
    if (call.padded == 4) FusedTile<V, R, P, 4, kType, kWide>{call, part}.Run();
  }
}

template <typename V, int R, DType kType, bool kWide>
void ChainRows(const KernelCall& call) {
  constexpr int P = kPartsOf<V, R, kWide>;
  for (int part = 0; part < 16 / V::kLanes; part += P) {
    ChainTile<V, R, P, kType, kWide>(call, part);
  }
}

template <typename V, DType kType, int R = 1>
void AddFusedRows(const KernelCall& call) {
  if (call.num_rows == R) {
    return call.wide.values != nullptr ? FusedRows<V, R, kType, true>(call)
                                       : FusedRows<V, R, kType, false>(call);
  }
  if constexpr (R < V::kMostRows) AddFusedRows<V, kType, R + 1>(call);
}

template <typename V, DType kType, int R = 1>
void AddChainRows(const KernelCall& call) {
  if (call.num_rows == R) {
    return call.wide.values != nullptr ? ChainRows<V, R, kType, true>(call)
                                       : ChainRows<V, R, kType, false>(call);
  }
  if constexpr (R < V::kMostRows) AddChainRows<V, kType, R + 1>(call);
}

template <typename V>
void AddFused(const KernelCall& call) {
  if (call.dtype == DType::kFp16) return AddFusedRows<V, DType::kFp16>(call);
  AddFusedRows<V, DType::kBf16>(call);
}

template <typename V>
void AddChain(const KernelCall& call) {
  if (call.dtype == DType::kFp16) return AddChainRows<V, DType::kFp16>(call);
  AddChainRows<V, DType::kBf16>(call);
}

template <typename V, DType kType>
void WidenPanel(const uint16_t* words, int64_t rows, float* values, uint32_t* exponents) {
  using Tile = FusedTile<V, 1, 16 / V::kLanes, 16, kType, false>;
  KernelCall call;
  call.words = words;
  const Tile tile{call, 0};
  for (int64_t k = 0; k < rows; ++k) {
    typename V::F b[Tile::N];
    tile.Columns(k, b);
    for (int n = 0; n < Tile::N; ++n) {
      V::StoreFloats(values + k * kPanelColumns + tile.ColumnOf(n), b[n]);
    }
  }
  for (int64_t k = 0; k < rows; k += 2) {
    for (int p = 0; p < Tile::N / 2; ++p) {
      V::Store(exponents + k / 2 * 16 + p * V::kLanes, tile.ExponentsAt(k, p));
    }
  }
}

template <typename V>
void WidenRows(const uint16_t* words, int64_t rows, DType dtype, float* values,
               uint32_t* exponents) {
  if (dtype == DType::kFp16) {
    WidenPanel<V, DType::kFp16>(words, rows, values, exponents);
  } else {
    WidenPanel<V, DType::kBf16>(words, rows, values, exponents);
  }
}

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_GEMM_KERNEL_SIMD_H_
