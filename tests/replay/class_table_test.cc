#include "sim/replay/class_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sim/replay/class_comparison.h"
#include "tests/replay/experiments.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ClassQuery UpTo(int64_t last, std::vector<int64_t> kv_lens = {}) {
  ClassQuery query;
  query.m.resize(static_cast<size_t>(last));
  std::iota(query.m.begin(), query.m.end(), 1);
  query.kv_lens = std::move(kv_lens);
  return query;
}

// Exact M, as `batchvar classes` asks unless told otherwise.
ExperimentSpec Exact(std::vector<std::string> overrides = {}) {
  overrides.emplace_back("scheduler.padding=exact");
  return AllAtOnce(1, overrides);
}

const OpPartition& Find(const ClassTable& table, const std::string& op) {
  for (const OpPartition& partition : table.ops) {
    if (partition.op == op) return partition;
  }
  ADD_FAILURE() << "no op " << op;
  return table.ops.front();
}

TEST(ClassTable, TextbookBoundariesOfLlamaOnAnH100) {
  const ClassTable table = MakeClassTable(Exact(), UpTo(256));
  EXPECT_THAT(Boundaries(table.query, Find(table, "qkv_proj")), ElementsAre(17));
  EXPECT_THAT(Boundaries(table.query, Find(table, "o_proj")), ElementsAre(17, 33));
  EXPECT_THAT(Boundaries(table.query, Find(table, "down_proj")), ElementsAre(17, 33));
  EXPECT_THAT(Boundaries(table.query, Find(table, "gate_up_proj")), ElementsAre());
  EXPECT_THAT(Boundaries(table.query, Find(table, "lm_head")), ElementsAre());
  const std::vector<MClass>& classes = Find(table, "o_proj").classes;
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_THAT(std::vector<int32_t>({classes[0].split, classes[1].split, classes[2].split}),
              ElementsAre(4, 2, 1));
  EXPECT_FALSE(classes[0].tile_dependent);
  ASSERT_NE(FirstVariant(table), nullptr);
  EXPECT_EQ(FirstVariant(table)->op, "qkv_proj");
}

TEST(ClassTable, ClassesAreThoseOfTheBookAndEveryMHasOne) {
  const ExperimentSpec spec = Exact({"policies.norm=norm_vllm"});
  const ClassTable table = MakeClassTable(spec, UpTo(300));
  PlanBook book(spec);
  ASSERT_EQ(table.ops.size() + 1, book.ops().size());  // attention was not asked for
  size_t at = 0;
  for (size_t op = 0; op < book.ops().size(); ++op) {
    if (book.ops()[op].op == Op::kAttention) continue;
    const OpPartition& partition = table.ops[at++];
    EXPECT_EQ(partition.op, OpName(book.ops()[op].op));
    size_t count = 0;
    for (const MClass& one : partition.classes) {
      count += one.m.size();
      for (const int64_t m : one.m) EXPECT_EQ(book.Lookup(op, m).klass, one.klass);
    }
    EXPECT_EQ(count, 300U);
  }
  EXPECT_THAT(Boundaries(table.query, Find(table, "rms_norm_in")), ElementsAre(256));
}

TEST(ClassTable, BatchInvariantHasOneClassAttentionIncluded) {
  const ClassTable table =
      MakeClassTable(Exact({"policies=batch_invariant"}), UpTo(256, {128, 4096, 5000}));
  EXPECT_EQ(FirstVariant(table), nullptr);
}

TEST(ClassTable, AttentionClassesFollowTheBatch) {
  const ClassTable table = MakeClassTable(Exact(), UpTo(20, {128, 4096}));
  std::vector<const OpPartition*> attention;
  for (const OpPartition& op : table.ops) {
    if (op.kv_len > 0) attention.push_back(&op);
  }
  ASSERT_EQ(attention.size(), 2U);
  EXPECT_EQ(attention[0]->classes.size(), 1U) << "one tile of 128 cannot be split";
  // 132 SMs, 8 KV heads: 16, 8, 5, 4, 3, 2 and one piece.
  EXPECT_THAT(Boundaries(table.query, *attention[1]), ElementsAre(2, 3, 4, 5, 6, 9));
  EXPECT_EQ(attention[1]->classes[0].split, 16);
  EXPECT_EQ(table.ops[2].op, "attention") << "it stands where it runs, behind qkv_proj";
}

TEST(ClassTable, PaddingIsOfTheBodyOnly) {
  const ExperimentSpec spec = AllAtOnce(
      1, {"scheduler.padding=capture", "device.sm_count=20000", "policies.gemm.tile_m=1"});
  const ClassTable table = MakeClassTable(spec, UpTo(16));
  EXPECT_TRUE(table.padded);
  for (const int64_t m : Boundaries(table.query, Find(table, "o_proj"))) {
    EXPECT_TRUE(m == 2 || m == 3 || m == 5 || m == 9) << m;
  }
  EXPECT_THAT(Boundaries(table.query, Find(table, "lm_head")), testing::Contains(7));
}

TEST(ClassTable, NeighboursOfTheListAreJoined) {
  EXPECT_THAT(JoinNeighbours({1, 2, 4, 16}, {1, 2, 4, 8, 16}),
              ElementsAre(ClosedRange(1, 4), ClosedRange(16, 16)));
  EXPECT_THAT(JoinNeighbours({2, 16}, {1, 2, 4, 8, 16}),
              ElementsAre(ClosedRange(2, 2), ClosedRange(16, 16)));
  EXPECT_THAT(JoinNeighbours({}, {1}), ElementsAre());
  EXPECT_THAT(ConsecutiveRanges({1, 2, 4}), ElementsAre(ClosedRange(1, 2), ClosedRange(4, 4)));
}

TEST(MovedClasses, NothingMovesBetweenEqualTables) {
  const ClassTable table = MakeClassTable(Exact(), UpTo(64, {4096}));
  EXPECT_TRUE(MovedClasses(table, table).empty());
}

TEST(MovedClasses, AnotherSmCountMovesBoundaries) {
  const ClassTable was = MakeClassTable(Exact(), UpTo(64));
  const ClassTable now = MakeClassTable(Exact({"device.sm_count=108"}), UpTo(64));
  ASSERT_EQ(WhyNotComparable(was, now), "");
  std::vector<MovedRange> of_o_proj;
  for (const MovedRange& range : MovedClasses(was, now)) {
    if (now.ops[range.op].op == "o_proj") of_o_proj.push_back(range);
  }
  ASSERT_EQ(of_o_proj.size(), 2U);
  EXPECT_EQ(of_o_proj[0].m, ClosedRange(1, 16));
  EXPECT_EQ(of_o_proj[0].was->split, 4);
  EXPECT_EQ(of_o_proj[0].now->split, 3);
  EXPECT_EQ(of_o_proj[1].m, ClosedRange(17, 32));
  EXPECT_EQ(of_o_proj[1].now->first_m(), 17);
}

TEST(MovedClasses, AnotherArithmeticMovesEveryMOfEveryGemm) {
  const ClassTable was = MakeClassTable(Exact(), UpTo(8));
  const ClassTable now = MakeClassTable(Exact({"device=a100_sxm"}), UpTo(8));
  size_t gemms = 0;
  for (const MovedRange& range : MovedClasses(was, now)) {
    EXPECT_EQ(range.m, ClosedRange(1, 8));
    gemms += now.ops[range.op].n > 0 ? 1 : 0;
  }
  EXPECT_EQ(gemms, 5U);
}

TEST(WhyNotComparable, SaysWhatDiffers) {
  const ClassTable table = MakeClassTable(Exact(), UpTo(8));
  const auto why = [&](const ExperimentSpec& spec, const ClassQuery& query) {
    return WhyNotComparable(table, MakeClassTable(spec, query));
  };
  EXPECT_THAT(why(Exact({"tp=2"}), UpTo(8)), HasSubstr("tp is 1, not 2"));
  EXPECT_THAT(why(Exact({"model=qwen3_8b"}), UpTo(8)), HasSubstr("model is llama31_8b"));
  EXPECT_THAT(why(Exact({"dtype=fp16"}), UpTo(8)), HasSubstr("dtype is bf16"));
  EXPECT_THAT(why(Exact(), UpTo(9)), HasSubstr("1..8, not 1..9"));
  EXPECT_THAT(why(Exact(), UpTo(8, {128})), HasSubstr("KV lengths is empty, not 128"));
  EXPECT_THAT(why(AllAtOnce(1), UpTo(8)), HasSubstr("padding is exact"));
  EXPECT_THAT(why(Exact({"model.intermediate_size=14400"}), UpTo(8)),
              HasSubstr("gate_up_proj with n 28672 and k 4096"));
}

TEST(DifferingPlans, AreTheOpsWhoseClassDiffers) {
  EXPECT_TRUE(DifferingPlans(Exact(), UpTo(1), 8, 9).empty());
  const std::vector<PlanPair> pairs = DifferingPlans(Exact(), UpTo(1, {4096}), 8, 24);
  std::vector<std::string> ops;
  for (const PlanPair& pair : pairs) ops.emplace_back(OpName(pair.shape.op));
  EXPECT_THAT(ops, ElementsAre("qkv_proj", "attention", "o_proj", "down_proj"));
  EXPECT_EQ(pairs[2].a.order.pieces.size(), 4U);
  EXPECT_EQ(pairs[2].b.order.pieces.size(), 2U);
}

}  // namespace
}  // namespace batchvar
