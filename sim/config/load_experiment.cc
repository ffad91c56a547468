#include "sim/config/load_experiment.h"

#include <filesystem>
#include <utility>

#include "sim/config/config_files.h"
#include "sim/config/config_overrides.h"
#include "sim/config/gemm_policy_keys.h"
#include "sim/config/spec_names.h"
#include "sim/config/spec_parts.h"
#include "sim/plan/plan.h"
#include "sim/shape/op_shape.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxTp = 1024;
constexpr char kDefaultPolicies[] = "textbook";

// The tree of a whole experiment: overrides layered over it, names replaced by their files.
absl::StatusOr<ConfigNode> ResolveTree(ConfigNode root, const std::string& name,
                                       const std::string& folder,
                                       const std::vector<ConfigOverride>& overrides) {
  if (!root.IsMap()) {
    return ConfigError({name, 0, 0, ""},
                       root.IsNull()
                           ? "is empty; 'batchvar config init' writes one to start from"
                           : "must hold a map of keys, not " + std::string(KindName(root)));
  }
  if (root.Find("base") != nullptr && root.Find("sweep") != nullptr) {
    return ConfigError({name, 0, 0, ""}, "is a sweep; run it with 'batchvar sweep'");
  }
  if (root.Find("experiment") != nullptr) {
    return ConfigError({name, 0, 0, ""}, "holds trials; run it with 'batchvar experiment'");
  }
  if (root.Find("execute") != nullptr) {
    return ConfigError({name, 0, 0, ""},
                       "executes requests; run it with 'batchvar simulate' or 'batchvar hazard'");
  }
  if (root.Find("policies") == nullptr) {
    root.Set("policies", root.mark, ConfigNode::Scalar(root.mark, kDefaultPolicies));
  }
  for (const ConfigOverride& assignment : overrides) {
    const absl::Status status = ApplyOverride(assignment, folder, &root);
    if (!status.ok()) return status;
  }
  for (ConfigEntry& entry : root.entries) {
    const ReferencePart* part = FindReferencePart(entry.key);
    if (part == nullptr) continue;
    const absl::Status status = InlineReference(*part, folder, &entry.value);
    if (!status.ok()) return status;
  }
  return root;
}

void ReadSchemaVersion(MapReader* reader, int32_t* version) {
  reader->Integer("schema_version", 0, kMaxInt32, version);
  if (*version == 1) return;
  reader->Error("schema_version", "is " + std::to_string(*version) + "; this version reads 1");
  *version = 1;
}

GoodputLimits ReadGoodput(const ConfigNode* node, FirstError* errors) {
  GoodputLimits goodput;
  if (node == nullptr) return goodput;
  MapReader reader(*node, "goodput", errors);
  reader.Number("ttft_ms", NumberRange::AtLeast(0), &goodput.ttft_ms);
  reader.Number("tpot_ms", NumberRange::AtLeast(0), &goodput.tpot_ms);
  reader.Number("e2el_ms", NumberRange::AtLeast(0), &goodput.e2el_ms);
  reader.Finish();
  return goodput;
}

// Tiles that depend on the dtype, so that the expanded file shows every number in use.
void ResolveTile(DType dtype, GemmPolicySpec* gemm) {
  const Tile tile = TileOf(*gemm, dtype);
  gemm->tile_m = tile.m;
  gemm->tile_n = tile.n;
  gemm->tile_k = tile.k;
}

absl::StatusOr<ExperimentSpec> ReadExperiment(const ConfigNode& root, const std::string& folder) {
  ExperimentSpec spec;
  FirstError errors;
  MapReader reader(root, "", &errors);
  reader.Require({"model", "device", "workload"});
  ReadSchemaVersion(&reader, &spec.schema_version);
  reader.Unsigned("seed", &spec.seed);
  reader.Integer("tp", 1, kMaxTp, &spec.tp);
  reader.Enum("dtype", kDTypeNames, &spec.dtype);
  const ConfigNode* model = reader.Child("model");
  const ConfigNode* device = reader.Child("device");
  reader.Child("scheduler");
  const ConfigNode* policies = reader.Child("policies");
  const ConfigNode* workload = reader.Child("workload");
  const ConfigNode* goodput = reader.Child("goodput");
  reader.Finish();
  if (!errors.ok()) return errors.status();

  spec.model = ReadModel(*model, &errors);
  spec.device = ReadDevice(*device, &errors);
  spec.policies = ReadPolicies(*policies, &errors);
  if (!errors.ok()) return errors.status();
  const char* tp_problem = ValidateTp(spec.model, spec.tp);
  if (tp_problem != nullptr) {
    reader.Error("tp", spec.model.name + " cannot be cut into " + std::to_string(spec.tp) +
                           " ranks: " + tp_problem);
    return errors.status();
  }
  ResolveTile(spec.dtype, &spec.policies.gemm);

  const ConfigNode no_scheduler = ConfigNode::EmptyMap(root.mark);
  const ConfigEntry* chosen = root.Find("scheduler");
  ReadScheduler(chosen == nullptr ? no_scheduler : chosen->value,
                chosen == nullptr ? root.mark : chosen->key_mark, &errors, &spec);
  spec.workload = ReadWorkload(*workload, folder, &errors);
  spec.goodput = ReadGoodput(goodput, &errors);
  if (!errors.ok()) return errors.status();
  return spec;
}

absl::StatusOr<ExperimentSpec> LoadTree(absl::StatusOr<ConfigNode> root, const std::string& name,
                                        const std::string& folder,
                                        const std::vector<std::string>& overrides) {
  if (!root.ok()) return root.status();
  std::vector<ConfigOverride> parsed;
  for (const std::string& assignment : overrides) {
    absl::StatusOr<ConfigOverride> one = ParseOverride(assignment);
    if (!one.ok()) return one.status();
    parsed.push_back(*std::move(one));
  }
  return LoadExperimentTree(*root, name, folder, parsed);
}

// One part of an experiment by itself.
template <typename Spec>
absl::StatusOr<Spec> LoadPart(const char* key, const std::string& name_or_path,
                              Spec (*read)(const ConfigNode&, FirstError*)) {
  ConfigNode node = ConfigNode::Scalar({}, name_or_path);
  const absl::Status status = InlineReference(*FindReferencePart(key), "", &node);
  if (!status.ok()) return status;
  FirstError errors;
  Spec spec = read(node, &errors);
  if (!errors.ok()) return errors.status();
  return spec;
}

}  // namespace

absl::StatusOr<ExperimentSpec> LoadExperiment(const std::string& path,
                                              const std::vector<std::string>& overrides) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return LoadTree(ParseYamlFile(path), path, folder, overrides);
}

absl::StatusOr<ExperimentSpec> LoadExperimentText(const std::string& text, const std::string& name,
                                                  const std::string& folder,
                                                  const std::vector<std::string>& overrides) {
  return LoadTree(ParseYaml(text, name), name, folder, overrides);
}

absl::StatusOr<ExperimentSpec> LoadExperimentTree(const ConfigNode& root, const std::string& name,
                                                  const std::string& folder,
                                                  const std::vector<ConfigOverride>& overrides) {
  const absl::StatusOr<ConfigNode> tree = ResolveTree(root, name, folder, overrides);
  if (!tree.ok()) return tree.status();
  return ReadExperiment(*tree, folder);
}

absl::StatusOr<ModelSpec> LoadModel(const std::string& name_or_path) {
  return LoadPart<ModelSpec>("model", name_or_path, ReadModel);
}

absl::StatusOr<DeviceSpec> LoadDevice(const std::string& name_or_path) {
  return LoadPart<DeviceSpec>("device", name_or_path, ReadDevice);
}

absl::StatusOr<PolicySpec> LoadPolicies(const std::string& name_or_path) {
  return LoadPart<PolicySpec>("policies", name_or_path, ReadPolicies);
}

absl::StatusOr<GemmPolicySpec> LoadGemmPolicy(
    const std::string& text, const std::vector<std::pair<std::string, std::string>>& keys,
    const std::string& flag) {
  absl::StatusOr<ConfigNode> parsed = ParseYaml(text, flag);
  if (!parsed.ok()) return parsed.status();
  ConfigNode node = parsed->IsMap() ? *parsed : ConfigNode::MapWithName(*parsed);
  const SourceMark mark{flag, 0, 0};
  for (const auto& [key, value] : keys) node.Set(key, mark, ConfigNode::Scalar(mark, value));
  FirstError errors;
  const GemmPolicySpec spec = ReadGemmPolicy(node, "policies.gemm", &errors);
  if (!errors.ok()) return errors.status();
  return spec;
}

absl::StatusOr<PolicySpec> LoadOpPolicy(const std::string& kind, const std::string& text,
                                        const std::string& flag) {
  absl::StatusOr<ConfigNode> parsed = ParseYaml(text, flag);
  if (!parsed.ok()) return parsed.status();
  const SourceMark mark{flag, 0, 0};
  ConfigNode policies = ConfigNode::EmptyMap(mark);
  policies.Set(kind, mark, parsed->IsMap() ? *parsed : ConfigNode::MapWithName(*parsed));
  FirstError errors;
  const PolicySpec spec = ReadPolicies(policies, &errors);
  if (!errors.ok()) return errors.status();
  return spec;
}

}  // namespace batchvar
