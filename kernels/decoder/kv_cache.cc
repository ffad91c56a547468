#include "kernels/decoder/kv_cache.h"

#include "sim/base/check.h"

namespace batchvar {

KvCache::KvCache(const ModelSpec& model)
    : stride_(int64_t{model.kv_heads} * model.head_dim),
      keys_(model.layers),
      values_(model.layers) {}

void KvCache::Grow() {
  ++length_;
  for (auto& layer : keys_) layer.resize(length_ * stride_);
  for (auto& layer : values_) layer.resize(length_ * stride_);
}

void KvCache::Truncate(int64_t length) {
  BV_CHECK(length >= 0 && length <= length_);
  length_ = length;
  for (auto& layer : keys_) layer.resize(length_ * stride_);
  for (auto& layer : values_) layer.resize(length_ * stride_);
}

void KvCache::CopyPrefix(const KvCache& from, int64_t length) {
  BV_CHECK(stride_ == from.stride_ && keys_.size() == from.keys_.size());
  *this = from;
  Truncate(length);
}

std::vector<uint16_t> KvCache::WordsOf(int64_t position) const {
  BV_CHECK(position >= 0 && position < length_);
  std::vector<uint16_t> words;
  words.reserve(2 * stride_ * keys_.size());
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    for (const auto* side : {&keys_[layer], &values_[layer]}) {
      const auto begin = side->begin() + position * stride_;
      words.insert(words.end(), begin, begin + stride_);
    }
  }
  return words;
}

void KvCache::Append(std::span<const uint16_t> words) {
  BV_CHECK(words.size() == 2 * static_cast<size_t>(stride_) * keys_.size());
  auto next = words.begin();
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    for (auto* side : {&keys_[layer], &values_[layer]}) {
      side->insert(side->end(), next, next + stride_);
      next += stride_;
    }
  }
  ++length_;
}

}  // namespace batchvar
