// A comma-separated table with a header line: columns by name, never by position. Fields may be
// quoted as in RFC 4180, on one line; blanks around an unquoted field are not part of it.
// Used by trace_csv_formats.cc and gemm_table.cc.
#ifndef BATCHVAR_SIM_IO_CSV_TABLE_H_
#define BATCHVAR_SIM_IO_CSV_TABLE_H_

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sim/io/trace_fields.h"

namespace batchvar {

class CsvTable {
 public:
  absl::Status ReadHeader(const RowPlace& place, std::string_view line);

  const std::vector<std::string>& columns() const { return columns_; }
  // The column of that name; -1 without one.
  int Find(std::string_view name) const;
  // The same; without one an error that lists the columns found. `why` may add a sentence.
  absl::Status Require(const RowPlace& place, std::string_view name, int* column,
                       std::string_view why = "") const;

  // Takes the next row. Its fields are as many as the header's, or it is an error.
  absl::Status ReadRow(const RowPlace& place, std::string_view line);
  // A field of that row, good until the next one.
  std::string_view field(int column) const { return fields_[static_cast<size_t>(column)]; }

 private:
  // Splits into fields_.
  absl::Status Split(const RowPlace& place, std::string_view line);
  // Takes a quoted field from the front of *rest; false if it does not end.
  bool TakeQuoted(std::string_view* rest, std::string_view* field);

  std::vector<std::string> columns_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unescaped_;  // the fields of this row that held a doubled quote
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_CSV_TABLE_H_
