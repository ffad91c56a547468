// What every trace format needs to read one field: where it stands, and text -> number with the
// rules of trace_reader.h. Used by trace_*_formats.cc, csv_table.cc and json_row.cc.
#ifndef BATCHVAR_SIM_IO_TRACE_FIELDS_H_
#define BATCHVAR_SIM_IO_TRACE_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace batchvar {

// Where a row stands.
struct RowPlace {
  std::string file;  // as the caller named it
  int line = 0;      // from 1
  std::string hint;  // "; the file looks like ...", ends the message of every error; or empty

  // file:line[:column]: field: message
  absl::Status Error(std::string_view field, std::string_view message, int column = 0) const;
};

// 'text' for a message: cut after 40 bytes, control characters escaped.
std::string Quoted(std::string_view text);

// Whole numbers from 0 to 2^31 - 1. `12.0` is whole, `12.5` an error.
absl::Status ReadTokens(const RowPlace& place, std::string_view field, std::string_view text,
                        int32_t* tokens);

// A time >= 0 in units of 10^-unit_digits s (0: seconds, 3: ms, 9: ns), to the nearest nanosecond.
absl::Status ReadTimeNs(const RowPlace& place, std::string_view field, std::string_view text,
                        int unit_digits, int64_t* time_ns);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_TRACE_FIELDS_H_
