#include "sim/config/config_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace batchvar {
namespace {

enum class Color { kRed, kBlue };

ConfigNode Parse(const std::string& text) {
  const absl::StatusOr<ConfigNode> node = ParseYaml(text, "f.yaml");
  return node.ok() ? *node : ConfigNode();
}

// Reads every type once under the path `box`; returns the first error, or "ok".
std::string ProblemIn(const std::string& text) {
  const ConfigNode node = Parse(text);
  FirstError errors;
  MapReader reader(node, "box", &errors);
  int32_t count = 0;
  uint64_t seed = 0;
  double rate = 0;
  bool flag = false;
  std::string label;
  std::vector<int32_t> sizes;
  Color color = Color::kRed;
  reader.Integer("count", 1, 100, &count);
  reader.Unsigned("seed", &seed);
  reader.Number("rate", {.min = 0, .max = 1, .max_open = true}, &rate);
  reader.Bool("flag", &flag);
  reader.Text("label", &label);
  reader.Integers("sizes", 1, 8, &sizes);
  reader.Enum<Color>("color", {{"red", Color::kRed}, {"blue", Color::kBlue}}, &color);
  reader.Refuse({"weight"}, "a box");
  reader.Finish();
  return errors.ok() ? "ok" : std::string(errors.status().message());
}

TEST(MapReader, ReadsEveryType) {
  EXPECT_EQ(ProblemIn("count: 7\nseed: 18446744073709551615\nrate: 0.25\nflag: true\n"
                      "label: 010\nsizes: [1, 8]\ncolor: blue\n"),
            "ok");
  EXPECT_EQ(ProblemIn("{}"), "ok");
}

TEST(MapReader, ChecksIntegers) {
  EXPECT_EQ(ProblemIn("count: 0"), "f.yaml:1:8: box.count: must be between 1 and 100, got 0");
  EXPECT_EQ(ProblemIn("count: 101"), "f.yaml:1:8: box.count: must be between 1 and 100, got 101");
  EXPECT_EQ(ProblemIn("count: 010"),
            "f.yaml:1:8: box.count: '010' is not a decimal integer; write 10");
  EXPECT_EQ(ProblemIn("count: \"7\""),
            "f.yaml:1:8: box.count: \"7\" is quoted text, not an integer; remove the quotes");
  EXPECT_EQ(ProblemIn("count: [7]"), "f.yaml:1:8: box.count: must be an integer, not a list");
  EXPECT_EQ(ProblemIn("count:"), "f.yaml:1:1: box.count: has no value; give one or remove the key");
  EXPECT_EQ(ProblemIn("seed: -1"), "f.yaml:1:7: box.seed: must be at least 0, got -1");
  EXPECT_EQ(ProblemIn("seed: 1e3"),
            "f.yaml:1:7: box.seed: '1e3' is not a decimal integer; write 1000");
  EXPECT_EQ(ProblemIn("sizes: [1, 9]"),
            "f.yaml:1:12: box.sizes[1]: must be between 1 and 8, got 9");
  EXPECT_EQ(ProblemIn("sizes: 4"),
            "f.yaml:1:8: box.sizes: must be a list of integers, not a single value");
}

TEST(MapReader, NamesAnEndOfTheRangeOnlyWhereItMatters) {
  const ConfigNode node = Parse("low: 0\nhigh: 3000000000\n");
  for (const auto& [key, message] :
       {std::pair<const char*, const char*>{"low", "f.yaml:1:6: low: must be at least 1, got 0"},
        {"high", "f.yaml:2:7: high: must be at most 2147483647, got 3000000000"}}) {
    FirstError errors;
    MapReader reader(node, "", &errors);
    int32_t value = 5;
    reader.Integer(key, 1, kMaxInt32, &value);
    EXPECT_EQ(errors.status().message(), message);
    EXPECT_EQ(value, 5);
  }
}

TEST(MapReader, ChecksNumbersBooleansAndNames) {
  EXPECT_EQ(ProblemIn("rate: 1"), "f.yaml:1:7: box.rate: must be at least 0 and below 1, got 1");
  EXPECT_EQ(ProblemIn("rate: .5"),
            "f.yaml:1:7: box.rate: '.5' is not a finite decimal number; write 0.5");
  EXPECT_EQ(ProblemIn("rate: '0.5'"),
            "f.yaml:1:7: box.rate: \"0.5\" is quoted text, not a number; remove the quotes");
  EXPECT_EQ(ProblemIn("flag: no"), "f.yaml:1:7: box.flag: 'no' is not a boolean; write false");
  EXPECT_EQ(ProblemIn("flag: \"true\""),
            "f.yaml:1:7: box.flag: \"true\" is quoted text, not a boolean; remove the quotes");
  EXPECT_EQ(ProblemIn("label: {}"), "f.yaml:1:8: box.label: must be text, not a map");
  EXPECT_EQ(ProblemIn("color: rde"),
            "f.yaml:1:8: box.color: 'rde' is not one of red, blue; did you mean 'red'?");
  EXPECT_EQ(ProblemIn("color: turquoise"),
            "f.yaml:1:8: box.color: 'turquoise' is not one of red, blue");
}

TEST(MapReader, ReportsUnknownAndUnusedKeysAtTheKey) {
  EXPECT_EQ(ProblemIn("count: 1\ncuont: 2\n"),
            "f.yaml:2:1: box.cuont: unknown key 'cuont'; did you mean 'count'?");
  EXPECT_EQ(ProblemIn("  zzz: 2\n"), "f.yaml:1:3: box.zzz: unknown key 'zzz'");
  EXPECT_EQ(ProblemIn("weight: 3"), "f.yaml:1:1: box.weight: is not used by a box; remove it");
}

TEST(MapReader, PrefersAMisspeltKeyOverTheMissingOne) {
  const ConfigNode node = Parse("cuont: 2\n");
  FirstError errors;
  MapReader reader(node, "", &errors);
  int32_t count = 0;
  reader.Require({"count"});
  reader.Integer("count", 1, 100, &count);
  reader.Finish();
  EXPECT_EQ(errors.status().message(),
            "f.yaml:1:1: cuont: unknown key 'cuont'; did you mean 'count'?");
}

TEST(MapReader, ReportsMissingKeysAtTheMap) {
  const ConfigNode node = Parse("\nflag: true\n");
  FirstError errors;
  MapReader reader(node, "box", &errors);
  bool flag = false;
  reader.Require({"count"});
  reader.Bool("flag", &flag);
  reader.Finish();
  EXPECT_EQ(errors.status().message(), "f.yaml:2:1: box.count: is required");
}

TEST(MapReader, ReportsWhatIsNoMapOnce) {
  EXPECT_EQ(ProblemIn("[1, 2]"), "f.yaml:1:1: box: must be a map of keys, not a list");
  EXPECT_EQ(ProblemIn("text"), "f.yaml:1:1: box: must be a map of keys, not a single value");
}

TEST(MapReader, KeepsTheFirstErrorAndItsPlace) {
  const ConfigNode node = Parse("count: x\nflag: y\n");
  FirstError errors;
  MapReader reader(node, "", &errors);
  int32_t count = 0;
  bool flag = false;
  reader.Integer("count", 1, 100, &count);
  reader.Bool("flag", &flag);
  const Location where = LocationOf(errors.status());
  EXPECT_EQ(where.file, "f.yaml");
  EXPECT_EQ(where.line, 1);
  EXPECT_EQ(where.column, 8);
  EXPECT_EQ(where.field, "count");
}

TEST(NumberRange, SaysItsEnds) {
  EXPECT_EQ(NumberRange::Above(0).Words(), "above 0");
  EXPECT_EQ(NumberRange::AtLeast(0).Words(), "at least 0");
  EXPECT_EQ((NumberRange{.min = 0, .min_open = true, .max = 1}).Words(), "above 0 and at most 1");
  EXPECT_EQ((NumberRange{.max = 1, .max_open = true}).Words(), "below 1");
  EXPECT_FALSE(NumberRange::Above(0).Holds(0));
  EXPECT_TRUE(NumberRange::AtLeast(0).Holds(0));
}

}  // namespace
}  // namespace batchvar
