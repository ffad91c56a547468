#include "sim/io/trace_fields.h"

#include <limits>

#include "sim/io/decimal_text.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

// Cut after 40 bytes; bytes that a terminal would not print as they are become \x..
std::string Printable(std::string_view text) {
  constexpr size_t kMaxBytes = 40;
  constexpr char kHex[] = "0123456789abcdef";
  std::string shown;
  for (const char c : text.substr(0, kMaxBytes)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += c;
    } else {
      shown += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text.size() > kMaxBytes ? shown + "..." : shown;
}

// "negative: '-5'"; an empty text is a missing field.
absl::Status NumberError(const RowPlace& place, std::string_view field, std::string_view fault,
                         std::string_view text) {
  if (text.empty()) return place.Error(field, "missing");
  return place.Error(field, std::string(fault) + ": " + Quoted(text));
}

}  // namespace

absl::Status RowPlace::Error(std::string_view field, std::string_view message, int column) const {
  return InputError({file, line, column, Printable(field)}, std::string(message) + hint);
}

std::string Quoted(std::string_view text) { return "'" + Printable(text) + "'"; }

absl::Status ReadTokens(const RowPlace& place, std::string_view field, std::string_view text,
                        int32_t* tokens) {
  const Decimal number = ParseDecimal(text, 0);
  if (number.fault != nullptr) return NumberError(place, field, number.fault, text);
  if (!number.exact) return NumberError(place, field, "not a whole number", text);
  if (number.value > std::numeric_limits<int32_t>::max()) {
    return NumberError(place, field, "out of range", text);
  }
  *tokens = static_cast<int32_t>(number.value);
  return absl::OkStatus();
}

absl::Status ReadTimeNs(const RowPlace& place, std::string_view field, std::string_view text,
                        int unit_digits, int64_t* time_ns) {
  const Decimal number = ParseDecimal(text, 9 - unit_digits);
  if (number.fault != nullptr) return NumberError(place, field, number.fault, text);
  *time_ns = number.value;
  return absl::OkStatus();
}

}  // namespace batchvar
