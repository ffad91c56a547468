// A YAML document as a small tree that keeps what the reader needs to say where a mistake is: the
// place of every key and value, whether a value was quoted, and the text exactly as written. Values
// get a type only in config_reader.h. yaml-cpp's own tree is not used because it drops duplicate
// keys and reads 010 as 8 and `no` as false.
#ifndef BATCHVAR_SIM_CONFIG_CONFIG_NODE_H_
#define BATCHVAR_SIM_CONFIG_CONFIG_NODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/status/located_error.h"

namespace batchvar {

// Line and column count from 1. Line 0 means the command line: a --set flag, or a name given as an
// argument; `file` then is the flag as typed, or empty.
struct SourceMark {
  std::string file;
  int line = 0;
  int column = 0;

  bool FromCommandLine() const { return line == 0; }
  Location At(const std::string& field) const { return {file, line, column, field}; }
};

struct ConfigEntry;

struct ConfigNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  SourceMark mark;                   // of a null value: that of its key
  std::string text;                  // scalar: as written, quotes and escapes resolved
  bool quoted = false;               // scalar: quoted or a block scalar, so never a number
  std::vector<ConfigNode> items;     // sequence
  std::vector<ConfigEntry> entries;  // map, in file order, keys unique

  bool IsNull() const { return kind == Kind::kNull; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsSequence() const { return kind == Kind::kSequence; }
  bool IsMap() const { return kind == Kind::kMap; }

  // nullptr when the key is absent or this is not a map.
  const ConfigEntry* Find(std::string_view key) const;
  ConfigEntry* Find(std::string_view key);
  // Replaces the value of `key`, or adds it. Only for maps.
  void Set(const std::string& key, const SourceMark& key_mark, ConfigNode value);

  static ConfigNode EmptyMap(const SourceMark& mark);
  static ConfigNode Scalar(const SourceMark& mark, const std::string& text);
  // `gemm: textbook` stands for `gemm: {name: textbook}`.
  static ConfigNode MapWithName(const ConfigNode& name);
};

struct ConfigEntry {
  std::string key;
  SourceMark key_mark;
  ConfigNode value;
};

// "a list", "a map", ...: what a value is, for messages.
const char* KindName(const ConfigNode& node);

// Exactly one document, or none (a null node). Syntax errors, duplicate keys, anchors, tags and
// keys that are not plain text are errors. `file` stands in messages and marks.
absl::StatusOr<ConfigNode> ParseYaml(const std::string& text, const std::string& file);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_CONFIG_NODE_H_
