// Files that a configuration reads: experiments, and the model, device, scheduler and policies that
// it names. `model: llama31_8b` is configs/models/llama31_8b.yaml; `model: ./mine.yaml` is a path,
// relative to the experiment's folder; `model: {...}` is the same keys inline.
#ifndef BATCHVAR_SIM_CONFIG_CONFIG_FILES_H_
#define BATCHVAR_SIM_CONFIG_CONFIG_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sim/config/config_node.h"

namespace batchvar {

// A part of an experiment that a name or a path may stand for.
struct ReferencePart {
  const char* key;     // in the experiment: "model"
  const char* noun;    // in messages: "policy preset"
  const char* folder;  // in ConfigsDir(): "models"
  bool has_name;       // its map has a `name` key
};

// nullptr when `key` is not such a part.
const ReferencePart* FindReferencePart(std::string_view key);

// A whole file, or a one-line reason why it cannot be read.
struct FileText {
  std::string text;
  std::string problem;  // empty when it was read
};
FileText ReadFileText(const std::string& path);

absl::StatusOr<ConfigNode> ParseYamlFile(const std::string& path);

// Where a path that was typed at `mark` points. In a file: relative to `folder`, or, if nothing is
// there, to the working directory. On the command line the other way round.
std::string ResolvePath(const std::string& typed, const std::string& folder,
                        const SourceMark& mark);

// Puts the referenced file's map in the place of a name or path; leaves anything else alone. The
// map gets a `name` if it has none: the file's, without its ending.
absl::Status InlineReference(const ReferencePart& part, const std::string& folder,
                             ConfigNode* node);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_CONFIG_FILES_H_
