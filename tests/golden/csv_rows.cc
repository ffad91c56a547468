#include "tests/golden/csv_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/test_data.h"

namespace batchvar {
namespace {

std::vector<std::string> SplitCommas(const std::string& line) {
  std::vector<std::string> fields;
  size_t begin = 0;
  for (size_t end = line.find(','); end != std::string::npos; end = line.find(',', begin)) {
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  fields.push_back(line.substr(begin));
  return fields;
}

}  // namespace

int64_t ForEachCsvRow(
    const std::string& path,
    const std::function<void(const std::string& line, const CsvRow& row)>& visit) {
  const std::vector<std::string> lines = ReadLinesOrDie(path);
  const std::vector<std::string> names = SplitCommas(lines.at(0));
  int64_t rows = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> fields = SplitCommas(lines[i]);
    EXPECT_EQ(fields.size(), names.size()) << lines[i];
    if (fields.size() != names.size()) continue;
    CsvRow row;
    for (size_t column = 0; column < names.size(); ++column) row[names[column]] = fields[column];
    visit(lines[i], row);
    ++rows;
  }
  return rows;
}

int64_t CsvInteger(const CsvRow& row, const std::string& column) {
  return std::stoll(row.at(column));
}

}  // namespace batchvar
