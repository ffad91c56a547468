// Seeded 16-bit operands for tests of ordered arithmetic.
#ifndef BATCHVAR_TESTS_NUMERICS_RANDOM_OPERANDS_H_
#define BATCHVAR_TESTS_NUMERICS_RANDOM_OPERANDS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/rng.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {

// `count` normal numbers times `scale`, rounded to `dtype` (bf16 or fp16).
inline std::vector<uint16_t> NormalWords(std::string_view name, int64_t count, DType dtype,
                                         float scale = 1.0f, uint64_t seed = 1) {
  RandomStream stream(seed, name);
  std::vector<uint16_t> words(count);
  for (uint16_t& word : words) {
    word = Narrow(static_cast<float>(stream.NextNormal()) * scale, dtype);
  }
  return words;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_NUMERICS_RANDOM_OPERANDS_H_
