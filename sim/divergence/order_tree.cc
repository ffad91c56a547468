#include "sim/divergence/order_tree.h"

#include <algorithm>
#include <utility>

#include "sim/numerics/ordered_rows.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {
namespace {

using Trees = std::vector<SummationTree>;

void Add(SummationTree term, SummationTree* sum) {
  Trees terms;
  terms.push_back(std::move(*sum));
  terms.push_back(std::move(term));
  *sum = SumOf(std::move(terms));
}

SummationTree Serial(Trees terms) {
  SummationTree sum;
  for (SummationTree& term : terms) Add(std::move(term), &sum);
  return sum;
}

// The largest power of two below the number of terms goes left.
SummationTree Pairwise(Trees terms) {
  if (terms.size() <= 1) return Serial(std::move(terms));
  size_t left = 1;
  while (left * 2 < terms.size()) left *= 2;
  Trees right(std::make_move_iterator(terms.begin() + static_cast<int64_t>(left)),
              std::make_move_iterator(terms.end()));
  terms.resize(left);
  SummationTree sum = Pairwise(std::move(terms));
  Add(Pairwise(std::move(right)), &sum);
  return sum;
}

// Lane i meets lane i + distance, for halving distances.
SummationTree Butterfly(Trees lanes) {
  for (size_t distance = lanes.size() / 2; distance > 0; distance /= 2) {
    for (size_t i = 0; i < distance; ++i) Add(std::move(lanes[i + distance]), &lanes[i]);
  }
  return std::move(lanes.front());
}

SummationTree CombineTrees(Combine combine, Trees partials) {
  if (combine == Combine::kPairwise) return Pairwise(std::move(partials));
  if (combine != Combine::kExactSum) return Serial(std::move(partials));
  SummationTree sum = SumOf(std::move(partials));
  sum.order_free = true;
  return sum;
}

// Indices of the terms that lie in `range`.
Range Within(const std::vector<int64_t>& terms, const Range& range) {
  const auto at = [&terms](int64_t place) {
    return std::lower_bound(terms.begin(), terms.end(), place) - terms.begin();
  };
  return {at(range.begin), at(range.end)};
}

// Chains the terms of `range` to `sum`: an instruction is one node over its products and the sum so
// far, and instructions are counted from the range's begin.
void ChainTerms(const Order& order, const std::vector<int64_t>& terms, const Range& range,
                SummationTree* sum) {
  const int64_t fused =
      IsMma(order.arithmetic) ? MmaModelOf(order.arithmetic, order.instr_k).fused : 1;
  const Range inside = Within(terms, range);
  for (int64_t i = inside.begin; i < inside.end;) {
    const int64_t instruction = (terms[i] - range.begin) / fused;
    Trees node;
    node.push_back(std::move(*sum));
    for (; i < inside.end && (terms[i] - range.begin) / fused == instruction; ++i) {
      node.push_back(LeafOf(i));
    }
    *sum = SumOf(std::move(node));
  }
}

SummationTree PieceOfDot(const Order& order, const std::vector<int64_t>& terms,
                         const Range& piece) {
  SummationTree sum;
  if (order.slice_k <= 1) {
    ChainTerms(order, terms, piece, &sum);
    return sum;
  }
  Trees slices(order.slice_k);
  const int64_t stretch = order.block / order.slice_k;
  for (int64_t block = piece.begin; block < piece.end; block += order.block) {
    for (int32_t s = 0; s < order.slice_k; ++s) {
      const int64_t begin = std::min(block + s * stretch, piece.end);
      ChainTerms(order, terms, {begin, std::min(begin + stretch, piece.end)}, &slices[s]);
    }
  }
  return order.combine == Combine::kButterfly ? Butterfly(std::move(slices))
                                              : Serial(std::move(slices));
}

// Lane r of `lanes` merges every lanes-th state first; without lanes the list's order.
SummationTree MergeInLanes(Trees states, int32_t lanes) {
  if (lanes <= 0) return Serial(std::move(states));
  Trees sums(lanes);
  for (size_t i = 0; i < states.size(); ++i) Add(std::move(states[i]), &sums[i % sums.size()]);
  return Serial(std::move(sums));
}

}  // namespace

SummationTree TreeOfDot(const Order& order, const std::vector<int64_t>& terms) {
  Trees partials;
  for (const Range& piece : order.pieces) partials.push_back(PieceOfDot(order, terms, piece));
  return Canonical(CombineTrees(order.combine, std::move(partials)));
}

SummationTree TreeOfAttention(const Order& order, const std::vector<int64_t>& terms) {
  Trees states;
  for (const Range& piece : order.pieces) {
    if (states.empty() || order.combine != Combine::kChained) states.push_back({});
    const int64_t blocks = (piece.end - piece.begin + order.block - 1) / order.block;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t block = order.descending ? blocks - 1 - i : i;
      const int64_t begin = piece.begin + block * order.block;
      ChainTerms(order, terms, {begin, std::min<int64_t>(begin + order.block, piece.end)},
                 &states.back());
    }
  }
  return Canonical(MergeInLanes(std::move(states), order.combine_lanes));
}

SummationTree TreeOfRow(const Order& order, int64_t width, DType dtype,
                        const std::vector<int64_t>& terms) {
  const int64_t vector = RowVectorWidth(width, dtype);
  // Warps of threads, the last one filled up with threads that have nothing.
  const int32_t warps = (order.block + kWarpThreads - 1) / kWarpThreads;
  Trees threads(static_cast<size_t>(warps) * kWarpThreads);
  for (size_t i = 0; i < terms.size(); ++i) {
    Add(LeafOf(static_cast<int64_t>(i)), &threads[terms[i] / vector % order.block]);
  }
  if (warps == 1) return Canonical(Butterfly(std::move(threads)));
  Trees sums(kWarpThreads);
  for (int32_t warp = 0; warp < warps; ++warp) {
    const auto first = threads.begin() + warp * kWarpThreads;
    sums[warp] = Butterfly(
        Trees(std::make_move_iterator(first), std::make_move_iterator(first + kWarpThreads)));
  }
  return Canonical(Butterfly(std::move(sums)));
}

SummationTree TreeOfRanks(const Order& order) {
  Trees ranks;
  for (const Range& piece : order.pieces) {
    for (int64_t rank = piece.begin; rank < piece.end; ++rank) ranks.push_back(LeafOf(rank));
  }
  return Canonical(CombineTrees(order.combine, std::move(ranks)));
}

}  // namespace batchvar
