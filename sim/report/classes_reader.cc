#include "sim/report/classes_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

bool ParseDigest(const std::string& hex, Digest* digest) {
  if (hex.size() != 32) return false;
  for (size_t i = 0; i < hex.size(); ++i) {
    const size_t value = std::string_view("0123456789abcdef").find(hex[i]);
    if (value == std::string_view::npos) return false;
    uint64_t& word = i < 16 ? digest->hi : digest->lo;
    word = word << 4 | value;
  }
  return true;
}

// JSON -> table. Keeps the first problem; what a reading function returns after one is not used.
class TableReader {
 public:
  explicit TableReader(const std::string& name) : name_(name) {}

  absl::StatusOr<ClassTable> Read(const Json& root) {
    ClassTable table;
    if (!root.is_object()) Problem("", "must hold one JSON object");
    if (Integer(root, "", "schema_version", 0) != kSchemaVersion) {
      Problem("schema_version",
              absl::StrCat("is not ", kSchemaVersion, ", which this version reads"));
    }
    if (Text(root, "kind") != "classes") Problem("kind", "is not 'classes'");
    table.model = Text(root, "model");
    table.device = Text(root, "device");
    table.sm_count = static_cast<int32_t>(Integer(root, "", "sm_count", 1));
    table.policies = Text(root, "policies");
    table.tp = static_cast<int32_t>(Integer(root, "", "tp", 1));
    if (OneOf(root, "dtype", {"bf16", "fp16"}) == 1) table.dtype = DType::kFp16;
    table.padded = OneOf(root, "padding", {"exact", "capture"}) == 1;
    ReadQuery(root, &table.query);
    const Json& ops = List(root, "", "ops");
    for (size_t i = 0; i < ops.size() && status_.ok(); ++i) {
      table.ops.push_back(ReadOp(ops[i], absl::StrCat("ops[", i, "]"), table.query));
    }
    if (!status_.ok()) return status_;
    return table;
  }

 private:
  void Problem(const std::string& field, const std::string& message) {
    if (status_.ok()) status_ = InputError({name_, 0, 0, field}, message);
  }

  static std::string Join(const std::string& place, const std::string& key) {
    return place.empty() ? key : place + "." + key;
  }

  const Json& Member(const Json& object, const std::string& place, const char* key) {
    static const Json nothing;
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (found != object.end()) return *found;
    Problem(Join(place, key), "is missing");
    return nothing;
  }

  int64_t IntegerOf(const Json& value, const std::string& field, int64_t min) {
    if (value.is_number_integer()) {
      const int64_t number = value.get<int64_t>();  // beyond 63 bits it is negative, so refused
      if (number >= min && number <= kMaxInt32) return number;
    }
    Problem(field, absl::StrCat("must be an integer from ", min, " to ", kMaxInt32));
    return min;
  }

  int64_t Integer(const Json& object, const std::string& place, const char* key, int64_t min) {
    return IntegerOf(Member(object, place, key), Join(place, key), min);
  }

  std::string Text(const Json& object, const char* key) {
    const Json& value = Member(object, "", key);
    if (value.is_string()) return value.get<std::string>();
    Problem(key, "must be a text");
    return "";
  }

  // Which of two words; 0 after a problem.
  size_t OneOf(const Json& object, const char* key, const std::array<const char*, 2>& words) {
    const std::string text = Text(object, key);
    if (text == words[1]) return 1;
    if (text != words[0]) Problem(key, absl::StrCat("is neither ", words[0], " nor ", words[1]));
    return 0;
  }

  const Json& List(const Json& object, const std::string& place, const char* key) {
    static const Json nothing = Json::array();
    const Json& value = Member(object, place, key);
    if (value.is_array()) return value;
    Problem(Join(place, key), "must be a list");
    return nothing;
  }

  // Ascending and apart.
  std::vector<ClosedRange> Ranges(const Json& object, const std::string& place, const char* key) {
    const std::string field = Join(place, key);
    std::vector<ClosedRange> ranges;
    for (const Json& item : List(object, place, key)) {
      if (!item.is_array() || item.size() != 2) {
        Problem(field, "must be a list of [first, last]");
        return ranges;
      }
      const ClosedRange range = {IntegerOf(item[0], field, 1), IntegerOf(item[1], field, 1)};
      const int64_t before = ranges.empty() ? 0 : ranges.back().second;
      if (range.first <= before || range.second < range.first) {
        Problem(field, "has ranges that do not ascend");
        return ranges;
      }
      ranges.push_back(range);
    }
    if (ranges.empty()) Problem(field, "is empty");
    return ranges;
  }

  void ReadQuery(const Json& root, ClassQuery* query) {
    query->q_len = Integer(root, "", "q_len", 1);
    for (const Json& value : List(root, "", "kv_lens")) {
      query->kv_lens.push_back(IntegerOf(value, "kv_lens", 1));
    }
    for (const ClosedRange& range : Ranges(root, "", "m")) {
      const auto count = static_cast<int64_t>(query->m.size());
      if (range.second - range.first >= kMaxClassValues - count) {
        return Problem("m", absl::StrCat("has more than ", kMaxClassValues, " values"));
      }
      for (int64_t m = range.first; m <= range.second; ++m) query->m.push_back(m);
    }
  }

  OpPartition ReadOp(const Json& json, const std::string& place, const ClassQuery& query) {
    OpPartition op;
    const Json& name = Member(json, place, "op");
    if (name.is_string()) op.op = name.get<std::string>();
    if (json.contains("kv_len")) {
      op.kv_len = Integer(json, place, "kv_len", 1);
    } else {
      op.n = Integer(json, place, "n", 0);
      op.k = Integer(json, place, "k", 0);
    }
    const Json& classes = List(json, place, "classes");
    size_t count = 0;
    for (size_t i = 0; i < classes.size() && status_.ok(); ++i) {
      const std::string at = absl::StrCat(place, ".classes[", i, "]");
      op.classes.push_back(ReadClass(classes[i], at, op.kv_len > 0, query.m));
      count += op.classes.back().m.size();
    }
    if (status_.ok()) CheckPartition(place, count, query.m.size(), &op);
    return op;
  }

  MClass ReadClass(const Json& json, const std::string& place, bool attention,
                   const std::vector<int64_t>& all) {
    MClass one;
    const Json& hex = Member(json, place, "class");
    if (!hex.is_string() || !ParseDigest(hex.get<std::string>(), &one.klass)) {
      Problem(place + ".class", "must be a digest of 32 lower-case hex digits");
    }
    one.split = static_cast<int32_t>(Integer(json, place, attention ? "num_splits" : "split_k", 1));
    one.tile_dependent = json.is_object() && json.contains("tile_dependent");
    const char* key = attention ? "batch" : "m";
    for (const ClosedRange& range : Ranges(json, place, key)) {
      const auto first = std::lower_bound(all.begin(), all.end(), range.first);
      const auto last = std::upper_bound(first, all.end(), range.second);
      if (first == last || *first != range.first || *(last - 1) != range.second) {
        Problem(Join(place, key), absl::StrCat("the range [", range.first, ", ", range.second,
                                               "] does not begin and end at an M of the table"));
        break;
      }
      one.m.insert(one.m.end(), first, last);
    }
    return one;
  }

  // `count` M were read; each of the table's must be among them once, and digests must differ.
  void CheckPartition(const std::string& place, size_t count, size_t wanted, OpPartition* op) {
    std::vector<int64_t> seen;
    std::vector<Digest> digests;
    for (const MClass& one : op->classes) {
      seen.insert(seen.end(), one.m.begin(), one.m.end());
      digests.push_back(one.klass);
    }
    std::sort(seen.begin(), seen.end());
    std::sort(digests.begin(), digests.end());
    if (count != wanted || std::adjacent_find(seen.begin(), seen.end()) != seen.end()) {
      return Problem(place + ".classes", "must hold every M of the table exactly once");
    }
    if (std::adjacent_find(digests.begin(), digests.end()) != digests.end()) {
      return Problem(place + ".classes", "holds one class twice");
    }
    std::sort(op->classes.begin(), op->classes.end(),
              [](const MClass& a, const MClass& b) { return a.first_m() < b.first_m(); });
  }

  std::string name_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<ClassTable> ReadClassesJson(const std::string& text, const std::string& name) {
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const size_t end = std::min(error.byte, text.size());
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return InputError({name, static_cast<int>(line) + 1, 0, ""},
                      "is not JSON; write it with 'batchvar classes ... --json'");
  }
  return TableReader(name).Read(root);
}

}  // namespace batchvar
