// Cells of a sweep from its parameters: grids, zips, and which cells an `exclude` removes. Internal
// to this room; load_sweep.h is its door.
#ifndef BATCHVAR_SIM_CONFIG_SWEEP_CELLS_H_
#define BATCHVAR_SIM_CONFIG_SWEEP_CELLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/config_overrides.h"
#include "sim/config/load_sweep.h"

namespace batchvar {

// One key and the values it takes.
struct SweptKey {
  std::string key;
  SourceMark mark;
  std::vector<ConfigNode> values;
};

inline constexpr size_t kMaxCells = 20'000;

// Every cell of `cells` with every combination of the keys' values; the last key varies fastest.
absl::StatusOr<std::vector<SweepCell>> TimesGrid(const std::vector<SweepCell>& cells,
                                                 const std::vector<SweptKey>& keys);
// The first values of all keys, then the second ones. Keys with other numbers of values are errors.
absl::StatusOr<std::vector<SweepCell>> ZipCells(const std::vector<SweptKey>& keys);

// Equal scalars are equal as text or as numbers, quotes aside.
bool SameValue(const ConfigNode& a, const ConfigNode& b);
// The cell has every key of `partial`, with these values.
bool Matches(const SweepCell& cell, const std::vector<ConfigOverride>& partial);

// Splits at commas that lie outside quotes, brackets and braces.
std::vector<std::string> SplitAtCommas(const std::string& text);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_SWEEP_CELLS_H_
