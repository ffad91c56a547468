#include "sim/base/rng.h"

#include <cmath>
#include <string>

#include "sim/base/check.h"
#include "sim/base/digest.h"
#include "sim/base/elementary.h"

namespace batchvar {
namespace {

constexpr int kBlockBits = 24;  // of an item's position within its family
constexpr uint64_t kItemLimit = uint64_t{1} << (64 - kBlockBits);
constexpr uint64_t kLastBlock = ~uint64_t{0};

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

PhiloxKey KeyOf(uint64_t seed) { return {Low(seed), High(seed)}; }

// "NAME[]": a name that no plain stream has, so a family and a stream may be called the same.
uint64_t FamilyOf(std::string_view name) { return DigestOf(std::string(name) + "[]").hi; }

}  // namespace

PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;
  constexpr uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1),
               High(product0) ^ counter[3] ^ key[1], Low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

RandomStream::RandomStream(PhiloxKey key, uint64_t stream, uint64_t first_block,
                           uint64_t last_block)
    : key_(key), stream_(stream), next_block_(first_block), last_block_(last_block) {}

RandomStream::RandomStream(uint64_t seed, std::string_view name)
    : RandomStream(KeyOf(seed), DigestOf(name).hi, 0, kLastBlock) {}

RandomStream RandomStream::ForItem(uint64_t seed, std::string_view name, uint64_t item) {
  return ItemStreams(seed, name).At(item);
}

uint64_t RandomStream::NextU64() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  // The last block itself is never drawn, so next_block_ cannot wrap into another stream.
  BV_CHECK(next_block_ < last_block_);
  const PhiloxCounter block =
      Philox4x32({Low(next_block_), High(next_block_), Low(stream_), High(stream_)}, key_);
  ++next_block_;
  spare_ = uint64_t{block[3]} << 32 | block[2];
  has_spare_ = true;
  return uint64_t{block[1]} << 32 | block[0];
}

double RandomStream::NextUniform() { return static_cast<double>(NextU64() >> 11) * 0x1p-53; }

double RandomStream::NextUniformOpen() {
  return static_cast<double>((NextU64() >> 11) + 1) * 0x1p-53;
}

uint64_t RandomStream::NextBelow(uint64_t n) {
  BV_CHECK(n > 0);
  const uint64_t surplus = (0 - n) % n;  // 2^64 mod n values would be one too many for some results
  uint64_t draw = NextU64();
  while (draw < surplus) draw = NextU64();
  return draw % n;
}

double RandomStream::NextExponential() { return -PortableLog(NextUniformOpen()); }

double RandomStream::NextNormal() {
  while (true) {
    const double u = 2.0 * NextUniform() - 1.0;
    const double v = 2.0 * NextUniform() - 1.0;
    const double square = u * u + v * v;
    if (square >= 1.0 || square == 0.0) continue;
    // sqrt is correctly rounded everywhere (IEEE 754), so the C library may have it.
    return u * std::sqrt(-2.0 * PortableLog(square) / square);
  }
}

double RandomStream::NextGamma(double shape) {
  BV_CHECK(shape > 0);
  if (shape < 1.0) {
    const double boosted = NextGamma(shape + 1.0);
    return boosted * PortablePow(NextUniformOpen(), 1.0 / shape);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / (3.0 * std::sqrt(d));
  while (true) {
    const double x = NextNormal();
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    const double log_u = PortableLog(NextUniformOpen());
    if (log_u < 0.5 * x * x + d - d * v + d * PortableLog(v)) return d * v;
  }
}

ItemStreams::ItemStreams(uint64_t seed, std::string_view name)
    : key_(KeyOf(seed)), stream_(FamilyOf(name)) {}

RandomStream ItemStreams::At(uint64_t item) const {
  BV_CHECK(item < kItemLimit);
  const uint64_t first = item << kBlockBits;
  return RandomStream(key_, stream_, first, first + (uint64_t{1} << kBlockBits) - 1);
}

}  // namespace batchvar
