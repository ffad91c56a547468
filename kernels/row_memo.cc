#include "kernels/row_memo.h"

#include "sim/base/check.h"

namespace batchvar {
namespace {

void AddDigest(Sha256* sha, const Digest& digest) {
  sha->UpdateI64(static_cast<int64_t>(digest.hi)).UpdateI64(static_cast<int64_t>(digest.lo));
}

int64_t BytesOf(const RowResult& result) {
  return static_cast<int64_t>(result.kv.size() * sizeof(uint16_t) +
                              result.logits.size() * sizeof(float));
}

}  // namespace

void KvChain::Append(const Digest& producer) {
  Sha256 sha;
  sha.Update("batchvar.kv_chain.1");
  AddDigest(&sha, digest_);
  AddDigest(&sha, producer);
  digest_ = sha.FinishDigest();
  ++length_;
}

Digest RowKey(const KvChain& chain, int64_t token, const Digest& row_classes) {
  Sha256 sha;
  sha.Update("batchvar.row_key.1");
  AddDigest(&sha, chain.digest());
  sha.UpdateI64(token);
  AddDigest(&sha, row_classes);
  return sha.FinishDigest();
}

std::shared_ptr<const RowResult> RowMemo::Find(const Digest& key, bool needs_logits) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || (needs_logits && found->second->second->logits.empty())) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->second;
}

void RowMemo::Insert(const Digest& key, std::shared_ptr<const RowResult> result) {
  BV_CHECK(result != nullptr);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    bytes_ -= BytesOf(*found->second->second);
    by_use_.erase(found->second);
    by_key_.erase(found);
  }
  bytes_ += BytesOf(*result);
  by_use_.emplace_front(key, std::move(result));
  by_key_[key] = by_use_.begin();
  while (bytes_ > max_bytes_ && by_use_.size() > 1) DropOldest();
}

void RowMemo::DropOldest() {
  bytes_ -= BytesOf(*by_use_.back().second);
  by_key_.erase(by_use_.back().first);
  by_use_.pop_back();
}

}  // namespace batchvar
