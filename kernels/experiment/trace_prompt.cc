#include "kernels/experiment/trace_prompt.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "sim/base/rng.h"

namespace batchvar {

std::vector<int64_t> TracePrompt(const Request& request, int64_t vocab_size, uint64_t seed) {
  std::vector<int64_t> tokens;
  const auto append = [&](const std::string& stream_name, int64_t count) {
    RandomStream stream(seed, stream_name);
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<int64_t>(stream.NextBelow(static_cast<uint64_t>(vocab_size))));
    }
  };
  for (const PrefixSegment& segment : request.prefix) {
    const int64_t left = request.prompt_tokens - std::ssize(tokens);
    append(absl::StrCat("execute.segment.", segment.segment),
           std::min<int64_t>(segment.length, left));
  }
  append(absl::StrCat("execute.prompt.", request.id), request.prompt_tokens - std::ssize(tokens));
  return tokens;
}

}  // namespace batchvar
