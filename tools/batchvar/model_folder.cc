#include "tools/batchvar/model_folder.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/config/load_experiment.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

bool HoldsModel(const std::string& folder) {
  return std::filesystem::exists(std::filesystem::path(folder) / "config.json");
}

}  // namespace

absl::StatusOr<std::string> FindModelFolder(const std::string& name) {
  std::vector<std::string> folders = {name, ConfigsDir() + "/weights/" + name};
  if (const char* models = std::getenv("BATCHVAR_MODELS_DIR"); models != nullptr) {
    folders.push_back(std::string(models) + "/" + name);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr) {
    folders.push_back(std::string(home) + "/.cache/batchvar/models/" + name);
  }
  for (const std::string& folder : folders) {
    if (HoldsModel(folder)) return folder;
  }
  return InputError(
      {}, absl::StrCat("no model '", name, "': no config.json in ", absl::StrJoin(folders, ", "),
                       "; tools/fetch_model fetches one, BATCHVAR_MODELS_DIR names a "
                       "folder of models, and weights: synthetic makes some from a seed"));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> TokenizerOf(const std::string& folder) {
  for (const char* file : {"tokenizer.json", "tok512.bin"}) {
    const std::string path = folder + "/" + file;
    if (std::filesystem::exists(path)) return ReadTokenizer(path);
  }
  return std::unique_ptr<Tokenizer>();
}

absl::StatusOr<ExecutedModel> FindExecutedModel(const std::string& name, bool synthetic) {
  ExecutedModel model;
  if (synthetic) return model;
  absl::StatusOr<std::string> folder = FindModelFolder(name);
  if (!folder.ok()) return folder.status();
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = TokenizerOf(*folder);
  if (!tokenizer.ok()) return tokenizer.status();
  model.folder = *std::move(folder);
  model.tokenizer = *std::move(tokenizer);
  return model;
}

}  // namespace batchvar
