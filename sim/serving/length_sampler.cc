#include "sim/serving/length_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/base/check.h"
#include "sim/base/elementary.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxTableEntries = int64_t{1} << 20;

std::vector<double> ZipfTable(const LengthSpec& spec) {
  const int64_t entries = int64_t{spec.max} - spec.min + 1;
  BV_CHECK(entries <= kMaxTableEntries);
  std::vector<double> cumulative;
  cumulative.reserve(entries);
  double sum = 0;
  for (int64_t rank = 1; rank <= entries; ++rank) {
    sum += PortablePow(static_cast<double>(rank), -spec.theta);
    cumulative.push_back(sum);
  }
  return cumulative;
}

}  // namespace

LengthSampler::LengthSampler(const LengthSpec& spec, uint64_t seed, std::string_view stream)
    : distribution_(spec.distribution),
      streams_(seed, stream),
      fixed_(spec.fixed),
      min_(spec.min),
      max_(spec.max),
      mean_(spec.mean),
      stddev_(spec.stddev) {
  BV_CHECK(min_ <= max_);
  if (distribution_ == LengthDistribution::kLognormal) {
    BV_CHECK(spec.mean > 0);
    // The spec gives mean and deviation of the length; these are those of its logarithm.
    const double ratio = spec.stddev / spec.mean;
    const double log_variance = PortableLog(1.0 + ratio * ratio);
    mean_ = PortableLog(spec.mean) - 0.5 * log_variance;
    stddev_ = std::sqrt(log_variance);
  } else if (distribution_ == LengthDistribution::kZipf) {
    cumulative_ = ZipfTable(spec);
  } else if (distribution_ == LengthDistribution::kEmpirical) {
    double sum = 0;
    for (const auto& [tokens, weight] : spec.empirical) {
      sum += weight;
      tokens_.push_back(tokens);
      cumulative_.push_back(sum);
    }
    BV_CHECK(sum > 0);
  }
}

int32_t LengthSampler::At(int64_t request) const {
  if (distribution_ == LengthDistribution::kFixed) return fixed_;
  RandomStream stream = streams_.At(static_cast<uint64_t>(request));
  switch (distribution_) {
    case LengthDistribution::kUniform:
      return Above(stream.NextBelow(static_cast<uint64_t>(int64_t{max_} - min_ + 1)));
    case LengthDistribution::kNormal: return Bounded(mean_ + stddev_ * stream.NextNormal());
    case LengthDistribution::kLognormal:
      return Bounded(PortableExp(mean_ + stddev_ * stream.NextNormal()));
    case LengthDistribution::kZipf: return Above(TableIndex(stream.NextUniform()));
    case LengthDistribution::kEmpirical: return tokens_[TableIndex(stream.NextUniform())];
    case LengthDistribution::kFixed: break;
  }
  return fixed_;
}

int32_t LengthSampler::Above(uint64_t offset) const {
  return static_cast<int32_t>(min_ + static_cast<int64_t>(offset));
}

int32_t LengthSampler::Bounded(double tokens) const {
  if (!(tokens > min_)) return min_;
  if (tokens >= max_) return max_;
  return static_cast<int32_t>(PortableFloor(tokens + 0.5));
}

// The first entry whose running sum exceeds uniform * total; an entry of weight 0 never is.
size_t LengthSampler::TableIndex(double uniform) const {
  const double at = uniform * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
  // The product may round up to the total itself.
  const auto last = std::lower_bound(cumulative_.begin(), cumulative_.end(), cumulative_.back());
  return static_cast<size_t>(std::min(found, last) - cumulative_.begin());
}

}  // namespace batchvar
