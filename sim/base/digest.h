// SHA-256 (FIPS 180-4) and the 128-bit digests that name reduction classes and inputs.
// Standard library only, because sim/plan needs it under WebAssembly.
#ifndef BATCHVAR_SIM_BASE_DIGEST_H_
#define BATCHVAR_SIM_BASE_DIGEST_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace batchvar {

// The first 128 bits of a SHA-256, as two big-endian words. Ordered, so it can key a std::map.
struct Digest {
  uint64_t hi = 0;
  uint64_t lo = 0;
  auto operator<=>(const Digest&) const = default;
  std::string Hex() const;       // 32 lower-case hex digits
  std::string ShortHex() const;  // the first 8 of them, for tables
};

class Sha256 {
 public:
  Sha256();
  Sha256& Update(const void* data, size_t size);
  Sha256& Update(std::string_view text) { return Update(text.data(), text.size()); }
  // Integers enter as little-endian bytes, so a digest does not depend on the host.
  Sha256& UpdateU8(uint8_t value) { return Update(&value, 1); }
  Sha256& UpdateI64(int64_t value);
  // Ends the message; the object must not be used after it.
  std::array<uint8_t, 32> Finish();
  Digest FinishDigest();

 private:
  void Block(const uint8_t* block);
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> buffer_;
  uint64_t size_bytes_ = 0;
};

Digest DigestOf(std::string_view bytes);
std::string Sha256Hex(std::string_view bytes);  // all 64 digits

}  // namespace batchvar

#endif  // BATCHVAR_SIM_BASE_DIGEST_H_
