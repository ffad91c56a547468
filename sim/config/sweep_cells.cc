#include "sim/config/sweep_cells.h"

#include <utility>

#include "sim/config/scalar_text.h"
#include "sim/status/located_error.h"

namespace batchvar {

absl::StatusOr<std::vector<SweepCell>> TimesGrid(const std::vector<SweepCell>& cells,
                                                 const std::vector<SweptKey>& keys) {
  std::vector<SweepCell> grid = cells;
  for (const SweptKey& key : keys) {
    std::vector<SweepCell> longer;
    if (grid.size() * key.values.size() > kMaxCells) {
      return ConfigError(key.mark.At(key.key), "makes more than " + std::to_string(kMaxCells) +
                                                   " cells; sweep fewer values");
    }
    longer.reserve(grid.size() * key.values.size());
    for (const SweepCell& cell : grid) {
      for (const ConfigNode& value : key.values) {
        longer.push_back(cell);
        longer.back().sets.push_back({key.key, key.mark, value});
      }
    }
    grid = std::move(longer);
  }
  return grid;
}

absl::StatusOr<std::vector<SweepCell>> ZipCells(const std::vector<SweptKey>& keys) {
  std::vector<SweepCell> cells(keys.empty() ? 0 : keys.front().values.size());
  for (const SweptKey& key : keys) {
    if (key.values.size() != cells.size()) {
      return ConfigError(key.mark.At(key.key), "has " + std::to_string(key.values.size()) +
                                                   " values and '" + keys.front().key + "' has " +
                                                   std::to_string(cells.size()) +
                                                   "; a zip takes lists of equal length");
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      cells[i].sets.push_back({key.key, key.mark, key.values[i]});
    }
  }
  return cells;
}

bool SameValue(const ConfigNode& a, const ConfigNode& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  if (a.entries.size() != b.entries.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!SameValue(a.items[i], b.items[i])) return false;
  }
  for (const ConfigEntry& entry : a.entries) {
    const ConfigEntry* other = b.Find(entry.key);
    if (other == nullptr || !SameValue(entry.value, other->value)) return false;
  }
  if (!a.IsScalar() || a.text == b.text) return true;
  double x = 0;
  double y = 0;
  return ParseNumber(a.text, &x).empty() && ParseNumber(b.text, &y).empty() && x == y;
}

bool Matches(const SweepCell& cell, const std::vector<ConfigOverride>& partial) {
  for (const ConfigOverride& wanted : partial) {
    const ConfigOverride* set = cell.Find(wanted.key);
    if (set == nullptr || !SameValue(set->value, wanted.value)) return false;
  }
  return true;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
    if (c == ',' && depth == 0 && quote == '\0') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace batchvar
