// Random numbers that are a function of (seed, stream name, position) and of nothing else. The
// generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC'11): a keyed bijection of a counter, so there is no state to warm up or to share,
// and two streams can be drawn from in any order without changing each other.
//
//   key      the seed's 64 bits
//   counter  high 64 bits: the first 64 bits of SHA-256(stream name)
//            low 64 bits:  block index; block b holds the draws 2b and 2b + 1
//
// The streams in use are listed in docs/determinism.md. A new use takes a new name.
#ifndef BATCHVAR_SIM_BASE_RNG_H_
#define BATCHVAR_SIM_BASE_RNG_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace batchvar {

using PhiloxCounter = std::array<uint32_t, 4>;  // least significant word first, as in Random123
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds, as published.
PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key);

// Draws from one stream, in order. A small value: copy it to replay from here. Its position is its
// only state; in particular no normal is kept back for the next call.
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name);

  // The stream of one item (a request, a row): what it draws does not depend on how many draws
  // other items made. See ItemStreams, which hashes the name once.
  static RandomStream ForItem(uint64_t seed, std::string_view name, uint64_t item);

  uint64_t NextU64();
  double NextUniform();            // in [0, 1), a multiple of 2^-53
  double NextUniformOpen();        // in (0, 1], a multiple of 2^-53: safe to take the logarithm of
  uint64_t NextBelow(uint64_t n);  // in [0, n), unbiased (by rejection); n > 0
  double NextExponential();        // mean 1, by inversion, so one draw each
  double NextNormal();             // mean 0, variance 1, by Marsaglia's polar method
  // Mean and variance `shape` > 0, by Marsaglia and Tsang (2000). Below 1 the value for shape + 1
  // is scaled by U^(1/shape), which may underflow to 0 for very small shapes.
  double NextGamma(double shape);

 private:
  friend class ItemStreams;
  RandomStream(PhiloxKey key, uint64_t stream, uint64_t first_block, uint64_t last_block);

  PhiloxKey key_;
  uint64_t stream_;      // the counter's high half
  uint64_t next_block_;  // its low half
  uint64_t last_block_;  // the last one that belongs to this stream
  uint64_t spare_ = 0;   // the second half of the block before next_block_
  bool has_spare_ = false;
};

// One stream per item of a family, provably disjoint: item i owns the blocks [i 2^24, (i + 1) 2^24)
// of the stream "NAME[]", which gives it 33 million draws. Items are below 2^40.
class ItemStreams {
 public:
  ItemStreams(uint64_t seed, std::string_view name);
  RandomStream At(uint64_t item) const;

 private:
  PhiloxKey key_;
  uint64_t stream_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_BASE_RNG_H_
