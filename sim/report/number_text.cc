#include "sim/report/number_text.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "sim/replay/class_table.h"

namespace batchvar {

std::string WithThousands(int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return value < 0 ? "-" + digits : digits;
}

std::string Fixed(double value, int digits) { return absl::StrFormat("%.*f", digits, value); }

std::string RangesWithin(const std::vector<int64_t>& values, const std::vector<int64_t>& all) {
  std::string text;
  for (const auto& [first, last] : JoinNeighbours(values, all)) {
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (last > first) text += ".." + std::to_string(last);
  }
  return text;
}

std::string AlignedTable(const std::vector<std::vector<std::string>>& rows, size_t left,
                         const std::string& indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = indent;
    for (size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      const std::string pad(widths[c] - row[c].size(), ' ');
      line += c < left ? row[c] + pad : pad + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace batchvar
