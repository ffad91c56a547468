#include "sim/divergence/scalar_probe.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/numerics/ordered_attention.h"
#include "sim/numerics/ordered_dot.h"
#include "sim/numerics/ordered_rows.h"

namespace batchvar {
namespace {

// A value is scaled by up to this much so that its piece's length divides it; kProbeLarge times it
// still fits fp16.
constexpr int64_t kMostScale = 32;

std::vector<uint16_t> WordsOf(const std::vector<float>& values, DType dtype, float scale = 1.0f) {
  std::vector<uint16_t> words;
  words.reserve(values.size());
  for (const float value : values) words.push_back(Narrow(value * scale, dtype));
  return words;
}

int64_t OddPart(int64_t x) { return x >> std::countr_zero(static_cast<uint64_t>(x)); }

bool MergesPieces(const Order& order) {
  return order.pieces.size() > 1 && order.combine != Combine::kChained;
}

int64_t PositionsOf(const Order& order) {
  int64_t positions = 0;
  for (const Range& piece : order.pieces) positions += piece.end - piece.begin;
  return positions;
}

// The least common multiple of the odd parts of the pieces' lengths: a value that it divides stays
// exact in every piece. More than kMostScale: too large, not exactly that much.
int64_t ScaleOf(const Order& order) {
  int64_t scale = 1;
  if (!MergesPieces(order)) return scale;
  for (const Range& piece : order.pieces) {
    const int64_t odd = OddPart(piece.end - piece.begin);
    if (odd > kMostScale || scale > kMostScale) return kMostScale + 1;
    scale = std::lcm(scale, odd);
  }
  return scale;
}

}  // namespace

TermSum DotOfTerms(const Order& order, DType dtype) {
  return [order, dtype](const std::vector<float>& terms) -> double {
    const std::vector<uint16_t> a(terms.size(), Narrow(1.0f, dtype));
    const std::vector<uint16_t> b = WordsOf(terms, dtype);
    return OrderedDot(order, {dtype, a.data(), 1, b.data(), 1});
  };
}

TermSum RowOfTerms(const Order& order, int64_t width, DType dtype) {
  return [order, width, dtype](const std::vector<float>& terms) -> double {
    return SumRow(order, width, dtype,
                  [&terms](int64_t i, float sum) { return FusedMultiplyAdd(terms[i], 1.0f, sum); });
  };
}

TermSum RanksOfTerms(const Order& order) {
  return [order](const std::vector<float>& terms) -> double {
    return SumOfRanks(order, terms.data());
  };
}

std::string WhyAttentionHasNoProbe(const Order& order, int64_t count) {
  if (!MergesPieces(order)) return "";
  const int64_t positions = PositionsOf(order);
  const std::string pieces = std::to_string(order.pieces.size()) + " pieces of KV are merged, ";
  if (!std::has_single_bit(static_cast<uint64_t>(positions))) {
    return pieces + "which divides by the " + std::to_string(positions) +
           " positions that the row sees: exact, as a probe needs it, for a power of two only, "
           "such as " +
           std::to_string(std::bit_floor(static_cast<uint64_t>(positions)));
  }
  const int64_t scale = ScaleOf(order);
  if (scale > kMostScale) {
    return pieces +
           "and no 16-bit value is divided exactly by the lengths of all of them: choose "
           "a longer or shorter KV whose pieces are powers of two, or small multiples";
  }
  if (order.partial == DType::kFp32) return "";
  if (order.partial == DType::kFp16) {
    return pieces + "each rounded to fp16, whose range a probe exceeds: the bf16 order is the same";
  }
  for (const Range& piece : order.pieces) {
    const int64_t factor = scale / OddPart(piece.end - piece.begin);
    if (count * factor > kMaxProbeTerms) {
      return pieces + "each rounded to bf16, which holds " + std::to_string(kMaxProbeTerms) +
             " units: ask for at most " + std::to_string(kMaxProbeTerms / factor) + " leaves";
    }
  }
  return "";
}

TermSum AttentionOfTerms(const Order& order, DType dtype) {
  const auto positions = static_cast<double>(PositionsOf(order));
  const int64_t scale = ScaleOf(order);
  return [order, dtype, positions, scale](const std::vector<float>& terms) {
    const std::vector<uint16_t> v = WordsOf(terms, dtype, static_cast<float>(scale));
    const std::vector<uint16_t> zeros(terms.size(), 0);
    float output = 0;
    OrderedAttention(order, {dtype, 1, 1.0f, zeros.data(), zeros.data(), v.data(), 1}, &output);
    const double sum = output * positions / static_cast<double>(scale);
    // One state is divided when everything is added up; the rounding of that division is undone.
    return MergesPieces(order) ? sum : std::nearbyint(sum / kProbeUnit) * kProbeUnit;
  };
}

}  // namespace batchvar
