// An Order says in which order the products of ONE output element are summed. It is the only thing
// that decides bits: two outputs with equal orders and equal inputs have equal bits, whatever the
// tiles, the grid or the neighbours. Both executors walk it; nothing else may decide an order.
//
// Invariant (BV_CHECKed by sim/plan where plans are made): `pieces` are disjoint, cover [0, K)
// or [0, kv_len) exactly once, and stand in the order in which their partial sums are combined.
#ifndef BATCHVAR_SIM_NUMERICS_ORDER_H_
#define BATCHVAR_SIM_NUMERICS_ORDER_H_

#include <cstdint>
#include <vector>

#include "sim/numerics/dtype.h"

namespace batchvar {

// Half-open range of K, of KV positions, or of tiles.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const Range& a, const Range& b) = default;
};

// The instruction that accumulates inside a piece. Families differ in how many products one
// instruction fuses and how it aligns them, so the family is part of the order.
// The values enter class digests: append, never renumber.
enum class Arithmetic : uint8_t {
  kMmaSm80 = 0,    // mma.sync, 8 products fused (Ampere, Ada)
  kMmaSm90 = 1,    // mma.sync, wgmma, tcgen05: 16 products fused, one function for 16-bit operands
                   // on Hopper and Blackwell
  kMmaSm100 = 2,   // kept for operands for which Blackwell differs (fp8)
  kFmaChain = 3,   // one fp32 fused multiply-add after another
  kRowBlocks = 4,  // row reduction: strided per-thread sums, then a tree (norms)
  kRankSum = 5,    // all-reduce: fp32 sum over ranks
};

constexpr const char* ArithmeticName(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kMmaSm80: return "mma_sm80";
    case Arithmetic::kMmaSm90: return "mma_sm90";
    case Arithmetic::kMmaSm100: return "mma_sm100";
    case Arithmetic::kFmaChain: return "fma_chain";
    case Arithmetic::kRowBlocks: return "row_blocks";
    case Arithmetic::kRankSum: return "rank_sum";
  }
  return "?";
}

// How the partial sums of the pieces meet. The values enter class digests: append only.
enum class Combine : uint8_t {
  kNone = 0,         // one piece
  kSerialFp32 = 1,   // fp32 partials added in list order, one rounding at the end
  kSerial16bit = 2,  // the running sum is rounded to 16 bits after every piece
  kPairwise = 3,
  kTurnstile = 4,  // stream-K: ((p0 + p1) + p2) + ..., the last piece adds the workspace
  kLse = 5,        // attention: rescaled by log-sum-exp, added in list order; each partial result
                   // is first rounded to `partial`
  kExactSum = 6,   // all-reduce in a switch: the exact sum, rounded once
  kChained = 7,    // attention: one running state over all pieces, blocks begin anew in each
  kButterfly = 8,  // one piece: its slices meet in an XOR butterfly, farthest partner first (GEMV)
};

constexpr const char* CombineName(Combine combine) {
  switch (combine) {
    case Combine::kNone: return "none";
    case Combine::kSerialFp32: return "serial_fp32";
    case Combine::kSerial16bit: return "serial_16bit";
    case Combine::kPairwise: return "pairwise";
    case Combine::kTurnstile: return "turnstile";
    case Combine::kLse: return "lse";
    case Combine::kButterfly: return "butterfly";
    case Combine::kExactSum: return "exact_sum";
    case Combine::kChained: return "chained";
  }
  return "?";
}

struct Order {
  Arithmetic arithmetic = Arithmetic::kMmaSm90;
  Combine combine = Combine::kNone;
  DType partial = DType::kFp32;  // type in which a piece's sum is kept until it is combined
  DType output = DType::kBf16;   // type of the single final rounding
  int32_t block = 0;             // elements that one inner block spans where that changes bits
                                 // (attention block_n, norm threads); 0 for chained accumulators
  std::vector<Range> pieces;
  // Accumulators that share a piece: slice s sums elements [s, s + 1) * block / slice_k of every
  // block. Slices are added in ascending order (slice-K: warps along K), or
  // meet in a butterfly (the lanes of a GEMV).
  int32_t slice_k = 1;
  int32_t instr_k = 0;  // products of one instruction where they are not the family's own; else 0
  // Attention: blocks are counted from a piece's begin and walked from the highest down to it.
  bool descending = false;
  // Attention with kLse: > 0 when lane r of so many first merges pieces r, r + lanes, ... in order,
  // then lanes 0, 1, ... are merged; 0 when pieces are merged in list order.
  int32_t combine_lanes = 0;
  friend bool operator==(const Order& a, const Order& b) = default;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_ORDER_H_
