#include "sim/report/classes_json.h"

#include "absl/strings/str_cat.h"
#include "sim/report/classes_text.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json RangesJson(const std::vector<ClosedRange>& ranges) {
  Json json = Json::array();
  for (const ClosedRange& range : ranges) json.push_back({range.first, range.second});
  return json;
}

Json ClassJson(const MClass& one, const OpPartition& op, const std::vector<int64_t>& all) {
  const bool attention = op.kv_len > 0;
  Json json = {{"class", one.klass.Hex()}};
  json[attention ? "batch" : "m"] = RangesJson(JoinNeighbours(one.m, all));
  json[attention ? "num_splits" : "split_k"] = one.split;
  if (one.tile_dependent) json["tile_dependent"] = true;
  return json;
}

Json OpJson(const OpPartition& op, const ClassQuery& query) {
  Json json = {{"op", op.op}};
  if (op.kv_len > 0) {
    json["kv_len"] = op.kv_len;
    json["q_len"] = query.q_len;
  } else {
    json["n"] = op.n;
    json["k"] = op.k;
  }
  json["classes"] = Json::array();
  for (const MClass& one : op.classes) json["classes"].push_back(ClassJson(one, op, query.m));
  return json;
}

Json SideJson(const MClass& one) {
  return {{"class", one.klass.Hex()}, {"first_m", one.first_m()}, {"split_k", one.split}};
}

}  // namespace

Json ClassesJson(const ClassTable& table) {
  Json json = {{"schema_version", kSchemaVersion}, {"kind", "classes"}};
  json["model"] = table.model;
  json["device"] = table.device;
  json["sm_count"] = table.sm_count;
  json["policies"] = table.policies;
  json["tp"] = table.tp;
  json["dtype"] = DTypeName(table.dtype);
  json["padding"] = table.padded ? "capture" : "exact";
  json["m"] = RangesJson(ConsecutiveRanges(table.query.m));
  json["kv_lens"] = table.query.kv_lens;
  json["q_len"] = table.query.q_len;
  json["ops"] = Json::array();
  for (const OpPartition& op : table.ops) json["ops"].push_back(OpJson(op, table.query));
  return json;
}

Json MovedJson(const ClassTable& now, const std::vector<MovedRange>& moved) {
  Json json = Json::array();
  for (const MovedRange& range : moved) {
    const OpPartition& op = now.ops[range.op];
    Json entry = {{"op", op.op}};
    if (op.kv_len > 0) entry["kv_len"] = op.kv_len;
    entry["m"] = {range.m.first, range.m.second};
    entry["was"] = SideJson(*range.was);
    entry["now"] = SideJson(*range.now);
    json.push_back(std::move(entry));
  }
  return json;
}

Json ComparisonJson(int64_t m_a, int64_t m_b, const std::vector<PlanPair>& pairs) {
  Json differ = Json::array();
  for (const PlanPair& pair : pairs) {
    const auto [a, b] = PlanWords(pair);
    Json entry = {{"op", OpName(pair.shape.op)}};
    if (pair.kv_len > 0) entry["kv_len"] = pair.kv_len;
    entry["a"] = {{"class", pair.a.klass.Hex()}, {"words", a}};
    entry["b"] = {{"class", pair.b.klass.Hex()}, {"words", b}};
    differ.push_back(std::move(entry));
  }
  return {{"m", {m_a, m_b}}, {"differ", std::move(differ)}};
}

std::string ClassesJsonText(const Json& classes) {
  const auto compact = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string text = "{";
  const char* before = "\n ";
  for (const auto& [key, value] : classes.items()) {
    absl::StrAppend(&text, before, compact(key), ": ");
    before = ",\n ";
    const bool one_a_line = value.is_array() && !value.empty() && value[0].is_object();
    if (!one_a_line) {
      text += compact(value);
      continue;
    }
    for (size_t i = 0; i < value.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "[\n  " : ",\n  ", compact(value[i]));
    }
    text += "\n ]";
  }
  return text + "\n}\n";
}

}  // namespace batchvar
