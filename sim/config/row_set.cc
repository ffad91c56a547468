#include "sim/config/row_set.h"

#include <algorithm>

#include "sim/config/config_reader.h"
#include "sim/config/scalar_text.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxCount = 1 << 20;  // a table of more rows is a mistake

absl::Status Add(const ConfigNode& node, const std::string& field, std::vector<int64_t>* rows) {
  if (!node.IsScalar()) {
    return ConfigError(
        node.mark.At(field),
        "must be an integer or a range such as \"1..256\", not " + std::string(KindName(node)));
  }
  const size_t dots = node.text.find("..");
  const std::string low = node.text.substr(0, dots);
  const std::string high = dots == std::string::npos ? low : node.text.substr(dots + 2);
  int64_t first = 0;
  int64_t last = 0;
  for (const auto& [text, value] : {std::pair(low, &first), std::pair(high, &last)}) {
    const std::string problem = ParseInteger(text, value);
    if (problem.empty()) continue;
    return ConfigError(node.mark.At(field), problem +
                                                " (give an integer, a list of integers, or "
                                                "a range such as \"1..256\")");
  }
  if (first < 1 || last < first || last > kMaxInt32) {
    return ConfigError(node.mark.At(field),
                       "'" + node.text + "' must lie between 1 and " + std::to_string(kMaxInt32) +
                           (dots == std::string::npos ? "" : ", low end first"));
  }
  if (last - first >= kMaxCount - static_cast<int64_t>(rows->size())) {
    return ConfigError(node.mark.At(field),
                       "names more than " + std::to_string(kMaxCount) + " values");
  }
  for (int64_t m = first; m <= last; ++m) rows->push_back(m);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReadRowSet(const ConfigNode& node, const std::string& field) {
  std::vector<int64_t> rows;
  if (!node.IsSequence()) {
    const absl::Status status = Add(node, field, &rows);
    if (!status.ok()) return status;
    return rows;
  }
  for (const ConfigNode& item : node.items) {
    const absl::Status status = Add(item, field, &rows);
    if (!status.ok()) return status;
  }
  if (rows.empty()) return ConfigError(node.mark.At(field), "is an empty list");
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace batchvar
