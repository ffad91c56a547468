#include "sim/config/config_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/config/config_reader.h"
#include "sim/config/load_experiment.h"

namespace batchvar {
namespace {

namespace fs = std::filesystem;

constexpr ReferencePart kParts[] = {
    {"model", "model", "models", true},
    {"device", "device", "devices", true},
    {"scheduler", "scheduler", "schedulers", false},
    {"policies", "policy preset", "policies", true},
};

constexpr char kEnding[] = ".yaml";

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool LooksLikePath(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(kEnding) || text.ends_with(".yml");
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == kEnding) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string UnknownName(const ReferencePart& part, const std::string& name,
                        const std::string& folder) {
  const std::vector<std::string> names = NamesIn(folder);
  if (names.empty()) {
    return "no " + std::string(part.noun) + " file lies in " + folder +
           "; set BATCHVAR_CONFIGS_DIR to the folder that holds " + part.folder + "/";
  }
  return "unknown " + std::string(part.noun) + " '" + name + "'" + DidYouMean(name, names) +
         " (known: " + Listed(names) + ")";
}

}  // namespace

std::string ConfigsDir() {
  const char* variable = std::getenv("BATCHVAR_CONFIGS_DIR");
  if (variable != nullptr && *variable != '\0') return variable;
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path prefix = executable.parent_path().parent_path();
    const std::string installed = (prefix / "share" / "batchvar" / "configs").string();
    if (fs::is_directory(installed, error)) return installed;
  }
  return BATCHVAR_SOURCE_CONFIGS;
}

const ReferencePart* FindReferencePart(std::string_view key) {
  for (const ReferencePart& part : kParts) {
    if (key == part.key) return &part;
  }
  return nullptr;
}

FileText ReadFileText(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {"", "is a folder, not a file"};
  std::ifstream in(path, std::ios::binary);
  if (!in) return {"", std::string("cannot be opened: ") + std::strerror(errno)};
  FileText file;
  file.text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  if (in.bad()) file.problem = "cannot be read";
  return file;
}

absl::StatusOr<ConfigNode> ParseYamlFile(const std::string& path) {
  const FileText file = ReadFileText(path);
  if (!file.problem.empty()) return ConfigError({path, 0, 0, ""}, file.problem);
  return ParseYaml(file.text, path);
}

std::string ResolvePath(const std::string& typed, const std::string& folder,
                        const SourceMark& mark) {
  if (folder.empty() || fs::path(typed).is_absolute()) return typed;
  const std::string in_folder = (fs::path(folder) / typed).string();
  const std::string& first = mark.FromCommandLine() ? typed : in_folder;
  const std::string& second = mark.FromCommandLine() ? in_folder : typed;
  return !Exists(first) && Exists(second) ? second : first;
}

absl::Status InlineReference(const ReferencePart& part, const std::string& folder,
                             ConfigNode* node) {
  if (!node->IsScalar()) return absl::OkStatus();
  const std::string typed = node->text;
  const bool is_path = LooksLikePath(typed);
  const std::string names_folder = ConfigsDir() + "/" + part.folder;
  const std::string path =
      is_path ? ResolvePath(typed, folder, node->mark) : names_folder + "/" + typed + kEnding;
  if (!Exists(path)) {
    const std::string problem =
        is_path ? "no file " + path : UnknownName(part, typed, names_folder);
    return ConfigError(node->mark.At(part.key), problem);
  }
  absl::StatusOr<ConfigNode> loaded = ParseYamlFile(path);
  if (!loaded.ok()) return loaded.status();
  if (!loaded->IsMap()) {
    return ConfigError({path, 0, 0, part.key},
                       "must hold a map of keys, not " + std::string(KindName(*loaded)));
  }
  if (part.has_name && loaded->Find("name") == nullptr) {
    loaded->Set("name", loaded->mark,
                ConfigNode::Scalar(loaded->mark, fs::path(path).stem().string()));
  }
  *node = *std::move(loaded);
  return absl::OkStatus();
}

}  // namespace batchvar
