#include "sim/config/config_overrides.h"

#include <string_view>
#include <utility>

#include "sim/config/config_files.h"

namespace batchvar {
namespace {

std::vector<std::string> SplitAtDots(const std::string& path) {
  std::vector<std::string> keys;
  size_t begin = 0;
  while (true) {
    const size_t dot = path.find('.', begin);
    keys.push_back(path.substr(begin, dot == std::string::npos ? dot : dot - begin));
    if (dot == std::string::npos) return keys;
    begin = dot + 1;
  }
}

// Places inside the flag's text would be of no use to anybody.
void MarkAll(const SourceMark& mark, ConfigNode* node) {
  node->mark = mark;
  for (ConfigNode& item : node->items) MarkAll(mark, &item);
  for (ConfigEntry& entry : node->entries) {
    entry.key_mark = mark;
    MarkAll(mark, &entry.value);
  }
}

absl::StatusOr<ConfigNode> ParseValue(const std::string& text, const SourceMark& mark,
                                      const std::string& field) {
  absl::StatusOr<ConfigNode> value = ParseYaml(text, mark.file);
  if (!value.ok()) {
    return ConfigError(mark.At(field), "the value '" + text + "' is not one YAML value");
  }
  MarkAll(mark, &*value);
  return value;
}

// Makes the node a map into which the next key can be set.
absl::Status MakeMap(const SourceMark& mark, const std::string& field, const std::string& folder,
                     ConfigNode* node) {
  if (node->IsNull()) *node = ConfigNode::EmptyMap(mark);
  if (node->IsScalar()) {
    const ReferencePart* part = FindReferencePart(field);
    if (part != nullptr) {
      const absl::Status status = InlineReference(*part, folder, node);
      if (!status.ok()) return status;
    } else if (field.starts_with("policies.")) {
      *node = ConfigNode::MapWithName(*node);
    }
  }
  if (node->IsMap()) return absl::OkStatus();
  return UnknownKeyError(mark.At(field), "is " + std::string(KindName(*node)) +
                                             " and has no keys of its own; set it as a whole");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> KeysOfPath(const std::string& path,
                                                    const SourceMark& mark) {
  std::vector<std::string> keys = SplitAtDots(path);
  for (const std::string& key : keys) {
    if (key.empty()) return ConfigError(mark.At(""), "'" + path + "' has an empty key");
  }
  return keys;
}

absl::StatusOr<ConfigOverride> ParseOverride(const std::string& assignment) {
  const SourceMark mark{"--set " + assignment, 0, 0};
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return ConfigError(mark.At(""),
                       "must have the form KEY=VALUE, as in scheduler.max_num_seqs=64");
  }
  const std::string path = assignment.substr(0, equals);
  const auto keys = KeysOfPath(path, mark);
  if (!keys.ok()) return keys.status();
  absl::StatusOr<ConfigNode> value = ParseValue(assignment.substr(equals + 1), mark, path);
  if (!value.ok()) return value.status();
  return ConfigOverride{path, mark, *std::move(value)};
}

absl::Status ApplyOverride(const ConfigOverride& assignment, const std::string& folder,
                           ConfigNode* root) {
  const SourceMark& mark = assignment.mark;
  const auto keys = KeysOfPath(assignment.key, mark);
  if (!keys.ok()) return keys.status();
  ConfigNode* node = root;
  std::string field;
  for (size_t i = 0; i + 1 < keys->size(); ++i) {
    const std::string& key = (*keys)[i];
    if (node->Find(key) == nullptr) node->Set(key, mark, ConfigNode::EmptyMap(mark));
    node = &node->Find(key)->value;
    field += (field.empty() ? "" : ".") + key;
    const absl::Status status = MakeMap(mark, field, folder, node);
    if (!status.ok()) return status;
  }
  node->Set(keys->back(), mark, assignment.value);
  return absl::OkStatus();
}

}  // namespace batchvar
