#include "sim/config/scalar_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace batchvar {
namespace {

std::string IntegerProblem(const std::string& text) {
  int64_t value = 0;
  return ParseInteger(text, &value);
}

std::string NumberProblem(const std::string& text) {
  double value = 0;
  return ParseNumber(text, &value);
}

std::string BoolProblem(const std::string& text) {
  bool value = false;
  return ParseBool(text, &value);
}

TEST(ParseInteger, ReadsStrictDecimals) {
  int64_t value = 7;
  EXPECT_EQ(ParseInteger("0", &value), "");
  EXPECT_EQ(value, 0);
  EXPECT_EQ(ParseInteger("-12", &value), "");
  EXPECT_EQ(value, -12);
  EXPECT_EQ(ParseInteger("9223372036854775807", &value), "");
  EXPECT_EQ(value, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseInteger("-9223372036854775808", &value), "");
  EXPECT_EQ(value, std::numeric_limits<int64_t>::min());
}

TEST(ParseInteger, SaysWhatToWriteInstead) {
  EXPECT_EQ(IntegerProblem("010"), "'010' is not a decimal integer; write 10");
  EXPECT_EQ(IntegerProblem("-007"), "'-007' is not a decimal integer; write -7");
  EXPECT_EQ(IntegerProblem("1_000"), "'1_000' is not a decimal integer; write 1000");
  EXPECT_EQ(IntegerProblem("1e3"), "'1e3' is not a decimal integer; write 1000");
  EXPECT_EQ(IntegerProblem("3.35e12"), "'3.35e12' is not a decimal integer; write 3350000000000");
  EXPECT_EQ(IntegerProblem("8192.0"), "'8192.0' is not a decimal integer; write 8192");
  EXPECT_EQ(IntegerProblem("0x10"), "'0x10' is not a decimal integer; write 16");
  EXPECT_EQ(IntegerProblem("0o17"), "'0o17' is not a decimal integer; write 15");
  EXPECT_EQ(IntegerProblem("0b101"), "'0b101' is not a decimal integer; write 5");
  EXPECT_EQ(IntegerProblem("+5"), "'+5' is not a decimal integer; write 5");
}

TEST(ParseInteger, MakesNoSuggestionItCannotStandBy) {
  EXPECT_EQ(IntegerProblem("8k"), "'8k' is not a decimal integer");
  EXPECT_EQ(IntegerProblem("1.5"), "'1.5' is not a decimal integer");
  EXPECT_EQ(IntegerProblem("1e400"), "'1e400' is not a decimal integer");
  EXPECT_EQ(IntegerProblem("1e17"), "'1e17' is not a decimal integer");  // past 2^53
  EXPECT_EQ(IntegerProblem("0xfz"), "'0xfz' is not a decimal integer");
  EXPECT_EQ(IntegerProblem("0x"), "'0x' is not a decimal integer");
  EXPECT_EQ(IntegerProblem("-"), "'-' is not a decimal integer");
  EXPECT_EQ(IntegerProblem("_"), "'_' is not a decimal integer");
  EXPECT_EQ(IntegerProblem(""), "'' is not a decimal integer");
  EXPECT_EQ(IntegerProblem(" 1"), "' 1' is not a decimal integer");
  EXPECT_EQ(IntegerProblem("true"), "'true' is not a decimal integer");
}

TEST(ParseInteger, ReportsOverflowAndLeavesTheValueAlone) {
  int64_t value = 7;
  EXPECT_EQ(ParseInteger("9223372036854775808", &value), "'9223372036854775808' is too large");
  EXPECT_EQ(ParseInteger("-9223372036854775809", &value), "'-9223372036854775809' is too small");
  EXPECT_EQ(value, 7);
}

TEST(ParseUnsigned, ReadsAllOf64Bits) {
  uint64_t value = 7;
  EXPECT_EQ(ParseUnsigned("18446744073709551615", &value), "");
  EXPECT_EQ(value, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ParseUnsigned("-0", &value), "");
  EXPECT_EQ(value, 0U);
  EXPECT_EQ(ParseUnsigned("18446744073709551616", &value), "'18446744073709551616' is too large");
  EXPECT_EQ(ParseUnsigned("007", &value), "'007' is not a decimal integer; write 7");
}

TEST(ParseNumber, ReadsFiniteDecimals) {
  double value = 0;
  for (const auto& [text, expected] : {std::pair<const char*, double>{"0", 0.0},
                                       {"0.5", 0.5},
                                       {"-2.25", -2.25},
                                       {"1e3", 1000.0},
                                       {"1.5E-2", 0.015},
                                       {"1e+05", 1e5}}) {
    EXPECT_EQ(ParseNumber(text, &value), "") << text;
    EXPECT_EQ(value, expected) << text;
  }
}

TEST(ParseNumber, SaysWhatToWriteInstead) {
  EXPECT_EQ(NumberProblem(".5"), "'.5' is not a finite decimal number; write 0.5");
  EXPECT_EQ(NumberProblem("-.5"), "'-.5' is not a finite decimal number; write -0.5");
  EXPECT_EQ(NumberProblem("5."), "'5.' is not a finite decimal number; write 5.0");
  EXPECT_EQ(NumberProblem("1.e3"), "'1.e3' is not a finite decimal number; write 1.0e3");
  EXPECT_EQ(NumberProblem("01.5"), "'01.5' is not a finite decimal number; write 1.5");
  EXPECT_EQ(NumberProblem("1_000.5"), "'1_000.5' is not a finite decimal number; write 1000.5");
  EXPECT_EQ(NumberProblem("+1.5"), "'+1.5' is not a finite decimal number; write 1.5");
}

TEST(ParseNumber, RefusesWhatIsNoFiniteNumber) {
  for (const char* text :
       {".inf", "inf", "-inf", "nan", ".nan", "0x1p3", "90%", "1,5", "", "e3", "1e", "1e+", "."}) {
    EXPECT_EQ(NumberProblem(text), "'" + std::string(text) + "' is not a finite decimal number");
  }
  EXPECT_EQ(NumberProblem("1e999"), "'1e999' is beyond the range of a double");
}

TEST(ParseBool, TakesOnlyTrueAndFalse) {
  bool value = false;
  EXPECT_EQ(ParseBool("true", &value), "");
  EXPECT_TRUE(value);
  EXPECT_EQ(ParseBool("false", &value), "");
  EXPECT_FALSE(value);
  for (const char* text : {"no", "No", "off", "n", "False", "FALSE", "0"}) {
    EXPECT_EQ(BoolProblem(text), "'" + std::string(text) + "' is not a boolean; write false");
  }
  for (const char* text : {"yes", "on", "ON", "y", "True", "1"}) {
    EXPECT_EQ(BoolProblem(text), "'" + std::string(text) + "' is not a boolean; write true");
  }
  EXPECT_EQ(BoolProblem("maybe"), "'maybe' is not a boolean; write true or false");
}

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(NumberText(0.9), "0.9");
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(8192), "8192");
  for (const double value : {0.1, 1.0 / 3, 1e22, 1e-7, 5e-324, 1.7976931348623157e308}) {
    double read = 0;
    EXPECT_EQ(ParseNumber(NumberText(value), &read), "") << NumberText(value);
    EXPECT_EQ(read, value);
  }
}

}  // namespace
}  // namespace batchvar
