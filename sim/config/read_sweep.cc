#include "sim/config/read_sweep.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/config/config_files.h"
#include "sim/config/config_reader.h"
#include "sim/config/row_set.h"

namespace batchvar {
namespace {

constexpr EnumNames<SweepType> kTypeNames = {
    {"grid", SweepType::kGrid}, {"zip", SweepType::kZip}, {"scenarios", SweepType::kScenarios}};

constexpr EnumNames<SweepCommand> kCommandNames = {{"plan", SweepCommand::kPlan},
                                                   {"classes", SweepCommand::kClasses},
                                                   {"simulate", SweepCommand::kSimulate},
                                                   {"experiment", SweepCommand::kExperiment}};

constexpr char kLabel[] = "label";

// Errors go to errors_, as in the other loaders; reading goes on after one.
class SweepReader {
 public:
  SweepReader(std::string folder, SweepSpec* sweep, SweepParts* parts)
      : folder_(std::move(folder)), sweep_(sweep), parts_(parts) {}

  absl::Status Read(const ConfigNode& root, const std::vector<std::string>& overrides) {
    ReadFile(root);
    for (const std::string& assignment : overrides) ReadFlag(assignment);
    return errors_.status();
  }

 private:
  void ReadFile(const ConfigNode& root) {
    MapReader reader(root, "", &errors_);
    reader.Require({"base", "command", "sweep"});
    int32_t version = 1;
    reader.Integer("schema_version", 0, kMaxInt32, &version);
    if (version != 1) {
      reader.Error("schema_version", "is " + std::to_string(version) + "; this version reads 1");
    }
    reader.Enum("command", kCommandNames, &sweep_->command);
    if (sweep_->command == SweepCommand::kSimulate) {
      reader.Text("request", &sweep_->request);
    } else {
      reader.Refuse({"request"},
                    "command '" + std::string(SweepCommandName(sweep_->command)) + "'");
    }
    reader.Text("gate", &sweep_->gate);
    sweep_->gate_mark = reader.MarkOf("gate");
    if (reader.Has("gate") && sweep_->gate.find_first_not_of(" \t\n") == std::string::npos) {
      reader.Error("gate", "is empty; give an expression or remove the key");
    }
    const ConfigNode* base = reader.Child("base");
    const ConfigNode* sweep = reader.Child("sweep");
    reader.Finish();
    if (!errors_.ok()) return;
    ReadBase(*base);
    ReadSweep(*sweep);
  }

  void ReadBase(const ConfigNode& node) {
    sweep_->base = node;
    sweep_->base_name = sweep_->file;
    sweep_->base_folder = folder_;
    if (node.IsMap()) return;
    if (!node.IsScalar()) {
      errors_.Add(node.mark, "base",
                  "must be an experiment's file or its keys, not " + std::string(KindName(node)));
      return;
    }
    sweep_->base_name = ResolvePath(node.text, folder_, node.mark);
    sweep_->base_folder = std::filesystem::path(sweep_->base_name).parent_path().string();
    const FileText file = ReadFileText(sweep_->base_name);
    if (!file.problem.empty()) {
      errors_.Add(node.mark, "base", sweep_->base_name + " " + file.problem);
      return;
    }
    absl::StatusOr<ConfigNode> tree = ParseYaml(file.text, sweep_->base_name);
    errors_.Add(tree.status());
    if (!tree.ok()) return;
    sweep_->base = *std::move(tree);
    if (!sweep_->base.IsMap() || sweep_->base.Find("sweep") != nullptr) {
      errors_.Add(node.mark, "base", sweep_->base_name + " does not hold an experiment");
    }
  }

  void ReadSweep(const ConfigNode& node) {
    MapReader reader(node, "sweep", &errors_);
    reader.Enum("type", kTypeNames, &parts_->type);
    if (parts_->type == SweepType::kScenarios) {
      reader.Require({"scenarios"});
      reader.Refuse({"parameters"}, "type 'scenarios'");
    } else {
      reader.Require({"parameters"});
      reader.Refuse({"scenarios"}, "type '" + std::string(NameIn(kTypeNames, parts_->type)) + "'");
    }
    if (const ConfigNode* keys = reader.Child("parameters"); keys != nullptr) ReadParameters(*keys);
    if (const ConfigNode* list = reader.Child("scenarios"); list != nullptr) {
      ReadList(*list, "sweep.scenarios", &parts_->scenarios);
    }
    if (const ConfigNode* list = reader.Child("exclude"); list != nullptr) {
      ReadList(*list, "sweep.exclude", &parts_->excluded);
    }
    if (const ConfigNode* list = reader.Child("include"); list != nullptr) {
      ReadList(*list, "sweep.include", &parts_->included);
    }
    reader.Finish();
  }

  void ReadParameters(const ConfigNode& node) {
    if (!node.IsMap() || node.entries.empty()) {
      errors_.Add(node.mark, "sweep.parameters",
                  "must be a map of keys and their values, as in device.sm_count: [108, 132]");
      return;
    }
    for (const ConfigEntry& entry : node.entries) {
      SweptKey key{entry.key, entry.key_mark, {}};
      const std::vector<ConfigNode> one = {entry.value};
      for (const ConfigNode& value : entry.value.IsSequence() ? entry.value.items : one) {
        AddValue(value, &key);
      }
      if (key.values.empty()) {
        errors_.Add(entry.key_mark, "sweep.parameters." + entry.key, "has no values");
      }
      CheckKey(key.key, key.mark);
      parts_->parameters.push_back(std::move(key));
    }
  }

  // `plan` looks at one step at a time, so a range of M or of lengths is as many values.
  void AddValue(const ConfigNode& value, SweptKey* key) {
    if (value.IsNull()) {
      errors_.Add(key->mark, key->key, "has a value that is empty");
      return;
    }
    if (!IsStepKey(key->key) || sweep_->command != SweepCommand::kPlan) {
      key->values.push_back(value);
      return;
    }
    const absl::StatusOr<std::vector<int64_t>> rows = ReadRowSet(value, key->key);
    errors_.Add(rows.status());
    if (!rows.ok()) return;
    for (const int64_t m : *rows) {
      key->values.push_back(ConfigNode::Scalar(value.mark, std::to_string(m)));
    }
  }

  void CheckKey(const std::string& key, const SourceMark& mark) {
    errors_.Add(KeysOfPath(key, mark).status());
    if (IsStepKey(key) && MakesOwnSteps(sweep_->command)) {
      errors_.Add(mark, key,
                  std::string("is not used by command '") + SweepCommandName(sweep_->command) +
                      "': a run makes its own steps");
    }
  }

  void ReadList(const ConfigNode& node, const std::string& path, std::vector<SweepCell>* cells) {
    if (!node.IsSequence()) {
      errors_.Add(node.mark, path, "must be a list of maps, not " + std::string(KindName(node)));
      return;
    }
    const bool labelled = cells != &parts_->excluded;
    for (size_t i = 0; i < node.items.size(); ++i) {
      const ConfigNode& item = node.items[i];
      const std::string field = path + "[" + std::to_string(i) + "]";
      if (!item.IsMap() || item.entries.empty()) {
        errors_.Add(item.mark, field, "must be a map of keys and values");
        return;
      }
      SweepCell cell;
      for (const ConfigEntry& entry : item.entries) {
        if (labelled && entry.key == kLabel) {
          MapReader(item, field, &errors_).Text(kLabel, &cell.label);
          continue;
        }
        CheckKey(entry.key, entry.key_mark);
        if (entry.value.IsNull()) errors_.Add(entry.key_mark, field, "has a value that is empty");
        cell.sets.push_back({entry.key, entry.key_mark, entry.value});
      }
      cells->push_back(std::move(cell));
    }
  }

  // A swept key of a grid takes the flag's values; a list makes any other key a swept one.
  void ReadFlag(const std::string& assignment) {
    const size_t equals = std::min(assignment.find('='), assignment.size());
    const std::string name = assignment.substr(0, equals);
    SweptKey key{name, {"--set " + assignment, 0, 0}, {}};
    std::vector<ConfigOverride> values;
    for (const std::string& value :
         SplitAtCommas(assignment.substr(std::min(equals + 1, assignment.size())))) {
      absl::StatusOr<ConfigOverride> parsed =
          ParseOverride(equals < assignment.size() ? name + "=" + value : name);
      errors_.Add(parsed.status());
      if (!parsed.ok()) return;
      parsed->mark = key.mark;
      values.push_back(*std::move(parsed));
    }
    const auto swept = std::find_if(parts_->parameters.begin(), parts_->parameters.end(),
                                    [&](const SweptKey& other) { return other.key == name; });
    const bool is_swept = swept != parts_->parameters.end();
    if (values.size() == 1 && !IsStepKey(name) && !is_swept) {
      sweep_->flags.push_back(std::move(values.front()));
      return;
    }
    CheckKey(name, key.mark);
    for (const ConfigOverride& value : values) AddValue(value.value, &key);
    if (!is_swept) {
      parts_->flag_keys.push_back(std::move(key));
    } else if (parts_->type == SweepType::kGrid) {
      *swept = std::move(key);
    } else {
      errors_.Add(key.mark, name, "is one of the file's zipped keys and cannot be set by itself");
    }
  }

  std::string folder_;
  SweepSpec* sweep_;
  SweepParts* parts_;
  FirstError errors_;
};

}  // namespace

const char* SweepCommandName(SweepCommand command) { return NameIn(kCommandNames, command); }

absl::Status ReadSweepParts(const ConfigNode& root, const std::string& folder,
                            const std::vector<std::string>& overrides, SweepSpec* sweep,
                            SweepParts* parts) {
  return SweepReader(folder, sweep, parts).Read(root, overrides);
}

}  // namespace batchvar
