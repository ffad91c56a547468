// Rows of a reference table as maps from column names to texts, for golden tests.
#ifndef BATCHVAR_TESTS_GOLDEN_CSV_ROWS_H_
#define BATCHVAR_TESTS_GOLDEN_CSV_ROWS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace batchvar {

using CsvRow = std::map<std::string, std::string>;  // by column name

// Calls visit(line, row) for every data row of a CSV file and returns how many there are.
int64_t ForEachCsvRow(const std::string& path,
                      const std::function<void(const std::string& line, const CsvRow& row)>& visit);

int64_t CsvInteger(const CsvRow& row, const std::string& column);

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_GOLDEN_CSV_ROWS_H_
