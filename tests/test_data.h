// Where the reference data of the golden tests lies: an environment variable, else ../shared/...
// from the project's root. A file that is not there is a SKIP that names it, never a pass.
#ifndef BATCHVAR_TESTS_TEST_DATA_H_
#define BATCHVAR_TESTS_TEST_DATA_H_

#include <string>
#include <vector>

namespace batchvar {

// BATCHVAR_REFERENCE_DIR or ../shared/reference, and so on; paths need not exist.
std::string ReferencePath(const std::string& relative);
std::string TracesPath(const std::string& relative);
std::string CasesPath(const std::string& relative);
// `relative` in BATCHVAR_MODELS_DIR where it is there, else in ../shared/models: converted models
// and the ones that are shared may lie apart.
std::string ModelsPath(const std::string& relative);
std::string ProjectPath(const std::string& relative);  // inside this source tree

bool FileExists(const std::string& path);
std::string ReadFileOrDie(const std::string& path);  // plain or .gz
std::vector<std::string> ReadLinesOrDie(const std::string& path);
std::vector<std::string> ListFiles(const std::string& folder, const std::string& suffix);  // sorted

}  // namespace batchvar

#define BATCHVAR_SKIP_WITHOUT(path)                                                \
  do {                                                                             \
    if (!::batchvar::FileExists(path)) GTEST_SKIP() << "missing file: " << (path); \
  } while (false)

#endif  // BATCHVAR_TESTS_TEST_DATA_H_
