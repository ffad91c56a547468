#include "sim/io/csv_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

const RowPlace kPlace = {"t.csv", 3, ""};

CsvTable TableOf(std::string_view header) {
  CsvTable table;
  EXPECT_TRUE(table.ReadHeader(kPlace, header).ok());
  return table;
}

TEST(CsvTable, FindsColumnsByName) {
  const CsvTable table = TableOf("a, b ,\"c d\"");
  EXPECT_EQ(table.Find("a"), 0);
  EXPECT_EQ(table.Find("b"), 1);
  EXPECT_EQ(table.Find("c d"), 2);
  EXPECT_EQ(table.Find("A"), -1);
  int column = -1;
  EXPECT_TRUE(table.Require(kPlace, "b", &column).ok());
  EXPECT_EQ(column, 1);
}

TEST(CsvTable, ListsTheColumnsWhenOneIsMissing) {
  int column = 0;
  const absl::Status status = TableOf("a,b\x01").Require(kPlace, "c", &column, " (why)");
  EXPECT_EQ(status.message(), "t.csv:3: c: missing column 'c' (why); found columns 'a', 'b\\x01'");
  EXPECT_EQ(LocationOf(status).field, "c");
  std::string wide = "x";
  for (int i = 0; i < 100; ++i) wide += ",x" + std::to_string(i);
  EXPECT_THAT(std::string(TableOf(wide).Require(kPlace, "c", &column).message()),
              testing::EndsWith("'x18', ..."));
}

TEST(CsvTable, RefusesTwoColumnsOfOneName) {
  int column = 0;
  EXPECT_THAT(std::string(TableOf("a,b,a").Require(kPlace, "a", &column).message()),
              HasSubstr("two columns have this name"));
}

TEST(CsvTable, ReadsQuotedAndEmptyFields) {
  CsvTable table = TableOf("a,b,c");
  ASSERT_TRUE(table.ReadRow(kPlace, R"( "x,y" ,"say ""hi"" """,)").ok());
  EXPECT_EQ(table.field(0), "x,y");
  EXPECT_EQ(table.field(1), "say \"hi\" \"");
  EXPECT_EQ(table.field(2), "");
  ASSERT_TRUE(table.ReadRow(kPlace, "\t1 , 2 3 ,\"\"").ok());
  EXPECT_EQ(table.field(0), "1");
  EXPECT_EQ(table.field(1), "2 3");
  EXPECT_EQ(table.field(2), "");
}

TEST(CsvTable, RefusesRowsOfAnotherWidth) {
  CsvTable table = TableOf("a,b,c");
  const absl::Status shorter = table.ReadRow(kPlace, "1");
  EXPECT_EQ(LocationOf(shorter).field, "b");
  EXPECT_EQ(LocationOf(shorter).line, 3);
  EXPECT_THAT(std::string(shorter.message()), HasSubstr("the row has 1 fields, the header 3"));
  EXPECT_FALSE(table.ReadRow(kPlace, "1,2,3,4").ok());
  EXPECT_FALSE(table.ReadRow(kPlace, "1,2,3,").ok());
}

TEST(CsvTable, RefusesBrokenQuotes) {
  CsvTable table = TableOf("a,b");
  for (const char* line : {"\"1,2", "1,\"", "1,\"2\"3", "\"1\"\",2"}) {
    EXPECT_THAT(std::string(table.ReadRow(kPlace, line).message()), HasSubstr("quote")) << line;
  }
}

}  // namespace
}  // namespace batchvar
