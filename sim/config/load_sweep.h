// A sweep file: a base experiment, keys that vary, and the command to run for every combination.
// docs/sweep.md says how to write one.
#ifndef BATCHVAR_SIM_CONFIG_LOAD_SWEEP_H_
#define BATCHVAR_SIM_CONFIG_LOAD_SWEEP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/config_node.h"
#include "sim/config/config_overrides.h"
#include "sim/config/experiment_spec.h"
#include "sim/config/trials_spec.h"

namespace batchvar {

enum class SweepCommand : uint8_t { kPlan, kClasses, kSimulate, kExperiment };

const char* SweepCommandName(SweepCommand command);
// Runs a server, whose steps have the M that they have.
inline bool MakesOwnSteps(SweepCommand command) {
  return command == SweepCommand::kSimulate || command == SweepCommand::kExperiment;
}

// The swept keys that are not keys of experiments. They mean what the flags of `classes` mean.
inline constexpr char kRowsKey[] = "m";        // M of plan, and the range of M of classes
inline constexpr char kKvLenKey[] = "kv_len";  // of M requests: adds attention to both commands
inline constexpr char kQLenKey[] = "q_len";    // query tokens of each of them; 1
bool IsStepKey(std::string_view key);

// Attention plans a whole step of M requests, so M has a lower limit there.
inline constexpr int64_t kMaxAttentionBatch = 16384;
inline constexpr int64_t kMaxKvLens = 1024;

struct SweepCell {
  std::string label;                 // of a scenario or an included cell; else empty
  std::vector<ConfigOverride> sets;  // the swept keys, those of the step among them
  std::vector<int64_t> rows;         // plan: one M; classes: all of them; others: none
  std::vector<int64_t> kv_lens;      // attention at each of them; plan: at most one
  int64_t q_len = 1;                 // at most any KV length

  const ConfigOverride* Find(std::string_view key) const;  // nullptr when the cell does not set it
};

struct SweepSpec {
  std::string file;  // as typed
  SweepCommand command = SweepCommand::kPlan;
  ConfigNode base;
  std::string base_name;              // stands for the base in messages
  std::string base_folder;            // where relative paths begin, those of swept values too
  std::vector<ConfigOverride> flags;  // --set of keys that are not swept
  std::vector<std::string> keys;      // swept ones, in order of appearance
  std::vector<SweepCell> cells;       // at least one
  std::string request;                // simulate: whose life every cell tells; empty: nobody's
  std::string gate;                   // as written; empty without one
  SourceMark gate_mark;
};

// `overrides` are --set flags. KEY=A,B makes KEY a swept one, or gives a swept KEY of a grid other
// values.
absl::StatusOr<SweepSpec> LoadSweep(const std::string& path,
                                    const std::vector<std::string>& overrides);
absl::StatusOr<SweepSpec> LoadSweepText(const std::string& text, const std::string& name,
                                        const std::string& folder,
                                        const std::vector<std::string>& overrides);

// The experiment of every cell, or what is wrong with it. A key that does not exist is an error of
// the whole sweep, and so is a mistake that leaves no cell. Of command `experiment`: what the arms
// of a cell share.
absl::StatusOr<std::vector<absl::StatusOr<ExperimentSpec>>> LoadCells(const SweepSpec& sweep);
// The arms and trials of every cell of command `experiment`, else as LoadCells.
absl::StatusOr<std::vector<absl::StatusOr<TrialsSpec>>> LoadTrialCells(const SweepSpec& sweep);
// The base with the flags and no cell's values.
absl::StatusOr<ExperimentSpec> LoadBase(const SweepSpec& sweep);

// True for a YAML file with a `sweep` key. False when it cannot be read: whoever loads it says why.
bool IsSweepFile(const std::string& path);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_LOAD_SWEEP_H_
