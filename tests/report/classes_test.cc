#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sim/plan/order_digest.h"
#include "sim/report/classes_json.h"
#include "sim/report/classes_reader.h"
#include "sim/report/classes_text.h"
#include "sim/status/located_error.h"
#include "tests/replay/experiments.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

ExperimentSpec Exact(std::vector<std::string> overrides = {}) {
  overrides.emplace_back("scheduler.padding=exact");
  return AllAtOnce(1, overrides);
}

ClassTable TableOf(const ExperimentSpec& spec, int64_t last = 64,
                   std::vector<int64_t> kv_lens = {}) {
  ClassQuery query;
  query.m.resize(static_cast<size_t>(last));
  std::iota(query.m.begin(), query.m.end(), 1);
  query.kv_lens = std::move(kv_lens);
  return MakeClassTable(spec, query);
}

const Json& OpNamed(const Json& table, const std::string& name) {
  for (const Json& op : table["ops"]) {
    if (op["op"] == name) return op;
  }
  ADD_FAILURE() << "no op " << name;
  return table["ops"][0];
}

TEST(ClassesJson, KeysThatOtherToolsRelyOn) {
  const Json json = ClassesJson(TableOf(Exact(), 64, {4096}));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["kind"], "classes");
  EXPECT_EQ(json["model"], "llama31_8b");
  EXPECT_EQ(json["device"], "h100_sxm");
  EXPECT_EQ(json["sm_count"], 132);
  EXPECT_EQ(json["policies"], "textbook");
  EXPECT_EQ(json["tp"], 1);
  EXPECT_EQ(json["dtype"], "bf16");
  const Json& qkv = OpNamed(json, "qkv_proj");
  EXPECT_EQ(qkv["n"], 6144);
  EXPECT_EQ(qkv["k"], 4096);
  ASSERT_EQ(qkv["classes"].size(), 2U);
  EXPECT_EQ(qkv["classes"][0]["m"], Json::parse("[[1,16]]"));
  EXPECT_EQ(qkv["classes"][0]["split_k"], 2);
  EXPECT_EQ(qkv["classes"][0]["class"].get<std::string>().size(), 32U);
  EXPECT_EQ(qkv["classes"][1]["m"], Json::parse("[[17,64]]"));
  const Json& attention = OpNamed(json, "attention");
  EXPECT_EQ(attention["kv_len"], 4096);
  EXPECT_EQ(attention["classes"][0]["batch"], Json::parse("[[1,1]]"));
  EXPECT_EQ(attention["classes"][0]["num_splits"], 16);
}

TEST(ClassesJson, RangesJoinNeighboursOfTheListOfM) {
  ClassQuery query;
  query.m = {1, 2, 4, 16, 17};
  const Json json = ClassesJson(MakeClassTable(Exact(), query));
  EXPECT_EQ(json["m"], Json::parse("[[1,2],[4,4],[16,17]]"));
  EXPECT_EQ(OpNamed(json, "qkv_proj")["classes"][0]["m"], Json::parse("[[1,16]]"));
}

TEST(ClassesJson, ReadsBackWhatItWrote) {
  const ClassTable table = TableOf(Exact({"dtype=fp16", "tp=2"}), 300, {128, 4096});
  const std::string text = ClassesJsonText(ClassesJson(table));
  const auto back = ReadClassesJson(text, "classes.json");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(WhyNotComparable(*back, table), "");
  EXPECT_TRUE(MovedClasses(*back, table).empty());
  EXPECT_EQ(ClassesJsonText(ClassesJson(*back)), text);
  EXPECT_EQ(Json::parse(text), ClassesJson(table)) << "one op a line is still the same JSON";
}

TEST(ClassesJson, RefusesWhatIsNotATable) {
  const auto problem = [](const std::string& text) {
    const auto table = ReadClassesJson(text, "b.json");
    EXPECT_EQ(table.status().code(), absl::StatusCode::kDataLoss) << text;
    return std::string(table.status().message());
  };
  EXPECT_THAT(problem("{\n\"kind\""), HasSubstr("b.json:2: is not JSON"));
  EXPECT_THAT(problem(""), HasSubstr("is not JSON"));
  EXPECT_THAT(problem("[]"), HasSubstr("must hold one JSON object"));
  EXPECT_THAT(problem("{}"), HasSubstr("schema_version: is missing"));
  const Json good = ClassesJson(TableOf(Exact(), 20, {4096}));
  const auto damaged = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    return problem(bad.dump());
  };
  EXPECT_THAT(damaged("/kind", "plan"), HasSubstr("kind: is not 'classes'"));
  EXPECT_THAT(damaged("/schema_version", 2), HasSubstr("schema_version: is not 1"));
  EXPECT_THAT(damaged("/tp", "1"), HasSubstr("tp: must be an integer"));
  EXPECT_THAT(damaged("/dtype", nullptr), HasSubstr("dtype: must be a text"));
  EXPECT_THAT(damaged("/dtype", "fp8"), HasSubstr("dtype"));
  EXPECT_THAT(damaged("/m", Json::parse("[[1,9000000000000000000]]")), HasSubstr("m: must be"));
  EXPECT_THAT(damaged("/m", Json::parse("[[1,2000000000]]")), HasSubstr("more than 65536"));
  EXPECT_THAT(damaged("/m", Json::parse("[[5,8],[1,2]]")), HasSubstr("do not ascend"));
  EXPECT_THAT(damaged("/m", Json::parse("[]")), HasSubstr("is empty"));
  EXPECT_THAT(damaged("/ops", 3), HasSubstr("ops: must be a list"));
  EXPECT_THAT(damaged("/ops/1", 3), HasSubstr("ops[1].op: is missing"));
  EXPECT_THAT(damaged("/ops/1/classes/0/class", "XY"), HasSubstr("ops[1].classes[0].class"));
  EXPECT_THAT(damaged("/ops/1/classes/0/m", Json::parse("[[1,17]]")), HasSubstr("exactly once"));
  EXPECT_THAT(damaged("/ops/1/classes/0/m", Json::parse("[[1,15]]")), HasSubstr("exactly once"));
  EXPECT_THAT(damaged("/ops/1/classes/0/m", Json::parse("[[1,21]]")), HasSubstr("begin and end"));
  EXPECT_THAT(damaged("/ops/1/classes/1/class", good["ops"][1]["classes"][0]["class"]),
              HasSubstr("one class twice"));
}

TEST(ClassesText, TableAndStrip) {
  const std::string text = ClassesText(TableOf(Exact(), 64), 120);
  for (const char* words : {"llama31_8b on h100_sxm (132 SMs), tp 1, bf16, policies textbook",
                            "M = 1..64", "K in 4    1..16", "17..32",
                            "\n  qkv_proj           "
                            "AAAAAAAAAAAAAAAABBBB",
                            "one column: 1 M"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
}

TEST(ClassesText, TheStripKeepsToItsWidth) {
  const ClassTable table = TableOf(Exact(), 8192 / 8, {4096});
  for (const int columns : {40, 80, 133}) {
    const std::string strip = ClassStrip(table, columns);
    for (size_t begin = 0; begin < strip.size(); begin = strip.find('\n', begin) + 1) {
      EXPECT_LE(strip.find('\n', begin) - begin, static_cast<size_t>(std::max(columns, 48)));
    }
    EXPECT_THAT(strip, HasSubstr("*: more than one class in it"));
  }
}

TEST(ClassesText, DifferenceOfTwoMInWords) {
  const std::string text = ComparisonText(8, 33, DifferingPlans(Exact(), {}, 8, 33));
  EXPECT_THAT(text, HasSubstr("o_proj: M = 8: 16x128x64 tile, K split in 4 at 1024, 2048, 3072; "
                              "M = 33: 16x128x64 tile, one pass\n"));
  EXPECT_THAT(text, Not(HasSubstr("lm_head")));
  EXPECT_THAT(ComparisonText(8, 9, {}), HasSubstr("every op has the same class"));
}

TEST(ClassesText, EqualWordsAreToldApart) {
  PlanPair pair;
  pair.shape.op = Op::kOProj;
  pair.a.order.pieces = {{0, 64}, {64, 128}};
  pair.b.order.pieces = pair.a.order.pieces;
  pair.a.order.combine = Combine::kSerialFp32;
  pair.b.order.combine = Combine::kSerial16bit;
  pair.a.klass = ClassOfOrder(pair.a.order);
  pair.b.klass = ClassOfOrder(pair.b.order);
  const auto [a, b] = PlanWords(pair);
  EXPECT_THAT(a, HasSubstr("K split in 2 at 64, combine serial_fp32, class "));
  EXPECT_NE(a, b);
  pair.b.klass.lo ^= 1;  // as of a plan whose tiles have several orders
  pair.b.gemm.split_k = 3;
  EXPECT_THAT(PlanWords(pair).second, HasSubstr("tile-dependent, up to 3 pieces"));
}

TEST(ClassesText, MovedBoundariesInWords) {
  const ClassTable was = TableOf(Exact());
  const ClassTable now = TableOf(Exact({"device.sm_count=108"}));
  const std::string text = MovedText(was, now, MovedClasses(was, now));
  EXPECT_THAT(text, HasSubstr("o_proj: M = 17..32 moved from class "));
  EXPECT_THAT(text, HasSubstr("(first M 17, K in 2) to class "));
  EXPECT_THAT(text, HasSubstr("o_proj: class boundaries were M = 17, 33, now M = 17\n"));
  EXPECT_THAT(VariantWords(*FirstVariant(was)),
              HasSubstr("qkv_proj has 2 classes: its sums change at M = 17 (K in 2 -> one pass)"));
}

}  // namespace
}  // namespace batchvar
