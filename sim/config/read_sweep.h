// What a sweep file and the --set flags say, before cells are made of it. Internal to this room;
// load_sweep.h is its door.
#ifndef BATCHVAR_SIM_CONFIG_READ_SWEEP_H_
#define BATCHVAR_SIM_CONFIG_READ_SWEEP_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sim/config/load_sweep.h"
#include "sim/config/sweep_cells.h"

namespace batchvar {

enum class SweepType { kGrid, kZip, kScenarios };

struct SweepParts {
  SweepType type = SweepType::kGrid;
  std::vector<SweptKey> parameters;  // of the file
  std::vector<SweptKey> flag_keys;   // of --set KEY=A,B
  std::vector<SweepCell> scenarios;
  std::vector<SweepCell> excluded;
  std::vector<SweepCell> included;
};

// Fills `parts`, and everything of `sweep` but its keys and cells. sweep->file is set already;
// `folder` is the file's.
absl::Status ReadSweepParts(const ConfigNode& root, const std::string& folder,
                            const std::vector<std::string>& overrides, SweepSpec* sweep,
                            SweepParts* parts);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_READ_SWEEP_H_
