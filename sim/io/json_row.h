// One line that is one JSON object, kept as far as traces need it: scalars as their text, so that a
// number loses no digit, and lists of whole numbers (block hashes use all 64 bits). Reuses its
// memory from line to line. Used by the JSON formats in trace_*_formats.cc.
#ifndef BATCHVAR_SIM_IO_JSON_ROW_H_
#define BATCHVAR_SIM_IO_JSON_ROW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sim/io/trace_fields.h"

namespace batchvar {

struct JsonField {
  enum class Kind : uint8_t {
    kNull,
    kBoolean,
    kNumber,
    kString,
    kNumbers,      // [1, 2, 3]: whole numbers from 0 to 2^64 - 1; also []
    kNumberLists,  // [[1, 2], [3]]: lists of those
    kOther,
  };
  std::string key;
  Kind kind = Kind::kNull;
  std::string text;                // kNumber: as written, or as short as it can be; kString
  std::vector<uint64_t> numbers;   // kNumbers, kNumberLists: all of them in order
  std::vector<size_t> list_sizes;  // kNumberLists
};

class JsonRow {
 public:
  // Anything but exactly one JSON object with different keys is an error.
  absl::Status Parse(const RowPlace& place, std::string_view line);

  std::span<const JsonField> fields() const { return {fields_.data(), used_}; }
  // Null if there is no such key or its value is null.
  const JsonField* Find(std::string_view key) const;

  absl::Status Tokens(const RowPlace& place, std::string_view key, int32_t* tokens) const;
  absl::Status TimeNs(const RowPlace& place, std::string_view key, int unit_digits,
                      int64_t* time_ns) const;
  // A string, or a number as its text. Absent: *text is empty.
  absl::Status Name(const RowPlace& place, std::string_view key, std::string* text) const;

 private:
  class Handler;

  // The text of a number that must be there.
  absl::Status Number(const RowPlace& place, std::string_view key, std::string_view* text) const;

  std::vector<JsonField> fields_;  // the first used_ are this line's
  size_t used_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_JSON_ROW_H_
