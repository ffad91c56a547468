// Keys and values of one request, 16-bit words, position after position. A request owns its cache;
// requests with a common prefix copy it once (CopyPrefix) and go their ways. Grown by
// Decoder::Forward; not thread-safe.
#ifndef BATCHVAR_KERNELS_DECODER_KV_CACHE_H_
#define BATCHVAR_KERNELS_DECODER_KV_CACHE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/shape/model_spec.h"

namespace batchvar {

class KvCache {
 public:
  explicit KvCache(const ModelSpec& model);

  int64_t length() const { return length_; }  // positions held
  // Words from one position to the next: kv_heads * head_dim, heads one after another.
  int64_t stride() const { return stride_; }
  // Position 0 of a layer. Valid until the cache grows.
  uint16_t* Keys(int32_t layer) { return keys_[layer].data(); }
  uint16_t* Values(int32_t layer) { return values_[layer].data(); }

  // Adds one position, whose words are zero until they are written.
  void Grow();
  void Truncate(int64_t length);  // keeps the first `length` positions
  // Becomes the first `length` positions of another cache of the same model.
  void CopyPrefix(const KvCache& from, int64_t length);

  // One position as RowResult::kv (kernels/row_memo.h) keeps it: layer by layer the key's words,
  // then the value's. Append adds a position.
  std::vector<uint16_t> WordsOf(int64_t position) const;
  void Append(std::span<const uint16_t> words);

 private:
  int64_t stride_;
  int64_t length_ = 0;
  std::vector<std::vector<uint16_t>> keys_;  // by layer
  std::vector<std::vector<uint16_t>> values_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_KV_CACHE_H_
