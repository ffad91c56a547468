// Results of one row of one step, shared between all executions that would compute the same bits.
//
// A row's bits depend on its token, on the class of its row in every op of the step, and on the
// keys and values that it reads: on the rows that produced those, each under its own classes.
// Nothing else enters: not the batch, not the other rows' values. So a row is named by
//
//   key(p) = digest(chain(p), token at p, digest of the row's classes)
//   chain(0) = digest of what all rows share (model, dtype, policies' arithmetic)
//   chain(p + 1) = digest(chain(p), key of the row that produced KV position p)
//
// where the producer is the request itself or, for a cached block, whoever computed it. Runs whose
// histories agree up to a step then compute it once: a trial equals "alone" until its first step
// of another class. Not thread-safe; the caller decides what runs side by side.
#ifndef BATCHVAR_KERNELS_ROW_MEMO_H_
#define BATCHVAR_KERNELS_ROW_MEMO_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/digest.h"

namespace batchvar {

// What a request's next row would read: one digest for all KV positions before it.
class KvChain {
 public:
  explicit KvChain(const Digest& shared) : digest_(shared) {}
  // KV of the next position was produced by the row of this key.
  void Append(const Digest& producer);
  const Digest& digest() const { return digest_; }
  int64_t length() const { return length_; }

 private:
  Digest digest_;
  int64_t length_ = 0;
};

// The name of the row that reads `chain`, for `token`, under `row_classes` (a digest over the
// row's class in every op of the step, in execution order).
Digest RowKey(const KvChain& chain, int64_t token, const Digest& row_classes);

struct RowResult {
  std::vector<uint16_t> kv;   // keys and values of every layer, as the cache keeps them
  std::vector<float> logits;  // empty where nobody asked for them
};

// Keeps the results that were used last, up to `max_bytes`.
class RowMemo {
 public:
  explicit RowMemo(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // The result, or null. One that was kept without logits does not answer a call that needs them.
  std::shared_ptr<const RowResult> Find(const Digest& key, bool needs_logits);
  // Keeps a result, in place of one without logits if there is one.
  void Insert(const Digest& key, std::shared_ptr<const RowResult> result);

  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }
  int64_t bytes() const { return bytes_; }

 private:
  using Entry = std::pair<Digest, std::shared_ptr<const RowResult>>;
  void DropOldest();

  int64_t max_bytes_;
  int64_t bytes_ = 0;
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  std::list<Entry> by_use_;  // latest first
  std::map<Digest, std::list<Entry>::iterator> by_key_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_ROW_MEMO_H_
