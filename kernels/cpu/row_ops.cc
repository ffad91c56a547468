#include "kernels/cpu/row_ops.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/elementary.h"
#include "sim/base/trigonometry.h"
#include "sim/numerics/elementary.h"
#include "sim/numerics/float_bits.h"
#include "sim/numerics/ordered_rows.h"

namespace batchvar {

void NarrowRow(std::span<const float> values, DType dtype, uint16_t* words) {
  for (size_t i = 0; i < values.size(); ++i) words[i] = Narrow(values[i], dtype);
}

void WidenRow(std::span<const uint16_t> words, DType dtype, float* values) {
  for (size_t i = 0; i < words.size(); ++i) values[i] = Widen(words[i], dtype);
}

void RmsNormRow(const Order& order, std::span<const uint16_t> x, std::span<const uint16_t> weight,
                float eps, DType dtype, float* out) {
  BV_CHECK(x.size() == weight.size() && !x.empty());
  const int64_t width = std::ssize(x);
  WidenRow(x, dtype, out);
  const float squares = SumOfSquares(order, out, width, dtype);
  const float inverse = InverseSqrt(squares / static_cast<float>(width) + eps);
  for (int64_t i = 0; i < width; ++i) {
    out[i] = CanonicalNan(out[i] * inverse * Widen(weight[i], dtype));
  }
}

void AddRow(std::span<const uint16_t> x, std::span<const uint16_t> residual, DType dtype,
            float* out) {
  BV_CHECK(x.size() == residual.size());
  for (size_t i = 0; i < x.size(); ++i) {
    out[i] = CanonicalNan(Widen(x[i], dtype) + Widen(residual[i], dtype));
  }
}

void LogSoftmaxRow(const Order& order, std::span<const float> logits, float* out) {
  BV_CHECK(!logits.empty());
  float largest = logits[0];
  for (const float logit : logits) largest = OrderedMax(largest, logit);
  const auto add = [&](int64_t i, float sum) { return sum + Exp(logits[i] - largest); };
  const float sum = SumRow(order, std::ssize(logits), DType::kFp32, add);
  const auto log_sum = static_cast<float>(PortableLog(double{sum}));
  for (size_t i = 0; i < logits.size(); ++i) {
    out[i] = CanonicalNan((logits[i] - largest) - log_sum);
  }
}

void SiluMulRow(std::span<const uint16_t> gate, std::span<const uint16_t> up, DType dtype,
                float* out) {
  BV_CHECK(gate.size() == up.size());
  for (size_t i = 0; i < gate.size(); ++i) {
    out[i] = CanonicalNan(Silu(Widen(gate[i], dtype)) * Widen(up[i], dtype));
  }
}

RopeTable::RopeTable(const std::vector<double>& inverse_frequencies, int64_t positions)
    : pairs_(std::ssize(inverse_frequencies)) {
  cos_.reserve(pairs_ * positions);
  sin_.reserve(pairs_ * positions);
  for (int64_t position = 0; position < positions; ++position) {
    for (const double frequency : inverse_frequencies) {
      const SinCos both = PortableSinCos(static_cast<double>(position) * frequency);
      cos_.push_back(static_cast<float>(both.cos));
      sin_.push_back(static_cast<float>(both.sin));
    }
  }
}

std::span<const float> RopeTable::Cos(int64_t position) const {
  BV_CHECK((position + 1) * pairs_ <= std::ssize(cos_));
  return std::span(cos_).subspan(position * pairs_, pairs_);
}

std::span<const float> RopeTable::Sin(int64_t position) const {
  BV_CHECK((position + 1) * pairs_ <= std::ssize(sin_));
  return std::span(sin_).subspan(position * pairs_, pairs_);
}

std::vector<double> RopeFrequencies(double theta, int32_t head_dim) {
  std::vector<double> frequencies;
  for (int32_t i = 0; i < head_dim / 2; ++i) {
    frequencies.push_back(1.0 / PortablePow(theta, 2.0 * i / head_dim));
  }
  return frequencies;
}

void RopeHead(std::span<const uint16_t> head, std::span<const float> cos,
              std::span<const float> sin, DType dtype, float* out) {
  const int64_t half = std::ssize(cos);
  BV_CHECK(std::ssize(head) == 2 * half && std::ssize(sin) == half);
  for (int64_t i = 0; i < half; ++i) {
    const float x = Widen(head[i], dtype), y = Widen(head[i + half], dtype);
    out[i] = CanonicalNan(x * cos[i] - y * sin[i]);
    out[i + half] = CanonicalNan(y * cos[i] + x * sin[i]);
  }
}

void AllReduceRow(std::span<const OrderStrip> strips, int64_t width,
                  const std::vector<const uint16_t*>& ranks, DType dtype, float* out) {
  std::vector<float> terms(ranks.size());
  int64_t done = 0;
  for (const OrderStrip& strip : strips) {
    BV_CHECK(strip.columns.begin == done && strip.columns.end <= width);
    for (int64_t i = strip.columns.begin; i < strip.columns.end; ++i) {
      for (size_t r = 0; r < ranks.size(); ++r) terms[r] = Widen(ranks[r][i], dtype);
      out[i] = SumOfRanks(strip.order, terms.data());
    }
    done = strip.columns.end;
  }
  BV_CHECK(done == width);
}

}  // namespace batchvar
