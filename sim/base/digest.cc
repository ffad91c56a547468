#include "sim/base/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace batchvar {
namespace {

constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t LoadBigEndian32(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

char HexDigit(unsigned value) { return "0123456789abcdef"[value & 15U]; }

std::string HexOf(uint64_t value) {
  std::string text(16, '0');
  for (int i = 0; i < 16; ++i) text[i] = HexDigit(static_cast<unsigned>(value >> (60 - 4 * i)));
  return text;
}

}  // namespace

std::string Digest::Hex() const { return HexOf(hi) + HexOf(lo); }

std::string Digest::ShortHex() const { return HexOf(hi).substr(0, 8); }

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
      buffer_{} {}

void Sha256::Block(const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (int i = 0; i < 16; ++i) w[i] = LoadBigEndian32(block + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> add = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state_[i] += add[i];
}

Sha256& Sha256::Update(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const size_t used = size_bytes_ % buffer_.size();
    const size_t take = std::min(size, buffer_.size() - used);
    std::memcpy(buffer_.data() + used, bytes, take);
    size_bytes_ += take;
    bytes += take;
    size -= take;
    if (used + take == buffer_.size()) Block(buffer_.data());
  }
  return *this;
}

Sha256& Sha256::UpdateI64(int64_t value) {
  std::array<uint8_t, 8> bytes;
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> 8 * i);
  return Update(bytes.data(), bytes.size());
}

std::array<uint8_t, 32> Sha256::Finish() {
  const uint64_t size_bits = size_bytes_ * 8;
  UpdateU8(0x80);
  while (size_bytes_ % buffer_.size() != 56) UpdateU8(0);
  for (int shift = 56; shift >= 0; shift -= 8) UpdateU8(static_cast<uint8_t>(size_bits >> shift));
  std::array<uint8_t, 32> out;
  for (int i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

Digest Sha256::FinishDigest() {
  const std::array<uint8_t, 32> bytes = Finish();
  const auto word = [&](int at) {
    return uint64_t{LoadBigEndian32(&bytes[at])} << 32 | LoadBigEndian32(&bytes[at + 4]);
  };
  return Digest{word(0), word(8)};
}

Digest DigestOf(std::string_view bytes) { return Sha256().Update(bytes).FinishDigest(); }

std::string Sha256Hex(std::string_view bytes) {
  std::string text;
  for (const uint8_t byte : Sha256().Update(bytes).Finish()) {
    text += HexDigit(byte >> 4);
    text += HexDigit(byte);
  }
  return text;
}

}  // namespace batchvar
