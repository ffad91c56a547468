// Numbers and dates as text -> integers, without going through a double: 1790000000.0827403 seconds
// keeps every digit. Does not depend on the locale. Used by the trace formats.
#ifndef BATCHVAR_SIM_IO_DECIMAL_TEXT_H_
#define BATCHVAR_SIM_IO_DECIMAL_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace batchvar {

struct Decimal {
  // What is wrong with the text, as the end of a sentence ("not a number"); null if nothing is.
  const char* fault = nullptr;
  int64_t value = 0;  // number * 10^scale, rounded half up; >= 0
  bool exact = true;  // nothing was rounded away
};

// Reads `12`, `12.5`, `1.25e-3` and their like. Below 0, not finite, not a number, or more than
// int64_t holds is a fault. -0.0 is 0.
Decimal ParseDecimal(std::string_view text, int scale);

// "2023-11-16 18:15:46.6805900" in UTC -> nanoseconds since 1970. The fraction has up to 9 digits
// and may be absent; `T` may stand for the blank, and `Z` or `+00:00` may follow. Local time and
// its rules never enter. Returns what is wrong, or an empty string.
std::string ParseUtcTime(std::string_view text, int64_t* ns);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_DECIMAL_TEXT_H_
