#include "sim/config/config_node.h"

#include <gtest/gtest.h>

#include <string>

namespace batchvar {
namespace {

std::string ProblemIn(const std::string& text) {
  const absl::StatusOr<ConfigNode> node = ParseYaml(text, "f.yaml");
  return node.ok() ? "ok" : std::string(node.status().message());
}

TEST(ParseYaml, KeepsTextQuotesAndPlaces) {
  const absl::StatusOr<ConfigNode> root =
      ParseYaml("a: 010\nb:\n  c: \"no\"\n  d: [x, {e: 1}]\n", "f.yaml");
  ASSERT_TRUE(root.ok()) << root.status();
  ASSERT_TRUE(root->IsMap());
  ASSERT_EQ(root->entries.size(), 2U);
  const ConfigEntry& a = *root->Find("a");
  EXPECT_EQ(a.value.text, "010");
  EXPECT_FALSE(a.value.quoted);
  EXPECT_EQ(a.key_mark.line, 1);
  EXPECT_EQ(a.key_mark.column, 1);
  EXPECT_EQ(a.value.mark.file, "f.yaml");
  EXPECT_EQ(a.value.mark.line, 1);
  EXPECT_EQ(a.value.mark.column, 4);
  const ConfigNode& b = root->Find("b")->value;
  EXPECT_TRUE(b.Find("c")->value.quoted);
  EXPECT_EQ(b.Find("c")->value.text, "no");
  const ConfigNode& d = b.Find("d")->value;
  ASSERT_TRUE(d.IsSequence());
  ASSERT_EQ(d.items.size(), 2U);
  EXPECT_EQ(d.items[1].Find("e")->key_mark.line, 4);
  EXPECT_EQ(d.items[1].Find("e")->key_mark.column, 11);
  EXPECT_EQ(root->Find("z"), nullptr);
}

TEST(ParseYaml, ReadsCrlfAndBlockScalars) {
  const absl::StatusOr<ConfigNode> root = ParseYaml("a: 1\r\nb: |\r\n  12\r\nc: 3\r\n", "f.yaml");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->Find("a")->value.text, "1");
  EXPECT_TRUE(root->Find("b")->value.quoted);
  EXPECT_EQ(root->Find("c")->key_mark.line, 4);
}

TEST(ParseYaml, MarksAnAbsentValueAtItsKey) {
  const absl::StatusOr<ConfigNode> root = ParseYaml("a: 1\nb:\nc: ~\nd: 2\n", "f.yaml");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_TRUE(root->Find("b")->value.IsNull());
  EXPECT_EQ(root->Find("b")->value.mark.line, 2);
  EXPECT_EQ(root->Find("b")->value.mark.column, 1);
  EXPECT_TRUE(root->Find("c")->value.IsNull());
}

TEST(ParseYaml, GivesANullNodeForNothing) {
  for (const char* text : {"", "\n\n", "# only a comment\n"}) {
    const absl::StatusOr<ConfigNode> root = ParseYaml(text, "f.yaml");
    ASSERT_TRUE(root.ok()) << root.status();
    EXPECT_TRUE(root->IsNull());
  }
}

TEST(ParseYaml, RefusesDuplicateKeysAtAnyDepth) {
  EXPECT_EQ(ProblemIn("seed: 1\ntp: 1\nseed: 2\n"),
            "f.yaml:3:1: seed: given twice; first on line 1");
  EXPECT_EQ(ProblemIn("a:\n  b: 1\n  \"b\": 2\n"), "f.yaml:3:3: a.b: given twice; first on line 2");
  EXPECT_EQ(ProblemIn("a: [{b: 1, b: 2}]\n"), "f.yaml:1:12: a[0].b: given twice; first on line 1");
}

TEST(ParseYaml, RefusesWhatItDoesNotKeep) {
  EXPECT_EQ(ProblemIn("a: &x 1\nb: *x\n"), "f.yaml:1:4: anchors (&name) are not supported");
  EXPECT_EQ(ProblemIn("a: &x {b: 1}\n"), "f.yaml:1:4: anchors (&name) are not supported");
  EXPECT_EQ(ProblemIn("a: !!int \"3\"\n"),
            "f.yaml:1:4: tags such as 'tag:yaml.org,2002:int' are not supported");
  EXPECT_EQ(ProblemIn("? [a, b]\n: 1\n"), "f.yaml:1:3: a key must be plain text");
  EXPECT_EQ(ProblemIn("a: 1\n~: 2\n"), "f.yaml:2:1: a key must be plain text");
}

TEST(ParseYaml, RefusesASecondDocument) {
  EXPECT_EQ(ProblemIn("a: 1\n---\nb: 2\n"),
            "f.yaml:2:1: a second document begins here; one file holds one document");
  EXPECT_EQ(ProblemIn("---\na: 1\n...\n"), "ok");
}

TEST(ParseYaml, PlacesSyntaxErrors) {
  EXPECT_EQ(ProblemIn("a: [1, 2\nb: 3\n"),
            "f.yaml:2:2: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(ProblemIn("a: 1\n b: 2\n"), "f.yaml:2:3: not valid YAML: illegal map value");
  EXPECT_EQ(ProblemIn("a: \"x\nb: 1\n"), "f.yaml:2:5: not valid YAML: illegal EOF in scalar");
  EXPECT_EQ(ProblemIn("a: 'x\n"), "f.yaml:1:6: not valid YAML: illegal EOF in scalar");
  EXPECT_EQ(ProblemIn("a: *nowhere\n"),
            "f.yaml:1:4: not valid YAML: the referenced anchor is not defined");
}

TEST(ParseYaml, SurvivesDeepNestingAndJunk) {
  EXPECT_NE(ProblemIn(std::string(5000, '[')), "ok");
  EXPECT_NE(ProblemIn(std::string("a: \x01\x02\xff\xfe{", 8)), "");
}

TEST(ConfigNode, SetReplacesOrAdds) {
  ConfigNode map = ConfigNode::EmptyMap({"f.yaml", 1, 1});
  map.Set("a", {"f.yaml", 2, 1}, ConfigNode::Scalar({"f.yaml", 2, 4}, "1"));
  map.Set("a", {"--set a=2", 0, 0}, ConfigNode::Scalar({"--set a=2", 0, 0}, "2"));
  ASSERT_EQ(map.entries.size(), 1U);
  EXPECT_EQ(map.Find("a")->value.text, "2");
  EXPECT_TRUE(map.Find("a")->key_mark.FromCommandLine());
}

TEST(ConfigNode, MapWithNameStandsForABareName) {
  const ConfigNode node = ConfigNode::MapWithName(ConfigNode::Scalar({"f.yaml", 3, 9}, "textbook"));
  ASSERT_TRUE(node.IsMap());
  EXPECT_EQ(node.Find("name")->value.text, "textbook");
  EXPECT_EQ(node.Find("name")->value.mark.line, 3);
}

}  // namespace
}  // namespace batchvar
