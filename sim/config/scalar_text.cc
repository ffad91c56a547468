#include "sim/config/scalar_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/ascii.h"

namespace batchvar {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The index after the digits that begin at `i`.
size_t SkipDigits(const std::string& text, size_t i) {
  while (i < text.size() && IsDigit(text[i])) ++i;
  return i;
}

// The index after -?(0|[1-9][0-9]*), or npos.
size_t SkipWholePart(const std::string& text) {
  const size_t begin = text.starts_with('-') ? 1 : 0;
  const size_t end = SkipDigits(text, begin);
  if (end == begin) return std::string::npos;
  if (text[begin] == '0' && end > begin + 1) return std::string::npos;
  return end;
}

bool IsStrictInteger(const std::string& text) { return SkipWholePart(text) == text.size(); }

bool IsStrictNumber(const std::string& text) {
  size_t i = SkipWholePart(text);
  if (i == std::string::npos) return false;
  if (i < text.size() && text[i] == '.') {
    const size_t begin = i + 1;
    i = SkipDigits(text, begin);
    if (i == begin) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    const size_t begin = i;
    i = SkipDigits(text, begin);
    if (i == begin) return false;
  }
  return i == text.size();
}

// Without +, digit separators and leading zeros; with a digit on both sides of a point that has one
// on either. May still not be a number.
std::string Normalized(const std::string& text) {
  std::string sign;
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits += c;
  }
  if (digits.starts_with('+') || digits.starts_with('-')) {
    if (digits[0] == '-') sign = "-";
    digits.erase(0, 1);
  }
  while (digits.size() > 1 && digits[0] == '0' && IsDigit(digits[1])) digits.erase(0, 1);
  if (digits.size() > 1 && digits[0] == '.' && IsDigit(digits[1])) digits.insert(0, 1, '0');
  const size_t point = digits.find('.');
  if (point != std::string::npos && point > 0 &&
      (point + 1 == digits.size() || !IsDigit(digits[point + 1]))) {
    digits.insert(point + 1, 1, '0');
  }
  return sign + digits;
}

// 0x10 and 0o20 -> "16"; "" for anything else.
std::string FromOtherBase(const std::string& text) {
  if (text.size() < 3 || text[0] != '0') return "";
  const char base_letter = text[1];
  const int base = base_letter == 'x' || base_letter == 'X'   ? 16
                   : base_letter == 'o' || base_letter == 'O' ? 8
                   : base_letter == 'b' || base_letter == 'B' ? 2
                                                              : 0;
  if (base == 0) return "";
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, value, base);
  return error == std::errc() && stop == end ? std::to_string(value) : "";
}

// The integer that somebody meant by a text that is not one, or "".
std::string IntegerMeant(const std::string& text) {
  const std::string other_base = FromOtherBase(text);
  if (!other_base.empty()) return other_base;
  const std::string normalized = Normalized(text);
  if (IsStrictInteger(normalized)) return normalized;
  double number = 0;
  constexpr double kExact = 9007199254740992.0;  // 2^53: below it a double holds every integer
  if (ParseNumber(normalized, &number).empty() && number == std::floor(number) &&
      std::fabs(number) < kExact) {
    return std::to_string(static_cast<int64_t>(number));
  }
  return "";
}

template <typename T>
std::string ParseWhole(const std::string& text, T* value) {
  if (!IsStrictInteger(text)) {
    const std::string meant = IntegerMeant(text);
    const std::string problem = "'" + text + "' is not a decimal integer";
    return meant.empty() ? problem : problem + "; write " + meant;
  }
  T parsed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error == std::errc() && stop == end) {
    *value = parsed;
    return "";
  }
  return text.starts_with('-') ? "'" + text + "' is too small" : "'" + text + "' is too large";
}

}  // namespace

std::string ParseInteger(const std::string& text, int64_t* value) {
  return ParseWhole(text, value);
}

std::string ParseUnsigned(const std::string& text, uint64_t* value) {
  if (text == "-0") {
    *value = 0;
    return "";
  }
  return ParseWhole(text, value);
}

std::string ParseNumber(const std::string& text, double* value) {
  if (!IsStrictNumber(text)) {
    const std::string meant = Normalized(text);
    const std::string problem = "'" + text + "' is not a finite decimal number";
    return IsStrictNumber(meant) ? problem + "; write " + meant : problem;
  }
  double parsed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stop != end) return "'" + text + "' is beyond the range of a double";
  *value = parsed;
  return "";
}

std::string ParseBool(const std::string& text, bool* value) {
  if (text == "true" || text == "false") {
    *value = text == "true";
    return "";
  }
  const std::string lower = absl::AsciiStrToLower(text);
  for (const char* word : {"true", "yes", "on", "y", "1"}) {
    if (lower == word) return "'" + text + "' is not a boolean; write true";
  }
  for (const char* word : {"false", "no", "off", "n", "0"}) {
    if (lower == word) return "'" + text + "' is not a boolean; write false";
  }
  return "'" + text + "' is not a boolean; write true or false";
}

std::string NumberText(double value) {
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc() ? std::string(buffer.data(), end) : "0";
}

}  // namespace batchvar
