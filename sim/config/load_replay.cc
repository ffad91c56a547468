#include "sim/config/load_replay.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "sim/config/config_files.h"
#include "sim/config/config_overrides.h"
#include "sim/config/config_reader.h"
#include "sim/config/load_experiment.h"
#include "sim/config/spec_names.h"
#include "sim/config/weights_key.h"

namespace batchvar {
namespace {

constexpr char kBlock[] = "execute";

void ReadRequests(MapReader* reader, std::vector<std::string>* requests) {
  const ConfigNode* list = reader->Child("requests");
  if (list == nullptr) return;
  const bool words = list->IsSequence() && !list->items.empty() &&
                     std::all_of(list->items.begin(), list->items.end(),
                                 [](const ConfigNode& item) { return item.IsScalar(); });
  if (!words) return reader->Error("requests", "must be a list of request ids such as [r5, r17]");
  for (const ConfigNode& item : list->items) {
    if (std::find(requests->begin(), requests->end(), item.text) != requests->end()) {
      return reader->Error("requests", "names '" + item.text + "' twice");
    }
    requests->push_back(item.text);
  }
}

// `model` of the map is read where weights are synthetic; without it the planned model is executed.
absl::StatusOr<ExecutionSpec> ReadExecution(const ConfigNode& node, const std::string& folder,
                                            const ModelSpec& planned) {
  ExecutionSpec execution;
  FirstError errors;
  MapReader reader(node, kBlock, &errors);
  reader.Require({"requests", "weights"});
  ReadRequests(&reader, &execution.requests);
  ReadWeights(&reader, &errors, &execution.weights, &execution.synthetic);
  reader.Enum("logits", kLogitTypeNames, &execution.logits);
  const ConfigNode* model = reader.Child("model");
  if (model != nullptr && !execution.synthetic.has_value()) {
    reader.Refuse({"model"}, "weights of a folder, which say what model they are");
  }
  reader.Finish();
  if (!errors.ok()) return errors.status();
  if (!execution.synthetic.has_value()) return execution;
  execution.synthetic->model = planned;
  if (model != nullptr) {
    absl::StatusOr<ModelSpec> own = ReadExecutedModel(model, node.mark, folder);
    if (!own.ok()) return own.status();
    execution.synthetic->model = *std::move(own);
  }
  execution.weights = execution.synthetic->model.name;
  return execution;
}

absl::StatusOr<ReplaySpec> LoadTree(ConfigNode root, const std::string& name,
                                    const std::string& folder,
                                    const std::vector<std::string>& overrides) {
  std::vector<ConfigOverride> others;
  for (const std::string& assignment : overrides) {
    absl::StatusOr<ConfigOverride> parsed = ParseOverride(assignment);
    if (!parsed.ok()) return parsed.status();
    const bool of_block =
        root.IsMap() && (parsed->key == kBlock || absl::StartsWith(parsed->key, "execute."));
    if (!of_block) {
      others.push_back(*std::move(parsed));
    } else if (absl::Status status = ApplyOverride(*parsed, folder, &root); !status.ok()) {
      return status;
    }
  }
  std::optional<ConfigNode> block;
  if (const ConfigEntry* entry = root.Find(kBlock); entry != nullptr) block = entry->value;
  std::erase_if(root.entries, [](const ConfigEntry& entry) { return entry.key == kBlock; });
  absl::StatusOr<ExperimentSpec> experiment = LoadExperimentTree(root, name, folder, others);
  if (!experiment.ok()) return experiment.status();
  ReplaySpec replay;
  replay.experiment = *std::move(experiment);
  const SchedulerConfig& scheduler = replay.experiment.scheduler;
  if (block.has_value() && scheduler.policy == SchedulerPolicy::kSglang &&
      !scheduler.sglang.disable_radix_cache) {
    return ConfigError(block->mark.At(kBlock),
                       "needs scheduler.disable_radix_cache: true under policy 'sglang', whose "
                       "cache does not say who computed what a request finds in it");
  }
  if (block.has_value()) {
    absl::StatusOr<ExecutionSpec> execution =
        ReadExecution(*block, folder, replay.experiment.model);
    if (!execution.ok()) return execution.status();
    replay.execute = *std::move(execution);
  }
  return replay;
}

}  // namespace

absl::StatusOr<ReplaySpec> LoadReplay(const std::string& path,
                                      const std::vector<std::string>& overrides) {
  absl::StatusOr<ConfigNode> root = ParseYamlFile(path);
  if (!root.ok()) return root.status();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return LoadTree(*std::move(root), path, folder, overrides);
}

absl::StatusOr<ReplaySpec> LoadReplayText(const std::string& text, const std::string& name,
                                          const std::string& folder,
                                          const std::vector<std::string>& overrides) {
  absl::StatusOr<ConfigNode> root = ParseYaml(text, name);
  if (!root.ok()) return root.status();
  return LoadTree(*std::move(root), name, folder, overrides);
}

bool IsExecutionFile(const std::string& path) {
  const absl::StatusOr<ConfigNode> root = ParseYamlFile(path);
  return root.ok() && root->Find(kBlock) != nullptr;
}

}  // namespace batchvar
