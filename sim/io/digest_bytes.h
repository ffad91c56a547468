// A digest as the 16 bytes that protobuf files hold, most significant first.
#ifndef BATCHVAR_SIM_IO_DIGEST_BYTES_H_
#define BATCHVAR_SIM_IO_DIGEST_BYTES_H_

#include <cstdint>
#include <string>

#include "sim/base/digest.h"

namespace batchvar {

inline std::string BytesOf(const Digest& digest) {
  std::string bytes;
  for (const uint64_t word : {digest.hi, digest.lo}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift);
  }
  return bytes;
}

// Bytes behind the sixteenth are ignored; missing ones make another digest.
inline Digest DigestOfBytes(const std::string& bytes) {
  Digest digest;
  for (size_t i = 0; i < 16 && i < bytes.size(); ++i) {
    uint64_t& word = i < 8 ? digest.hi : digest.lo;
    word = word << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return digest;
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_DIGEST_BYTES_H_
