// Block-style YAML, line by line, for ExpandToYaml and its like.
#ifndef BATCHVAR_SIM_CONFIG_YAML_WRITER_H_
#define BATCHVAR_SIM_CONFIG_YAML_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sim/config/config_node.h"

namespace batchvar {

// A tree in one line: {a: 1, b: [x, "y z"]}. Scalars stand as they were written.
std::string FlowText(const ConfigNode& node);
// The same for any text: quoted unless no YAML reader could take it for anything else.
std::string QuotedText(std::string_view text);

class YamlWriter {
 public:
  // Keys up to the matching Close() lie in a map under `key`.
  void Open(std::string_view key);
  void Close();
  // A value as it stands, which must be plain YAML: a name of ours, or a flow list.
  void Word(std::string_view key, std::string_view word);
  void Text(std::string_view key, std::string_view text);
  void Integer(std::string_view key, int64_t value);
  void Number(std::string_view key, double value);  // shortest text that reads back as the same
  void Bool(std::string_view key, bool value);
  void Item(std::string_view word);  // "- word", between Open and Close

  std::string TakeText() { return std::move(text_); }

 private:
  std::string text_;
  int indent_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_YAML_WRITER_H_
