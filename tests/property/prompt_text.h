// The symbolic text of requests, spelled out as hashes: equal hashes mean equal tokens up to there.
// Slower and simpler than sim/serving/prefix_chain.h, which it is there to check.
#ifndef BATCHVAR_TESTS_PROPERTY_PROMPT_TEXT_H_
#define BATCHVAR_TESTS_PROPERTY_PROMPT_TEXT_H_

#include <cstdint>
#include <vector>

#include "sim/base/rng.h"
#include "sim/serving/request.h"

namespace batchvar {

using TextHash = uint64_t;

// Element n names the first n tokens of request `index`, for every n up to `num_tokens`.
inline std::vector<TextHash> HashesOfText(const Request& request, int32_t index,
                                          int32_t num_tokens) {
  std::vector<TextHash> hashes = {0};
  const auto append = [&hashes](uint64_t text, uint32_t offset) {
    const TextHash before = hashes.back();
    const PhiloxCounter mixed =
        Philox4x32({static_cast<uint32_t>(before), static_cast<uint32_t>(before >> 32), offset, 0},
                   {static_cast<uint32_t>(text), static_cast<uint32_t>(text >> 32)});
    hashes.push_back(uint64_t{mixed[1]} << 32 | mixed[0]);
  };
  for (const PrefixSegment& segment : request.prefix) {
    for (int32_t i = 0; i < segment.length; ++i) {
      append(segment.segment, static_cast<uint32_t>(i));
    }
  }
  const uint64_t own = (uint64_t{1} << 63) + static_cast<uint64_t>(index);
  while (static_cast<int32_t>(hashes.size()) <= num_tokens) {
    append(own, static_cast<uint32_t>(hashes.size()));
  }
  return hashes;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_PROMPT_TEXT_H_
