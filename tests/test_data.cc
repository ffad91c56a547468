#include "tests/test_data.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace batchvar {
namespace {

std::string Root(const char* variable, const char* fallback) {
  const char* set = std::getenv(variable);
  return set != nullptr && *set != '\0' ? set : ProjectPath(fallback);
}

}  // namespace

std::string ProjectPath(const std::string& relative) {
  return std::string(BATCHVAR_SOURCE_DIR) + "/" + relative;
}

std::string ReferencePath(const std::string& relative) {
  return Root("BATCHVAR_REFERENCE_DIR", "../shared/reference") + "/" + relative;
}

std::string TracesPath(const std::string& relative) {
  return Root("BATCHVAR_TRACES_DIR", "../shared/traces") + "/" + relative;
}

std::string CasesPath(const std::string& relative) {
  return Root("BATCHVAR_CASES_DIR", "../shared/cases") + "/" + relative;
}

std::string ModelsPath(const std::string& relative) {
  const std::string shared = ProjectPath("../shared/models/" + relative);
  const std::string mine = Root("BATCHVAR_MODELS_DIR", "../shared/models") + "/" + relative;
  return FileExists(mine) ? mine : shared;
}

bool FileExists(const std::string& path) { return std::filesystem::exists(path); }

std::string ReadFileOrDie(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as they are
  if (file == nullptr) {
    std::fprintf(stderr, "cannot open %s\n", path.c_str());
    std::abort();
  }
  std::string text;
  char buffer[1 << 16];
  int got = 0;
  while ((got = gzread(file, buffer, sizeof buffer)) > 0) text.append(buffer, got);
  gzclose(file);
  return text;
}

std::vector<std::string> ReadLinesOrDie(const std::string& path) {
  std::istringstream in(ReadFileOrDie(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> ListFiles(const std::string& folder, const std::string& suffix) {
  std::vector<std::string> paths;
  if (!std::filesystem::is_directory(folder)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.size() >= suffix.size() && path.ends_with(suffix)) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace batchvar
