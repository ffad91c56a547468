#include "sim/io/json_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const RowPlace kPlace = {"t.jsonl", 7, ""};

absl::Status ErrorOf(std::string_view line) {
  JsonRow row;
  absl::Status status = row.Parse(kPlace, line);
  EXPECT_FALSE(status.ok()) << line;
  EXPECT_EQ(LocationOf(status).line, 7) << line;
  return status;
}

TEST(JsonRow, KeepsNumbersAsTheyStand) {
  JsonRow row;
  ASSERT_TRUE(row.Parse(kPlace, R"({"a": 1790000000.0827403, "b": 18446744073709551615, "c": -4,
                                    "d": 1e3, "e": "x\u00e9", "f": null, "g": true})")
                  .ok());
  EXPECT_EQ(row.Find("a")->text, "1790000000.0827403");
  EXPECT_EQ(row.Find("b")->text, "18446744073709551615");
  EXPECT_EQ(row.Find("c")->text, "-4");
  EXPECT_EQ(row.Find("d")->text, "1e3");
  EXPECT_EQ(row.Find("e")->text, "x\xc3\xa9");
  EXPECT_EQ(row.Find("f"), nullptr);
  EXPECT_EQ(row.Find("g")->kind, JsonField::Kind::kBoolean);
  EXPECT_EQ(row.Find("h"), nullptr);
  EXPECT_EQ(row.fields().size(), 7u);
}

TEST(JsonRow, ReadsListsOfWholeNumbers) {
  JsonRow row;
  ASSERT_TRUE(row.Parse(kPlace, R"({"a": [0, 18446744073709551615], "b": [],
                                    "c": [[1, 2], [], [3]], "d": [[]]})")
                  .ok());
  EXPECT_EQ(row.Find("a")->kind, JsonField::Kind::kNumbers);
  EXPECT_THAT(row.Find("a")->numbers, ElementsAre(0, 18446744073709551615u));
  EXPECT_EQ(row.Find("b")->kind, JsonField::Kind::kNumbers);
  EXPECT_EQ(row.Find("c")->kind, JsonField::Kind::kNumberLists);
  EXPECT_THAT(row.Find("c")->numbers, ElementsAre(1, 2, 3));
  EXPECT_THAT(row.Find("c")->list_sizes, ElementsAre(2, 0, 1));
  EXPECT_THAT(row.Find("d")->list_sizes, ElementsAre(0));
}

TEST(JsonRow, OtherListsAreNoListsOfNumbers) {
  for (const char* value : {"[1.5]", "[-1]", "[18446744073709551616]", "[\"1\"]", "[null]",
                            "[true]", "[{}]", "[{\"a\": 1}]", "[1, [2]]", "[[1], 2]", "[[[1]]]",
                            "[[1, [2]]]", "[[1.5]]", "{}", "{\"a\": [1]}"}) {
    JsonRow row;
    ASSERT_TRUE(row.Parse(kPlace, "{\"v\": " + std::string(value) + ", \"w\": [4]}").ok()) << value;
    EXPECT_EQ(row.Find("v")->kind, JsonField::Kind::kOther) << value;
    EXPECT_THAT(row.Find("w")->numbers, ElementsAre(4)) << value;
  }
}

TEST(JsonRow, ForgetsTheLineBefore) {
  JsonRow row;
  ASSERT_TRUE(row.Parse(kPlace, R"({"a": [1, 2], "b": "x"})").ok());
  ASSERT_TRUE(row.Parse(kPlace, R"({"a": [3]})").ok());
  EXPECT_THAT(row.Find("a")->numbers, ElementsAre(3));
  EXPECT_EQ(row.Find("b"), nullptr);
}

TEST(JsonRow, RefusesWhatIsNotOneObject) {
  for (const char* line : {"[1]", "3", "\"a\"", "null", "a,b", "[{\"a\": 1}]"}) {
    EXPECT_THAT(std::string(ErrorOf(line).message()), HasSubstr("not a JSON object")) << line;
  }
  for (const char* line : {"{\"a\": 1} {\"b\": 2}", "{\"a\": 1},", "{'a': 1}", "{\"a\" 1}",
                           "{\"a\": 1,}", "{\"a\": \"\xff\"}"}) {
    EXPECT_THAT(std::string(ErrorOf(line).message()), HasSubstr("broken JSON")) << line;
  }
  for (const char* line : {"{", "{\"a\": 1", "{\"a", "{\"a\": [1, 2", "{\"a\": \"b"}) {
    EXPECT_THAT(std::string(ErrorOf(line).message()), HasSubstr("does not end on its line"))
        << line;
  }
}

TEST(JsonRow, NamesTheFieldOfABrokenValue) {
  for (const char* value : {"NaN", "-NaN", "nan", "Infinity", "-Infinity", "inf"}) {
    const absl::Status status = ErrorOf("{\"a\": 1, \"t\": " + std::string(value) + "}");
    EXPECT_EQ(LocationOf(status).field, "t") << value;
    EXPECT_THAT(std::string(status.message()), HasSubstr("not finite")) << value;
  }
  EXPECT_THAT(std::string(ErrorOf("{\"t\": 1e999}").message()), HasSubstr("t: out of range"));
  EXPECT_EQ(LocationOf(ErrorOf("{\"t\": 1, \"u\": 01}")).column, 16);
  EXPECT_EQ(LocationOf(ErrorOf("{\"t\": 1, \"u")).field, "");
  EXPECT_THAT(std::string(ErrorOf("{\"t\": 1, \"t\": 2}").message()), HasSubstr("t: this key"));
}

TEST(JsonRow, NoDepthIsTooDeep) {
  JsonRow row;
  const std::string deep = "{\"a\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  ASSERT_TRUE(row.Parse(kPlace, deep).ok());
  EXPECT_EQ(row.Find("a")->kind, JsonField::Kind::kOther);
}

TEST(JsonRow, ReadsTypedFields) {
  JsonRow row;
  ASSERT_TRUE(row.Parse(kPlace, R"({"t": 1.5, "n": 12, "s": "x", "b": true})").ok());
  int64_t time_ns = 0;
  int32_t tokens = 0;
  std::string text;
  EXPECT_TRUE(row.TimeNs(kPlace, "t", 3, &time_ns).ok());
  EXPECT_EQ(time_ns, 1'500'000);
  EXPECT_TRUE(row.Tokens(kPlace, "n", &tokens).ok());
  EXPECT_EQ(tokens, 12);
  EXPECT_TRUE(row.Name(kPlace, "s", &text).ok());
  EXPECT_EQ(text, "x");
  EXPECT_TRUE(row.Name(kPlace, "n", &text).ok());
  EXPECT_EQ(text, "12");
  EXPECT_TRUE(row.Name(kPlace, "none", &text).ok());
  EXPECT_EQ(text, "");
  EXPECT_EQ(row.Tokens(kPlace, "s", &tokens).message(), "t.jsonl:7: s: not a number");
  EXPECT_EQ(row.Tokens(kPlace, "none", &tokens).message(), "t.jsonl:7: none: missing");
  EXPECT_EQ(row.Tokens(kPlace, "t", &tokens).message(), "t.jsonl:7: t: not a whole number: '1.5'");
  EXPECT_FALSE(row.Name(kPlace, "b", &text).ok());
}

}  // namespace
}  // namespace batchvar
