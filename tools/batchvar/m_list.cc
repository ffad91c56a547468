#include "tools/batchvar/m_list.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxValue = std::numeric_limits<int32_t>::max();

// 0 when the text is no number from 1 to kMaxValue.
int64_t NumberIn(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 1 && value <= kMaxValue ? value : 0;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ParseMList(const std::string& flag, const std::string& text,
                                                int64_t max_count) {
  const auto error = [&flag](const std::string& message) {
    return ConfigError({.field = flag}, message);
  };
  std::vector<int64_t> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t dots = part.find("..");
    const bool is_range = dots != std::string::npos;
    const int64_t first = NumberIn(part.substr(0, dots));
    const int64_t last = is_range ? NumberIn(part.substr(dots + 2)) : first;
    if (first == 0 || last == 0) {
      return error(absl::StrCat("'", part, "' is neither a number from 1 to ", kMaxValue,
                                " nor a range such as 1..256"));
    }
    if (last < first) return error(absl::StrCat("the range ", part, " runs backwards"));
    if (last - first >= max_count - static_cast<int64_t>(values.size())) {
      return error(absl::StrCat("has more than ", max_count, " values"));
    }
    for (int64_t value = first; value <= last; ++value) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace batchvar
