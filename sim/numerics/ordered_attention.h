// What an Order means for one query row of one attention head. Scalar, the definition that every
// faster executor must equal bit for bit.
//
// A piece of KV is walked in blocks of `order.block` positions counted from its begin, from the
// highest block down if `descending`. For each block, with the running maximum m, sum l and
// output vector o (online softmax):
//
//   s_j  = scale * (q . k_j)             the dot product chained over head_dim from +0
//   m'   = max(m, max s_j),  p_j = Exp(s_j - m'),  r = Exp(m - m')
//   l    = fma(l, r, sum p_j)            32 lanes take positions j, j + 32, ...; then a butterfly
//   o    = o * r, then chained over the block's positions with p_j and v_j
//
// Tensor-core orders round p_j to the 16-bit type before it meets v_j; an FMA-chain order keeps it
// in fp32. A piece ends as (m, l, o / l). kChained runs one state over all pieces. kLse merges:
// with M the largest m and w = l * Exp(m - M), the output is the sum of (w / sum w) * o over the
// pieces, products and sums rounded one by one, in list order or lane by lane (combine_lanes).
// A lone piece is therefore returned as it is.
#ifndef BATCHVAR_SIM_NUMERICS_ORDERED_ATTENTION_H_
#define BATCHVAR_SIM_NUMERICS_ORDERED_ATTENTION_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/numerics/elementary.h"
#include "sim/numerics/order.h"
#include "sim/numerics/ordered_dot.h"

namespace batchvar {

inline constexpr int32_t kSoftmaxLanes = 32;

// One head's view: q[head_dim]; position j's key at k + KvOffset(j), its value at v + KvOffset(j).
// 16-bit words of `dtype`. Positions stand kv_stride elements apart, one after another or in the
// blocks of a paged cache: where they lie never changes a bit.
struct AttentionOperands {
  DType dtype = DType::kBf16;
  int32_t head_dim = 0;
  float scale = 1.0f;
  const uint16_t* q = nullptr;
  const uint16_t* k = nullptr;
  const uint16_t* v = nullptr;
  int64_t kv_stride = 0;
  const int32_t* block_table = nullptr;  // by block of the request: which one of the cache it is
  int32_t block_size = 0;                // positions; of use with a table only

  int64_t KvOffset(int64_t position) const {
    if (block_table == nullptr) return position * kv_stride;
    const int64_t block = block_table[position / block_size];
    return (block * block_size + position % block_size) * kv_stride;
  }
};

struct SoftmaxState {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0.0f;
  std::vector<float> output;  // head_dim
};

// Sum of a block's probabilities.
inline float SumProbabilities(const float* p, int64_t count) {
  float lanes[kSoftmaxLanes] = {};
  for (int64_t j = 0; j < count; ++j) lanes[j % kSoftmaxLanes] += p[j];
  return SumButterfly(lanes, kSoftmaxLanes);
}

// o[d] chained over p_j * v_j[d] for the positions of one block.
inline float ChainValues(const Order& order, const AttentionOperands& x, const float* p,
                         const Range& block, int32_t d, float sum) {
  const int64_t count = block.end - block.begin;
  const auto value_of = [&](int64_t j) { return x.v[x.KvOffset(block.begin + j) + d]; };
  if (!IsMma(order.arithmetic)) {
    for (int64_t j = 0; j < count; ++j) {
      sum = FusedMultiplyAdd(p[j], Widen(value_of(j), x.dtype), sum);
    }
    return CanonicalNan(sum);
  }
  std::vector<uint16_t> rounded(count), values(count);
  for (int64_t j = 0; j < count; ++j) {
    rounded[j] = Narrow(p[j], x.dtype);
    values[j] = value_of(j);
  }
  return Chain(order, {x.dtype, rounded.data(), 1, values.data(), 1}, 0, count, sum);
}

inline void VisitBlock(const Order& order, const AttentionOperands& x, const Range& block,
                       SoftmaxState* state) {
  const int64_t count = block.end - block.begin;
  std::vector<float> p(count);
  float largest = state->max;
  for (int64_t j = 0; j < count; ++j) {
    const uint16_t* key = x.k + x.KvOffset(block.begin + j);
    p[j] = x.scale * Chain(order, {x.dtype, x.q, 1, key, 1}, 0, x.head_dim, 0.0f);
    largest = OrderedMax(largest, p[j]);
  }
  for (float& score : p) score = Exp(score - largest);
  const float rescale = Exp(state->max - largest);
  state->max = largest;
  state->sum = FusedMultiplyAdd(state->sum, rescale, SumProbabilities(p.data(), count));
  for (int32_t d = 0; d < x.head_dim; ++d) {
    state->output[d] = ChainValues(order, x, p.data(), block, d, state->output[d] * rescale);
  }
}

inline void VisitPiece(const Order& order, const AttentionOperands& x, const Range& piece,
                       SoftmaxState* state) {
  const int64_t blocks = (piece.end - piece.begin + order.block - 1) / order.block;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t begin = piece.begin + (order.descending ? blocks - 1 - i : i) * order.block;
    VisitBlock(order, x, {begin, std::min<int64_t>(begin + order.block, piece.end)}, state);
  }
}

// o / l, element by element.
inline void Normalise(SoftmaxState* state) {
  for (float& value : state->output) value = CanonicalNan(value / state->sum);
}

// Sum of `count` terms in the order in which states are merged: list order, or lane r of `lanes`
// first takes terms r, r + lanes, ... and the lanes are added in order.
inline float SumInLanes(const float* terms, int64_t count, int32_t lanes) {
  if (lanes <= 0 || count <= lanes) return SumSerial(terms, 1, count);
  std::vector<float> sums(terms, terms + lanes);
  for (int64_t i = lanes; i < count; ++i) sums[i % lanes] += terms[i];
  return SumSerial(sums.data(), 1, lanes);
}

// Merges normalised pieces (kLse) into output[head_dim].
inline void MergeStates(const Order& order, const std::vector<SoftmaxState>& states,
                        float* output) {
  const int64_t count = static_cast<int64_t>(states.size());
  float largest = states[0].max;
  for (const SoftmaxState& state : states) largest = OrderedMax(largest, state.max);
  std::vector<float> weights(count), terms(count);
  for (int64_t i = 0; i < count; ++i) {
    weights[i] = states[i].sum * Exp(states[i].max - largest);
  }
  const float total = SumInLanes(weights.data(), count, order.combine_lanes);
  for (float& weight : weights) weight /= total;
  for (size_t d = 0; d < states[0].output.size(); ++d) {
    for (int64_t i = 0; i < count; ++i) {
      terms[i] = weights[i] * RoundTo(states[i].output[d], order.partial);
    }
    output[d] = SumInLanes(terms.data(), count, order.combine_lanes);
  }
}

// The row's output[head_dim] before its rounding to order.output. The order is the row's own
// (pieces clipped to what it may see), not empty.
inline void OrderedAttention(const Order& order, const AttentionOperands& x, float* output) {
  std::vector<SoftmaxState> states;
  for (const Range& piece : order.pieces) {
    if (states.empty() || order.combine != Combine::kChained) {
      states.push_back({});
      states.back().output.assign(x.head_dim, 0.0f);
    }
    VisitPiece(order, x, piece, &states.back());
  }
  for (SoftmaxState& state : states) Normalise(&state);
  if (states.size() > 1) {
    MergeStates(order, states, output);
  } else {
    std::copy(states[0].output.begin(), states[0].output.end(), output);
  }
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_NUMERICS_ORDERED_ATTENTION_H_
