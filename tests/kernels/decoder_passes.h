// Passes of a request through a decoder, as several tests run them.
#ifndef BATCHVAR_TESTS_KERNELS_DECODER_PASSES_H_
#define BATCHVAR_TESTS_KERNELS_DECODER_PASSES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/kernels/decoder_setup.h"

namespace batchvar {

inline std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// Some tokens for request `request`: another stretch of the same arithmetic sequence.
inline std::vector<int64_t> Tokens(int64_t request, int64_t count) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back((17 * request + 29 * i + 5) % 128);
  return tokens;
}

// Runs tokens at the cache's next positions under `plans`, `at_once` rows a call; logits of all.
inline std::vector<std::vector<float>> LogitsOf(LoadedModel* model, KvCache* cache,
                                                const std::vector<int64_t>& tokens,
                                                const std::vector<RowPlan>& plans,
                                                int64_t at_once) {
  std::vector<std::vector<float>> logits;
  const int64_t begin = cache->length();
  for (int64_t first = 0; first < std::ssize(tokens); first += at_once) {
    std::vector<DecoderRow> rows;
    for (int64_t i = first; i < std::min(first + at_once, std::ssize(tokens)); ++i) {
      rows.push_back({tokens[i], begin + i, cache, &plans[i], true, false});
    }
    std::vector<RowOutput> outputs;
    EXPECT_EQ(model->decoder.Forward(rows, &outputs), absl::OkStatus());
    for (RowOutput& output : outputs) logits.push_back(std::move(output.logits));
  }
  return logits;
}

// Positions [0, count) of one request that is prefilled in a single chunk of a step of M = `m`.
inline std::vector<RowPlan> ChunkPlans(LoadedModel* model, int64_t count, int64_t m) {
  const PlannedStep step = model->planner.Begin(m, {{count, count}});
  std::vector<RowPlan> plans;
  for (int64_t i = 0; i < count; ++i) plans.push_back(model->planner.Row(step, 0, i, true));
  return plans;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_KERNELS_DECODER_PASSES_H_
