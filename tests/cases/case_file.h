// The published cases themselves (shared/cases/case-NN-*.yaml): what was set up, for the numbers
// that a test takes from there. Without the file the test is skipped.
#ifndef BATCHVAR_TESTS_CASES_CASE_FILE_H_
#define BATCHVAR_TESTS_CASES_CASE_FILE_H_

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <string>

#include "tests/test_data.h"

namespace batchvar {

// The block of a top-level key, that key included. The files are notes whose sentences may hold ":
// ", which as a whole is no YAML; `setup` is.
inline std::string BlockOf(const std::string& path, const std::string& key) {
  std::string block;
  bool inside = false;
  for (const std::string& line : ReadLinesOrDie(path)) {
    if (line[0] != ' ') inside = line.starts_with(key + ":");
    if (inside) block += line + "\n";
  }
  return block;
}

// Reads `setup` of the file of that name.
class CaseTest : public testing::Test {
 protected:
  explicit CaseTest(const std::string& name) : path_(CasesPath(name)) {}
  void SetUp() override {
    BATCHVAR_SKIP_WITHOUT(path_);
    setup_ = YAML::Load(BlockOf(path_, "setup"))["setup"];
    ASSERT_TRUE(setup_.IsMap()) << path_;
  }
  // setup: {map: {key: ...}}
  int64_t Number(const std::string& map, const std::string& key) const {
    return setup_[map][key].as<int64_t>();
  }

  std::string path_;
  YAML::Node setup_;
};

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_CASES_CASE_FILE_H_
