#include "sim/replay/gate_expression.h"

#include <gtest/gtest.h>

#include <string>

namespace batchvar {
namespace {

const GateValues& Values() {
  static const GateValues values = {{"m", 16.0},
                                    {"device", std::string("h100_sxm")},
                                    {"interrupted", false},
                                    {"requests.finished", 200.0},
                                    {"o_proj.split_k", 4.0}};
  return values;
}

// "true", "false", or the error.
std::string ValueOf(const std::string& text) {
  const absl::StatusOr<GateExpression> gate = GateExpression::Parse(text);
  if (!gate.ok()) return std::string(gate.status().message());
  const absl::StatusOr<bool> holds = gate->Holds(Values());
  if (!holds.ok()) return std::string(holds.status().message());
  return *holds ? "true" : "false";
}

TEST(Gate, Compares) {
  EXPECT_EQ(ValueOf("m == 16"), "true");
  EXPECT_EQ(ValueOf("m != 16"), "false");
  EXPECT_EQ(ValueOf("m < 16"), "false");
  EXPECT_EQ(ValueOf("m <= 16.0"), "true");
  EXPECT_EQ(ValueOf("-1 < m"), "true");
  EXPECT_EQ(ValueOf("1.5e3>requests.finished"), "true");
  EXPECT_EQ(ValueOf("device == 'h100_sxm'"), "true");
  EXPECT_EQ(ValueOf("device != \"h100_sxm\""), "false");
  EXPECT_EQ(ValueOf("interrupted == false"), "true");
}

TEST(Gate, NotBindsBeforeAndBeforeOr) {
  EXPECT_EQ(ValueOf("true or true and false"), "true");
  EXPECT_EQ(ValueOf("(true or true) and false"), "false");
  EXPECT_EQ(ValueOf("not false and false"), "false");
  EXPECT_EQ(ValueOf("not (false and false)"), "true");
  EXPECT_EQ(ValueOf("not m == 1"), "true");
  EXPECT_EQ(ValueOf("not not interrupted"), "false");
}

TEST(Gate, LooksAtTheRightSideOnlyWhenItMatters) {
  EXPECT_EQ(ValueOf("m == 16 or absent == 1"), "true");
  EXPECT_EQ(ValueOf("m == 1 and absent == 1"), "false");
  EXPECT_EQ(ValueOf("m == 16 and absent == 1"), "character 13: 'absent' has no value in this cell");
}

TEST(Gate, RefusesKindsThatDoNotCompare) {
  EXPECT_NE(ValueOf("device == 3").find("cannot be compared"), std::string::npos);
  EXPECT_NE(ValueOf("device < 'x'").find("cannot be compared"), std::string::npos);
  EXPECT_NE(ValueOf("m and true").find("a number is no condition"), std::string::npos);
  EXPECT_NE(ValueOf("interrupted < true").find("cannot be compared"), std::string::npos);
}

TEST(Gate, SaysWhereItDoesNotParse) {
  EXPECT_EQ(ValueOf("m = 3"), "character 3: '=' was not expected; equality is ==");
  EXPECT_EQ(ValueOf("1 < m < 3"),
            "character 7: '<' was not expected; join two comparisons with and");
  EXPECT_EQ(ValueOf("m == 1 && m == 2"), "character 8: '&' was not expected; write and");
  EXPECT_EQ(ValueOf("(m == 1"), "character 8: something is missing");
  EXPECT_EQ(ValueOf("m =="), "character 5: something is missing");
  EXPECT_EQ(ValueOf("device == 'h100"), "character 11: a quote that is never closed");
  EXPECT_EQ(ValueOf("m == 1.2.3"), "character 6: '1.2.3' is not a number");
  EXPECT_EQ(ValueOf("and"), "character 1: 'and' was not expected");
  EXPECT_EQ(ValueOf(""), "character 1: something is missing");
  EXPECT_NE(ValueOf("m == 1 $").find("'$' was not expected"), std::string::npos);
  EXPECT_NE(ValueOf(std::string(100000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(ValueOf(std::string(1, ' ')).find("missing"), std::string::npos);
}

TEST(Gate, NamesEachOnce) {
  const auto gate = GateExpression::Parse("m < 3 or b.c == 'm' or (m > 4 and not d)");
  ASSERT_TRUE(gate.ok());
  EXPECT_EQ(gate->Names(), (std::vector<std::string>{"m", "b.c", "d"}));
}

}  // namespace
}  // namespace batchvar
