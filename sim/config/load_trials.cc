#include "sim/config/load_trials.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/config/config_files.h"
#include "sim/config/config_overrides.h"
#include "sim/config/config_reader.h"
#include "sim/config/load_experiment.h"
#include "sim/config/spec_names.h"
#include "sim/config/weights_key.h"

namespace batchvar {
namespace {

constexpr char kBlock[] = "experiment";
constexpr int64_t kMaxTrials = 10000;
constexpr int64_t kMaxFillers = 100000;

void RemoveKey(const std::string& key, ConfigNode* map) {
  std::erase_if(map->entries, [&key](const ConfigEntry& entry) { return entry.key == key; });
}

// Token ids of a list; MapReader::Integers is for int32, which ids fit.
void ReadPrompt(MapReader* reader, TrialsSpec* trials) {
  std::vector<int32_t> ids;
  reader->Text("prompt", &trials->prompt);
  reader->Integers("prompt_ids", 0, kMaxInt32, &ids);
  trials->prompt_ids.assign(ids.begin(), ids.end());
  if (trials->synthetic.has_value() && !trials->prompt.empty()) {
    reader->Error("prompt", "synthetic weights have no tokenizer; give prompt_ids");
  }
  if (trials->prompt.empty() == trials->prompt_ids.empty()) {
    reader->Error("prompt", "give either prompt (text) or prompt_ids (a list)");
  }
}

void ReadFillers(const ConfigNode* node, FirstError* errors, TrialsSpec* trials) {
  if (node == nullptr) return;
  MapReader reader(*node, "experiment.fillers", errors);
  reader.Integer("prompt_tokens", 1, kMaxTokens, &trials->filler_prompt_tokens);
  reader.Integer("output_tokens", 1, kMaxTokens, &trials->filler_output_tokens);
  reader.Finish();
}

// The overrides of an arm, in file order.
std::vector<ConfigOverride> OverridesOf(const ConfigNode* set, FirstError* errors) {
  std::vector<ConfigOverride> overrides;
  if (set == nullptr) return overrides;
  if (!set->IsMap()) {
    errors->Add(ConfigError(set->mark.At("experiment.arms.set"),
                            "must be a map from dotted keys to values"));
    return overrides;
  }
  for (const ConfigEntry& entry : set->entries) {
    overrides.push_back({entry.key, entry.key_mark, entry.value});
  }
  return overrides;
}

ArmSpec ReadArm(const ConfigNode& node, FirstError* errors) {
  ArmSpec arm;
  MapReader reader(node, "experiment.arms", errors);
  reader.Require({"name"});
  reader.Text("name", &arm.name);
  reader.Text("against", &arm.against);
  reader.Integer("fillers", 0, kMaxFillers, &arm.fillers);
  reader.Bool("warm", &arm.warm);
  reader.Unsigned("seed", &arm.seed);
  reader.Unsigned("kv_placement", &arm.kv_placement);
  arm.set = OverridesOf(reader.Child("set"), errors);
  reader.Finish();
  return arm;
}

// The last arm's name is new, and it is compared with one that has run before it.
void CheckNames(const std::vector<ArmSpec>& arms, MapReader* reader) {
  const ArmSpec& last = arms.back();
  std::vector<std::string> earlier;
  for (size_t i = 0; i + 1 < arms.size(); ++i) earlier.push_back(arms[i].name);
  const auto is_earlier = [&earlier](const std::string& name) {
    return std::find(earlier.begin(), earlier.end(), name) != earlier.end();
  };
  if (is_earlier(last.name)) reader->Error("arms", "two arms are called '" + last.name + "'");
  if (!last.against.empty() && !is_earlier(last.against)) {
    reader->Error("arms", "arm '" + last.name + "' is compared with '" + last.against +
                              "', which is no earlier arm" + DidYouMean(last.against, earlier));
  }
}

std::vector<ArmSpec> ReadArms(MapReader* reader, FirstError* errors) {
  std::vector<ArmSpec> arms;
  const ConfigNode* list = reader->Child("arms");
  if (list == nullptr) return arms;
  if (!list->IsSequence() || list->items.empty()) {
    reader->Error("arms", "must be a list of arms such as - {name: load, fillers: 63}");
    return arms;
  }
  for (const ConfigNode& item : list->items) {
    arms.push_back(ReadArm(item, errors));
    CheckNames(arms, reader);
    if (arms.back().against.empty()) arms.back().against = arms.front().name;
  }
  return arms;
}

// The block's own keys; arms still without their specs.
std::vector<ArmSpec> ReadBlock(const ConfigNode& node, FirstError* errors, TrialsSpec* trials) {
  MapReader reader(node, kBlock, errors);
  reader.Require({"arms"});
  ReadWeights(&reader, errors, &trials->weights, &trials->synthetic);
  ReadPrompt(&reader, trials);
  reader.Bool("add_bos", &trials->add_bos);
  reader.Integer("max_tokens", 1, kMaxTokens, &trials->max_tokens);
  reader.Integer("trials", 1, kMaxTrials, &trials->trials);
  reader.Number("window_s", NumberRange::AtLeast(0), &trials->window_s);
  reader.Enum("logits", kLogitTypeNames, &trials->logits);
  ReadFillers(reader.Child("fillers"), errors, trials);
  std::vector<ArmSpec> arms = ReadArms(&reader, errors);
  reader.Finish();
  return arms;
}

// What is left is an ordinary experiment: the planned model in the place of the executed one, and
// a workload that nobody will run.
void MakeOrdinary(ConfigNode* root, TrialsSpec* trials) {
  const ConfigEntry* model = root->Find("model");
  const ConfigEntry* plan_model = root->Find("plan_model");
  if (trials->weights.empty() && model != nullptr) trials->weights = model->value.text;
  if (plan_model != nullptr) {
    trials->plan_model = plan_model->value.text;
    const ConfigEntry planned = *plan_model;
    RemoveKey("plan_model", root);
    root->Set("model", planned.key_mark, planned.value);
  }
  RemoveKey(kBlock, root);
  if (root->Find("workload") == nullptr) {
    const absl::StatusOr<ConfigNode> workload = ParseYaml(
        "{arrivals: {process: all_at_once}, prompt_len: {fixed: 1}, output_len: {fixed: 1}, "
        "num_requests: 1}",
        kBlock);
    root->Set("workload", root->mark, *workload);
  }
}

absl::StatusOr<TrialsSpec> LoadTree(const absl::StatusOr<ConfigNode>& root, const std::string& name,
                                    const std::string& folder,
                                    const std::vector<std::string>& flags) {
  if (!root.ok()) return root.status();
  std::vector<ConfigOverride> overrides;
  for (const std::string& assignment : flags) {
    absl::StatusOr<ConfigOverride> parsed = ParseOverride(assignment);
    if (!parsed.ok()) return parsed.status();
    overrides.push_back(*std::move(parsed));
  }
  return LoadTrialsTree(*root, name, folder, overrides);
}

}  // namespace

absl::StatusOr<TrialsSpec> LoadTrialsTree(ConfigNode root, const std::string& name,
                                          const std::string& folder,
                                          const std::vector<ConfigOverride>& overrides) {
  for (const ConfigOverride& layer : overrides) {
    if (absl::Status status = ApplyOverride(layer, folder, &root); !status.ok()) return status;
  }
  const ConfigEntry* block = root.Find(kBlock);
  if (block == nullptr) {
    return ConfigError({name, 0, 0, kBlock},
                       "is missing: it says what is sent and in which arms; "
                       "configs/experiments/chapter.yaml is an example");
  }
  TrialsSpec trials;
  FirstError errors;
  trials.arms = ReadBlock(block->value, &errors, &trials);
  if (!errors.ok()) return errors.status();
  if (trials.synthetic.has_value()) {
    const ConfigEntry* model = root.Find("model");
    const absl::StatusOr<ModelSpec> executed =
        ReadExecutedModel(model == nullptr ? nullptr : &model->value, root.mark, folder);
    if (!executed.ok()) return executed.status();
    trials.synthetic->model = *executed;
    trials.weights = executed->name;
  }
  MakeOrdinary(&root, &trials);
  absl::StatusOr<ExperimentSpec> base = LoadExperimentTree(root, name, folder, {});
  if (!base.ok()) return base.status();
  trials.base = *std::move(base);
  for (ArmSpec& arm : trials.arms) {
    absl::StatusOr<ExperimentSpec> spec = LoadExperimentTree(root, name, folder, arm.set);
    if (!spec.ok()) return spec.status();
    arm.spec = *std::move(spec);
  }
  return trials;
}

absl::StatusOr<TrialsSpec> LoadTrials(const std::string& path,
                                      const std::vector<std::string>& overrides) {
  return LoadTree(ParseYamlFile(path), path, std::filesystem::path(path).parent_path().string(),
                  overrides);
}

absl::StatusOr<TrialsSpec> LoadTrialsText(const std::string& text, const std::string& name,
                                          const std::string& folder,
                                          const std::vector<std::string>& overrides) {
  return LoadTree(ParseYaml(text, name), name, folder, overrides);
}

bool IsTrialsFile(const std::string& path) {
  const absl::StatusOr<ConfigNode> root = ParseYamlFile(path);
  return root.ok() && root->Find(kBlock) != nullptr;
}

}  // namespace batchvar
