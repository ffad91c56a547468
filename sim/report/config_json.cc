#include "sim/report/config_json.h"

#include "sim/base/check.h"
#include "sim/config/load_experiment.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

Json ScalarJson(const ConfigNode& node) {
  if (node.quoted) return node.text;
  // Plain numbers and booleans that this project reads are JSON's.
  Json value = Json::parse(node.text, nullptr, /*allow_exceptions=*/false);
  if (value.is_number() || value.is_boolean()) return value;
  return node.text;
}

}  // namespace

Json NodeJson(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull: return nullptr;
    case ConfigNode::Kind::kScalar: return ScalarJson(node);
    case ConfigNode::Kind::kSequence: {
      Json list = Json::array();
      for (const ConfigNode& item : node.items) list.push_back(NodeJson(item));
      return list;
    }
    case ConfigNode::Kind::kMap: {
      Json map = Json::object();
      for (const ConfigEntry& entry : node.entries) map[entry.key] = NodeJson(entry.value);
      return map;
    }
  }
  BV_CHECK(false);
}

Json ConfigJson(const ExperimentSpec& spec) {
  const absl::StatusOr<ConfigNode> tree = ParseYaml(ExpandToYaml(spec), "expanded");
  BV_CHECK(tree.ok());
  return NodeJson(*tree);
}

}  // namespace batchvar
