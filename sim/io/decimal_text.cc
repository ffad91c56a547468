#include "sim/io/decimal_text.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "sim/base/time.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int kExponentLimit = 1'000'000;  // far beyond any number that fits

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether the text, without its sign, is how some program writes NaN or infinity.
bool IsNotFinite(std::string_view text) {
  std::string lower(text.substr(0, 9));
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

// A decimal number taken apart: digits * 10^exponent.
struct Parts {
  bool negative = false;
  std::string digits;  // without leading zeros; empty for 0
  int exponent = 0;
};

// Takes digits from the front of *text; true if there was one.
bool TakeDigits(std::string_view* text, std::string* digits) {
  size_t count = 0;
  while (count < text->size() && IsDigit((*text)[count])) ++count;
  digits->append(text->substr(0, count));
  text->remove_prefix(count);
  return count > 0;
}

bool TakeExponent(std::string_view text, int* exponent) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return false;
  int value = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return false;
    value = std::min(kExponentLimit, value * 10 + (c - '0'));
  }
  *exponent += negative ? -value : value;
  return true;
}

// What is wrong with the text, or null.
const char* Split(std::string_view text, Parts* parts) {
  parts->negative = text.starts_with('-');
  if (parts->negative || text.starts_with('+')) text.remove_prefix(1);
  if (IsNotFinite(text)) return "not finite";
  bool any = TakeDigits(&text, &parts->digits);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const size_t whole = parts->digits.size();
    any = TakeDigits(&text, &parts->digits) || any;
    parts->exponent = -static_cast<int>(parts->digits.size() - whole);
  }
  if (!any) return "not a number";
  if (text.starts_with('e') || text.starts_with('E')) {
    if (!TakeExponent(text.substr(1), &parts->exponent)) return "not a number";
  } else if (!text.empty()) {
    return "not a number";
  }
  parts->digits.erase(0, std::min(parts->digits.find_first_not_of('0'), parts->digits.size()));
  return nullptr;
}

bool AppendDigit(int digit, int64_t* value) {
  if (*value > (kMaxInt64 - digit) / 10) return false;
  *value = *value * 10 + digit;
  return true;
}

int64_t DaysFromCivil(int64_t year, int month, int day) {
  // Years that begin in March put the leap day last; eras of 400 years are all alike.
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = y / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;  // 719468: 0000-03-01 to 1970-01-01
}

int DaysInMonth(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// Exactly `width` digits at `at`, or -1.
int NumberAt(std::string_view text, size_t at, size_t width) {
  int value = 0;
  for (size_t i = at; i < at + width; ++i) {
    if (i >= text.size() || !IsDigit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// ".6805900Z" -> nanoseconds; false if it is something else.
bool ReadFraction(std::string_view text, int64_t* ns) {
  *ns = 0;
  if (text.starts_with('.')) {
    std::string digits;
    text.remove_prefix(1);
    if (!TakeDigits(&text, &digits) || digits.size() > 9) return false;
    digits.resize(9, '0');
    for (const char c : digits) *ns = *ns * 10 + (c - '0');
  }
  return text.empty() || text == "Z" || text == "+00:00";
}

std::string RangeFault(const char* name, int value, int low, int high) {
  if (value >= low && value <= high) return "";
  return std::string(name) + " " + std::to_string(value) + " is not in " + std::to_string(low) +
         ".." + std::to_string(high);
}

}  // namespace

Decimal ParseDecimal(std::string_view text, int scale) {
  Decimal result;
  Parts parts;
  result.fault = Split(text, &parts);
  if (result.fault != nullptr || parts.digits.empty()) return result;
  if (parts.negative) {
    result.fault = "negative";
    return result;
  }
  const int64_t exponent = int64_t{parts.exponent} + scale;
  const int64_t digits = static_cast<int64_t>(parts.digits.size());
  if (digits + exponent > 19) {  // 10^19 > 2^63
    result.fault = "out of range";
    return result;
  }
  const int64_t kept = std::clamp<int64_t>(digits + exponent, 0, digits);
  bool fits = true;
  for (int64_t i = 0; i < kept; ++i) {
    fits = fits && AppendDigit(parts.digits[i] - '0', &result.value);
  }
  for (int64_t i = 0; i < exponent; ++i) fits = fits && AppendDigit(0, &result.value);
  result.exact = parts.digits.find_first_not_of('0', kept) == std::string::npos;
  // The first digit cut off decides; with leading zeros cut (digits + exponent < 0) it is a 0.
  if (digits + exponent >= 0 && kept < digits && parts.digits[kept] >= '5') {
    fits = fits && result.value < kMaxInt64;
    result.value += fits ? 1 : 0;
  }
  if (!fits) result.fault = "out of range";
  return result;
}

std::string ParseUtcTime(std::string_view text, int64_t* ns) {
  constexpr size_t kWholeSeconds = 19;  // YYYY-MM-DD HH:MM:SS
  const int year = NumberAt(text, 0, 4);
  const int month = NumberAt(text, 5, 2);
  const int day = NumberAt(text, 8, 2);
  const int hour = NumberAt(text, 11, 2);
  const int minute = NumberAt(text, 14, 2);
  const int second = NumberAt(text, 17, 2);
  int64_t fraction_ns = 0;
  if (std::min({year, month, day, hour, minute, second}) < 0 || text[4] != '-' || text[7] != '-' ||
      (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':' ||
      !ReadFraction(text.substr(kWholeSeconds), &fraction_ns)) {
    return "not a time of the form YYYY-MM-DD HH:MM:SS.fffffff in UTC";
  }
  std::string fault = RangeFault("year", year, 1970, 2261);  // what int64_t nanoseconds hold
  if (fault.empty()) fault = RangeFault("month", month, 1, 12);
  if (fault.empty()) fault = RangeFault("day", day, 1, DaysInMonth(year, month));
  if (fault.empty()) fault = RangeFault("hour", hour, 0, 23);
  if (fault.empty()) fault = RangeFault("minute", minute, 0, 59);
  if (fault.empty()) fault = RangeFault("second", second, 0, 59);
  if (!fault.empty()) return fault;
  const int64_t minutes = (DaysFromCivil(year, month, day) * 24 + hour) * 60 + minute;
  *ns = (minutes * 60 + second) * kNsPerSecond + fraction_ns;
  return "";
}

}  // namespace batchvar
