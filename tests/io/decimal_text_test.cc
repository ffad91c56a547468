#include "sim/io/decimal_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace batchvar {
namespace {

TEST(ParseDecimal, KeepsEveryDigit) {
  struct Case {
    const char* text;
    int scale;
    int64_t value;
    bool exact;
  };
  const Case cases[] = {
      {"0", 0, 0, true},
      {"-0.0", 9, 0, true},
      {"+7", 0, 7, true},
      {"007", 0, 7, true},
      {".5", 1, 5, true},
      {"5.", 1, 50, true},
      {"12.50", 0, 13, false},
      {"12.00", 0, 12, true},
      {"12.49", 0, 12, false},
      // A double cannot tell these nanoseconds apart.
      {"1790000000.000000001", 9, 1790000000000000001, true},
      {"1790000000.000000002", 9, 1790000000000000002, true},
      {"3435.9480560000002", 9, 3435948056000, false},
      {"0.0000000005", 9, 1, false},
      {"0.00000000049999999999", 9, 0, false},
      {"0.00000000009", 9, 0, false},
      {"1e3", 0, 1000, true},
      {"1.25E-3", 9, 1250000, true},
      {"1.5e+1", 0, 15, true},
      {"1e-400", 9, 0, false},
      {"0e999999999999", 9, 0, true},
      {"9223372036854775807", 0, std::numeric_limits<int64_t>::max(), true},
      {"9223372036854775806.5", 0, std::numeric_limits<int64_t>::max(), false},
      {"0.0000000000000000000000000000001e31", 0, 1, true},
  };
  for (const Case& c : cases) {
    const Decimal number = ParseDecimal(c.text, c.scale);
    EXPECT_EQ(number.fault, nullptr) << c.text;
    EXPECT_EQ(number.value, c.value) << c.text;
    EXPECT_EQ(number.exact, c.exact) << c.text;
  }
}

TEST(ParseDecimal, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* fault;
  };
  const Case cases[] = {
      {"", "not a number"},
      {"-", "not a number"},
      {".", "not a number"},
      {"abc", "not a number"},
      {"1,5", "not a number"},
      {"1 5", "not a number"},
      {"0x10", "not a number"},
      {"1e", "not a number"},
      {"1e+", "not a number"},
      {"1e5x", "not a number"},
      {"1.2.3", "not a number"},
      {"nano", "not a number"},
      {"nan", "not finite"},
      {"-NaN", "not finite"},
      {"inf", "not finite"},
      {"-Infinity", "not finite"},
      {"-5", "negative"},
      {"-0.001", "negative"},
      {"1e400", "out of range"},
      {"9223372036854775808", "out of range"},
      {"9223372036854775807.5", "out of range"},
      {"1e99999999999999999999", "out of range"},
  };
  for (const Case& c : cases) {
    ASSERT_NE(ParseDecimal(c.text, 0).fault, nullptr) << c.text;
    EXPECT_STREQ(ParseDecimal(c.text, 0).fault, c.fault) << c.text;
  }
}

TEST(ParseUtcTime, CountsNanosecondsSince1970) {
  struct Case {
    const char* text;
    int64_t ns;
  };
  const Case cases[] = {
      {"1970-01-01 00:00:00", 0},
      {"1970-01-01 00:00:00.000000001", 1},
      {"1970-01-02T00:00:01.5Z", 86401500000000},
      {"2000-02-29 12:00:00.0000000", 951825600000000000},
      {"2023-11-16 18:15:46.6805900", 1700158546680590000},
      {"2024-03-01 00:00:00.0000000+00:00", 1709251200000000000},
      {"2261-12-31 23:59:59.999999999", 9214646399999999999},
  };
  for (const Case& c : cases) {
    int64_t ns = -1;
    EXPECT_EQ(ParseUtcTime(c.text, &ns), "") << c.text;
    EXPECT_EQ(ns, c.ns) << c.text;
  }
}

// Against a calendar that only counts: every day of nearly three centuries.
TEST(ParseUtcTime, AgreesWithACountOfDays) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t day_number = 0;
  for (int year = 1970; year <= 2261; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    for (int month = 1; month <= 12; ++month) {
      const int days = kDays[month - 1] + (month == 2 && leap ? 1 : 0);
      for (int day = 1; day <= days + 1; ++day) {
        char text[40];
        std::snprintf(text, sizeof text, "%04d-%02d-%02d 00:00:00", year, month, day);
        int64_t ns = 0;
        if (day > days) {
          EXPECT_NE(ParseUtcTime(text, &ns), "") << text;
        } else {
          ASSERT_EQ(ParseUtcTime(text, &ns), "") << text;
          ASSERT_EQ(ns, day_number * 86'400'000'000'000) << text;
          ++day_number;
        }
      }
    }
  }
}

TEST(ParseUtcTime, RefusesWhatNoCalendarHas) {
  int64_t ns = 0;
  EXPECT_EQ(ParseUtcTime("2023-13-01 00:00:00", &ns), "month 13 is not in 1..12");
  EXPECT_EQ(ParseUtcTime("2023-02-29 00:00:00", &ns), "day 29 is not in 1..28");
  EXPECT_EQ(ParseUtcTime("2100-02-29 00:00:00", &ns), "day 29 is not in 1..28");
  EXPECT_EQ(ParseUtcTime("2024-04-00 00:00:00", &ns), "day 0 is not in 1..30");
  EXPECT_EQ(ParseUtcTime("2024-04-01 24:00:00", &ns), "hour 24 is not in 0..23");
  EXPECT_EQ(ParseUtcTime("2024-04-01 00:60:00", &ns), "minute 60 is not in 0..59");
  EXPECT_EQ(ParseUtcTime("2024-04-01 00:00:60", &ns), "second 60 is not in 0..59");
  EXPECT_EQ(ParseUtcTime("1969-12-31 23:59:59", &ns), "year 1969 is not in 1970..2261");
  for (const char* text :
       {"", "2024", "2024-04-01", "2024-04-01 00:00", "2024/04/01 00:00:00", "2024-04-01 00:00:00.",
        "2024-04-01 00:00:00.1234567890", "2024-04-01 00:00:00+01:00", "2024-4-1 00:00:00",
        "01-04-2024 00:00:00", "2024-04-01 00:00:00.5x", "1790000000.25"}) {
    EXPECT_NE(ParseUtcTime(text, &ns).find("not a time of the form"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace batchvar
