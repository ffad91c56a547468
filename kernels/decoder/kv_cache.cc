#include "kernels/decoder/kv_cache.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/rng.h"

namespace batchvar {
namespace {

constexpr int64_t kFirstPoolBlocks = 8;  // then it doubles

}  // namespace

KvCache::KvCache(const ModelSpec& model, const KvPlacement& placement)
    : placement_(placement),
      stride_(int64_t{model.kv_heads} * model.head_dim),
      keys_(model.layers),
      values_(model.layers) {}

void KvCache::Resize(int64_t positions) {
  for (auto& layer : keys_) layer.resize(positions * stride_);
  for (auto& layer : values_) layer.resize(positions * stride_);
}

void KvCache::TakeBlock() {
  if (free_blocks_.empty()) {
    const int64_t begin = pool_blocks_;
    pool_blocks_ = std::max(kFirstPoolBlocks, 2 * pool_blocks_);
    for (int64_t block = begin; block < pool_blocks_; ++block) {
      free_blocks_.push_back(static_cast<int32_t>(block));
    }
    auto stream = RandomStream::ForItem(placement_.seed, "experiment.kv_placement",
                                        static_cast<uint64_t>(begin));
    for (size_t left = free_blocks_.size(); left > 1; --left) {
      std::swap(free_blocks_[left - 1], free_blocks_[stream.NextBelow(left)]);
    }
    Resize(pool_blocks_ * placement_.block_size);
  }
  block_table_.push_back(free_blocks_.back());
  free_blocks_.pop_back();
}

void KvCache::Grow() {
  if (!is_paged()) {
    Resize(++length_);
    return;
  }
  if (length_ == std::ssize(block_table_) * placement_.block_size) TakeBlock();
  ++length_;
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    std::fill_n(Key(static_cast<int32_t>(layer), length_ - 1), stride_, uint16_t{0});
    std::fill_n(Value(static_cast<int32_t>(layer), length_ - 1), stride_, uint16_t{0});
  }
}

void KvCache::Truncate(int64_t length) {
  BV_CHECK(length >= 0 && length <= length_);
  length_ = length;
  if (!is_paged()) {
    Resize(length);
    return;
  }
  const int64_t kept = (length + placement_.block_size - 1) / placement_.block_size;
  while (std::ssize(block_table_) > kept) {
    free_blocks_.push_back(block_table_.back());
    block_table_.pop_back();
  }
}

void KvCache::CopyPrefix(const KvCache& from, int64_t length) {
  BV_CHECK(stride_ == from.stride_ && keys_.size() == from.keys_.size());
  *this = from;
  Truncate(length);
}

std::vector<uint16_t> KvCache::WordsOf(int64_t position) const {
  BV_CHECK(position >= 0 && position < length_);
  const int64_t place = PlaceOf(position) * stride_;
  std::vector<uint16_t> words;
  words.reserve(2 * stride_ * keys_.size());
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    for (const auto* side : {&keys_[layer], &values_[layer]}) {
      words.insert(words.end(), side->begin() + place, side->begin() + place + stride_);
    }
  }
  return words;
}

void KvCache::Append(std::span<const uint16_t> words) {
  BV_CHECK(words.size() == 2 * static_cast<size_t>(stride_) * keys_.size());
  Grow();
  auto next = words.begin();
  for (int32_t layer = 0; layer < std::ssize(keys_); ++layer) {
    for (uint16_t* side : {Key(layer, length_ - 1), Value(layer, length_ - 1)}) {
      std::copy_n(next, stride_, side);
      next += stride_;
    }
  }
}

}  // namespace batchvar
