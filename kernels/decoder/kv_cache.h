// Keys and values of one request, 16-bit words, position after position. A request owns its cache;
// requests with a common prefix copy it once (CopyPrefix) and go their ways. Grown by
// Decoder::Forward; not thread-safe.
//
// Positions lie one after another, or in blocks taken in a seeded order from a pool that grows, as
// a server's paged cache scatters them (KvPlacement). Where they lie never changes a bit.
#ifndef BATCHVAR_KERNELS_DECODER_KV_CACHE_H_
#define BATCHVAR_KERNELS_DECODER_KV_CACHE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/shape/model_spec.h"

namespace batchvar {

struct KvPlacement {
  int32_t block_size = 0;  // positions; 0: one after another
  uint64_t seed = 0;       // which blocks a request is given
};

class KvCache {
 public:
  explicit KvCache(const ModelSpec& model, const KvPlacement& placement = {});

  int64_t length() const { return length_; }  // positions held
  // Words from one position to the next: kv_heads * head_dim, heads one after another.
  int64_t stride() const { return stride_; }
  // One position of a layer. Valid until the cache grows.
  uint16_t* Key(int32_t layer, int64_t position) {
    return keys_[layer].data() + PlaceOf(position) * stride_;
  }
  uint16_t* Value(int32_t layer, int64_t position) {
    return values_[layer].data() + PlaceOf(position) * stride_;
  }
  // What AttentionOperands need to find all positions of a layer: its first words and the table
  // (nullptr where positions lie one after another).
  const uint16_t* Keys(int32_t layer) const { return keys_[layer].data(); }
  const uint16_t* Values(int32_t layer) const { return values_[layer].data(); }
  const int32_t* block_table() const { return is_paged() ? block_table_.data() : nullptr; }
  int32_t block_size() const { return placement_.block_size; }

  // Adds one position, whose words are zero until they are written.
  void Grow();
  void Truncate(int64_t length);  // keeps the first `length` positions
  // Becomes the first `length` positions of another cache of the same model, placed as that one.
  void CopyPrefix(const KvCache& from, int64_t length);

  // One position as RowResult::kv (kernels/row_memo.h) keeps it: layer by layer the key's words,
  // then the value's. Append adds a position.
  std::vector<uint16_t> WordsOf(int64_t position) const;
  void Append(std::span<const uint16_t> words);

 private:
  bool is_paged() const { return placement_.block_size > 0; }
  int64_t PlaceOf(int64_t position) const {
    if (!is_paged()) return position;
    const int32_t size = placement_.block_size;
    return int64_t{block_table_[position / size]} * size + position % size;
  }
  void TakeBlock();
  void Resize(int64_t positions);  // memory of every layer

  KvPlacement placement_;
  int64_t stride_;
  int64_t length_ = 0;
  std::vector<int32_t> block_table_;  // blocks held
  std::vector<int32_t> free_blocks_;  // the last one is taken next
  int64_t pool_blocks_ = 0;
  std::vector<std::vector<uint16_t>> keys_;  // by layer
  std::vector<std::vector<uint16_t>> values_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_KV_CACHE_H_
