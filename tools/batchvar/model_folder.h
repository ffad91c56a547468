// Where the weights that an experiment names lie, and how its prompt becomes token ids.
#ifndef BATCHVAR_TOOLS_BATCHVAR_MODEL_FOLDER_H_
#define BATCHVAR_TOOLS_BATCHVAR_MODEL_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/tokenizer/tokenizer.h"

namespace batchvar {

// A folder as typed, else NAME in the configs' weights, in BATCHVAR_MODELS_DIR, or where
// tools/fetch_model puts models (~/.cache/batchvar/models). The error lists where it looked.
absl::StatusOr<std::string> FindModelFolder(const std::string& name);

// The folder's tokenizer (tokenizer.json, or llama2.c's tok512.bin); null where it has none.
absl::StatusOr<std::unique_ptr<Tokenizer>> TokenizerOf(const std::string& folder);

struct ExecutedModel {
  std::string folder;                    // empty: its weights are synthetic
  std::unique_ptr<Tokenizer> tokenizer;  // null: ids only
};
// Both of the model called `name`; nothing is looked for where weights are synthetic.
absl::StatusOr<ExecutedModel> FindExecutedModel(const std::string& name, bool synthetic);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_MODEL_FOLDER_H_
