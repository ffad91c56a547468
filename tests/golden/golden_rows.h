// Rows of a golden file, one after another: a CSV file by column name, or one JSON object a line.
#ifndef BATCHVAR_TESTS_GOLDEN_GOLDEN_ROWS_H_
#define BATCHVAR_TESTS_GOLDEN_GOLDEN_ROWS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/test_data.h"

namespace batchvar {

// One row of a CSV file without quotes; Number() of a column that is not there is an error.
class CsvRow {
 public:
  CsvRow(const std::vector<std::string>& names, const std::string& line) : line_(line) {
    size_t begin = 0;
    for (const std::string& name : names) {
      const size_t end = std::min(line.find(',', begin), line.size());
      fields_[name] = line.substr(begin, end - begin);
      begin = std::min(end + 1, line.size());
    }
  }
  const std::string& Text(const std::string& name) const { return fields_.at(name); }
  int64_t Number(const std::string& name) const { return std::stoll(fields_.at(name)); }
  int32_t Int(const std::string& name) const { return static_cast<int32_t>(Number(name)); }
  const std::string& line() const { return line_; }

 private:
  std::string line_;
  std::map<std::string, std::string> fields_;
};

inline std::vector<std::string> ColumnNames(const std::string& header) {
  std::vector<std::string> names;
  size_t begin = 0;
  while (begin <= header.size()) {
    const size_t end = std::min(header.find(',', begin), header.size());
    names.push_back(header.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// Calls visit(row) for every data row; returns how many there were.
template <typename Visit>
int64_t ForEachCsvRow(const std::string& path, const Visit& visit) {
  const std::vector<std::string> lines = ReadLinesOrDie(path);
  const std::vector<std::string> names = ColumnNames(lines.at(0));
  int64_t rows = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    visit(CsvRow(names, lines[i]));
    ++rows;
  }
  return rows;
}

// Calls visit(json) for every line.
template <typename Visit>
int64_t ForEachJsonRow(const std::string& path, const Visit& visit) {
  int64_t rows = 0;
  for (const std::string& line : ReadLinesOrDie(path)) {
    if (line.empty()) continue;
    visit(nlohmann::json::parse(line));
    ++rows;
  }
  return rows;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_GOLDEN_GOLDEN_ROWS_H_
