#include "sim/config/load_sweep.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/config/config_files.h"
#include "sim/config/config_reader.h"
#include "sim/config/load_experiment.h"
#include "sim/config/load_trials.h"
#include "sim/config/read_sweep.h"
#include "sim/config/row_set.h"
#include "sim/config/sweep_cells.h"

namespace batchvar {
namespace {

constexpr int64_t kDefaultMaxRows = 256;  // of `classes` without m

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void AddKeys(const SweepCell& cell, std::vector<std::string>* keys) {
  for (const ConfigOverride& set : cell.sets) {
    if (!Contains(*keys, set.key)) keys->push_back(set.key);
  }
}

absl::Status Exclude(const SweepCell& excluded, const std::vector<std::string>& keys,
                     std::vector<SweepCell>* cells) {
  for (const ConfigOverride& set : excluded.sets) {
    if (Contains(keys, set.key)) continue;
    return UnknownKeyError(set.mark.At("sweep.exclude"),
                           "'" + set.key + "' is not swept" + DidYouMean(set.key, keys));
  }
  std::erase_if(*cells, [&](const SweepCell& cell) { return Matches(cell, excluded.sets); });
  return absl::OkStatus();
}

// First what the type makes, times the flags' lists; then `exclude`, then `include`.
absl::Status MakeCells(const SweepParts& parts, SweepSpec* sweep) {
  absl::StatusOr<std::vector<SweepCell>> cells = std::vector<SweepCell>(1);
  switch (parts.type) {
    case SweepType::kGrid: cells = TimesGrid(*cells, parts.parameters); break;
    case SweepType::kZip: cells = ZipCells(parts.parameters); break;
    case SweepType::kScenarios: cells = parts.scenarios; break;
  }
  if (cells.ok()) cells = TimesGrid(*cells, parts.flag_keys);
  if (!cells.ok()) return cells.status();
  for (const SweepCell& cell : *cells) AddKeys(cell, &sweep->keys);
  for (const SweepCell& excluded : parts.excluded) {
    const absl::Status status = Exclude(excluded, sweep->keys, &*cells);
    if (!status.ok()) return status;
  }
  for (const SweepCell& cell : parts.included) {
    AddKeys(cell, &sweep->keys);
    cells->push_back(cell);
  }
  if (cells->empty()) return ConfigError({sweep->file, 0, 0, "sweep"}, "has no cells left");
  for (const ConfigOverride& flag : sweep->flags) {
    if (!Contains(sweep->keys, flag.key)) continue;
    return ConfigError(flag.mark.At(flag.key), "is set by the sweep's own cells");
  }
  sweep->cells = *std::move(cells);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> RowsOfCell(const SweepSpec& sweep, const SweepCell& cell) {
  std::vector<int64_t> rows;
  if (MakesOwnSteps(sweep.command)) return rows;
  const ConfigOverride* m = cell.Find(kRowsKey);
  if (m != nullptr) {
    absl::StatusOr<std::vector<int64_t>> read = ReadRowSet(m->value, kRowsKey);
    if (read.ok() && sweep.command == SweepCommand::kPlan && read->size() != 1) {
      return ConfigError(m->value.mark.At(kRowsKey), "must be one M in a cell of command 'plan'");
    }
    return read;
  }
  if (sweep.command == SweepCommand::kPlan) {
    // A scenario may have a label and nothing else.
    const SourceMark mark =
        cell.sets.empty() ? SourceMark{sweep.file, 0, 0} : cell.sets.front().mark;
    return ConfigError(mark.At(kRowsKey), "is required by command 'plan', as in m: [1, 16, 64]");
  }
  for (int64_t row = 1; row <= kDefaultMaxRows; ++row) rows.push_back(row);
  return rows;
}

// Reads `kv_len` and `q_len`, after the rows.
absl::Status ReadLengths(const SweepSpec& sweep, SweepCell* cell) {
  const ConfigOverride* kv_len = cell->Find(kKvLenKey);
  const ConfigOverride* q_len = cell->Find(kQLenKey);
  if (kv_len == nullptr) {
    if (q_len == nullptr) return absl::OkStatus();
    return ConfigError(q_len->mark.At(kQLenKey), "is of use only with kv_len");
  }
  const Location where = kv_len->value.mark.At(kKvLenKey);
  absl::StatusOr<std::vector<int64_t>> lengths = ReadRowSet(kv_len->value, kKvLenKey);
  if (!lengths.ok()) return lengths.status();
  cell->kv_lens = *std::move(lengths);
  if (sweep.command == SweepCommand::kPlan && cell->kv_lens.size() != 1) {
    return ConfigError(where, "must be one length in a cell of command 'plan'");
  }
  if (std::ssize(cell->kv_lens) > kMaxKvLens) {
    return ConfigError(where, "has more than " + std::to_string(kMaxKvLens) + " values");
  }
  if (cell->rows.back() > kMaxAttentionBatch) {
    return ConfigError(where, "needs an m of at most " + std::to_string(kMaxAttentionBatch) +
                                  ": M is then a number of requests");
  }
  if (q_len == nullptr) return absl::OkStatus();
  const absl::StatusOr<std::vector<int64_t>> tokens = ReadRowSet(q_len->value, kQLenKey);
  if (!tokens.ok()) return tokens.status();
  cell->q_len = tokens->front();
  if (tokens->size() == 1 && cell->q_len <= cell->kv_lens.front()) return absl::OkStatus();
  return ConfigError(
      q_len->value.mark.At(kQLenKey),
      "must be one number from 1 to the shortest kv_len, " + std::to_string(cell->kv_lens.front()));
}

// Values in the order in which they are layered: flags over the base, the cell's over them, whole
// parts before what lies inside them, and last the flags that reach into a part that the cell sets.
std::vector<ConfigOverride> LayersOf(const SweepSpec& sweep, const SweepCell& cell) {
  std::vector<ConfigOverride> layers = sweep.flags;
  std::vector<ConfigOverride> sets;
  for (const ConfigOverride& set : cell.sets) {
    if (!IsStepKey(set.key)) sets.push_back(set);
  }
  const auto depth = [](const ConfigOverride& set) {
    return std::count(set.key.begin(), set.key.end(), '.');
  };
  std::stable_sort(sets.begin(), sets.end(), [&](const ConfigOverride& a, const ConfigOverride& b) {
    return depth(a) < depth(b);
  });
  layers.insert(layers.end(), sets.begin(), sets.end());
  for (const ConfigOverride& flag : sweep.flags) {
    const bool inside = std::any_of(sets.begin(), sets.end(), [&](const ConfigOverride& set) {
      return flag.key.starts_with(set.key + ".");
    });
    if (inside) layers.push_back(flag);
  }
  return layers;
}

absl::StatusOr<SweepSpec> LoadTree(const absl::StatusOr<ConfigNode>& root, const std::string& name,
                                   const std::string& folder,
                                   const std::vector<std::string>& overrides) {
  if (!root.ok()) return root.status();
  if (!root->IsMap()) {
    return ConfigError({name, 0, 0, ""}, "must hold a sweep's keys: base, command and sweep");
  }
  if (root->Find("sweep") == nullptr && root->Find("model") != nullptr) {
    return ConfigError({name, 0, 0, ""},
                       "is an experiment; a sweep has the keys base, command and sweep");
  }
  SweepSpec sweep;
  sweep.file = name;
  SweepParts parts;
  absl::Status status = ReadSweepParts(*root, folder, overrides, &sweep, &parts);
  if (status.ok()) status = MakeCells(parts, &sweep);
  if (!status.ok()) return status;
  for (SweepCell& cell : sweep.cells) {
    absl::StatusOr<std::vector<int64_t>> rows = RowsOfCell(sweep, cell);
    if (!rows.ok()) return rows.status();
    cell.rows = *std::move(rows);
    status = ReadLengths(sweep, &cell);
    if (!status.ok()) return status;
  }
  return sweep;
}

}  // namespace

bool IsStepKey(std::string_view key) {
  return key == kRowsKey || key == kKvLenKey || key == kQLenKey;
}

const ConfigOverride* SweepCell::Find(std::string_view key) const {
  for (const ConfigOverride& set : sets) {
    if (set.key == key) return &set;
  }
  return nullptr;
}

absl::StatusOr<SweepSpec> LoadSweep(const std::string& path,
                                    const std::vector<std::string>& overrides) {
  return LoadTree(ParseYamlFile(path), path, std::filesystem::path(path).parent_path().string(),
                  overrides);
}

absl::StatusOr<SweepSpec> LoadSweepText(const std::string& text, const std::string& name,
                                        const std::string& folder,
                                        const std::vector<std::string>& overrides) {
  return LoadTree(ParseYaml(text, name), name, folder, overrides);
}

absl::StatusOr<ExperimentSpec> LoadBase(const SweepSpec& sweep) {
  if (sweep.command == SweepCommand::kExperiment) {
    absl::StatusOr<TrialsSpec> trials =
        LoadTrialsTree(sweep.base, sweep.base_name, sweep.base_folder, sweep.flags);
    if (!trials.ok()) return trials.status();
    return trials->base;
  }
  return LoadExperimentTree(sweep.base, sweep.base_name, sweep.base_folder, sweep.flags);
}

namespace {

// Every cell through `load`, which takes the base and the cell's layers.
template <typename Spec, typename Load>
absl::StatusOr<std::vector<absl::StatusOr<Spec>>> LoadEach(const SweepSpec& sweep,
                                                           const Load& load) {
  // Files that the base names are read once. A wrong name stays: a cell may replace it.
  ConfigNode base = sweep.base;
  for (ConfigEntry& entry : base.entries) {
    const ReferencePart* part = FindReferencePart(entry.key);
    if (part != nullptr) InlineReference(*part, sweep.base_folder, &entry.value).IgnoreError();
  }
  std::vector<absl::StatusOr<Spec>> specs;
  bool any = false;
  for (const SweepCell& cell : sweep.cells) {
    specs.push_back(load(base, LayersOf(sweep, cell)));
    const absl::Status& status = specs.back().status();
    if (IsUnknownKeyError(status)) return status;
    any = any || status.ok();
  }
  if (!any) return specs.front().status();
  return specs;
}

}  // namespace

absl::StatusOr<std::vector<absl::StatusOr<TrialsSpec>>> LoadTrialCells(const SweepSpec& sweep) {
  return LoadEach<TrialsSpec>(
      sweep, [&sweep](const ConfigNode&, const std::vector<ConfigOverride>& layers) {
        // The tree as it stands: a model's name is that of its weights, too.
        return LoadTrialsTree(sweep.base, sweep.base_name, sweep.base_folder, layers);
      });
}

absl::StatusOr<std::vector<absl::StatusOr<ExperimentSpec>>> LoadCells(const SweepSpec& sweep) {
  if (sweep.command != SweepCommand::kExperiment) {
    return LoadEach<ExperimentSpec>(
        sweep, [&sweep](const ConfigNode& base, const std::vector<ConfigOverride>& layers) {
          return LoadExperimentTree(base, sweep.base_name, sweep.base_folder, layers);
        });
  }
  const auto trials = LoadTrialCells(sweep);
  if (!trials.ok()) return trials.status();
  std::vector<absl::StatusOr<ExperimentSpec>> experiments;
  for (const absl::StatusOr<TrialsSpec>& cell : *trials) {
    experiments.push_back(cell.ok() ? absl::StatusOr<ExperimentSpec>(cell->base)
                                    : absl::StatusOr<ExperimentSpec>(cell.status()));
  }
  return experiments;
}

bool IsSweepFile(const std::string& path) {
  const absl::StatusOr<ConfigNode> root = ParseYamlFile(path);
  return root.ok() && root->Find("sweep") != nullptr;
}

}  // namespace batchvar
