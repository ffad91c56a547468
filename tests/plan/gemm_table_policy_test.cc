#include "sim/plan/gemm_table_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const GemmShape kShape = {1, 4096, 640};  // 10 K tiles of 64

GemmTableRow Row(int32_t split_k) {
  GemmTableRow row;
  row.tile = {64, 128, 64};
  row.split_k = split_k;
  row.instr_k = 16;
  return row;
}

GemmPolicySpec SpecOf(const GemmTableRow& row) {
  auto table = std::make_shared<GemmTable>(PolicySource{"t.csv", "1", ""});
  EXPECT_TRUE(table->Add("H100_SXM", kShape, row));
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kTable);
  spec.table_path = "t.csv";
  spec.table = std::move(table);
  return spec;
}

GemmPlan PlanOf(const GemmTableRow& row) {
  return MakeGemmPolicy(SpecOf(row))->PlanWithWords(kShape, H100());
}

TEST(GemmTable, FindsWhatWasAddedAndNothingElse) {
  GemmTable table({"t", "1", ""});
  EXPECT_TRUE(table.Add("A", kShape, Row(2)));
  EXPECT_FALSE(table.Add("a", kShape, Row(3)));
  ASSERT_NE(table.Find("a", kShape), nullptr);
  EXPECT_EQ(table.Find("A", kShape)->split_k, 2);
  EXPECT_EQ(table.Find("B", kShape), nullptr);
  EXPECT_EQ(table.Find("A", {2, 4096, 640}), nullptr);
  EXPECT_EQ(table.Find("A", {1, 4096, 640, DType::kFp16}), nullptr);
  EXPECT_EQ(table.size(), 1u);
}

TEST(GemmTablePolicy, AnswersTheRow) {
  const GemmPlan plan = PlanOf(Row(3));
  EXPECT_EQ(plan.policy, "table");
  EXPECT_EQ(plan.source.project, "t.csv");
  EXPECT_EQ(plan.decision.split_k, 3);
  EXPECT_EQ(plan.decision.ctas, 32 * 3);
  EXPECT_EQ(plan.decision.combine, Combine::kSerialFp32);
  EXPECT_THAT(plan.tiles[0].order.pieces,
              ElementsAre(Range{0, 256}, Range{256, 448}, Range{448, 640}));
  EXPECT_THAT(plan.explain, Contains(HasSubstr("not in the table")));
}

TEST(GemmTablePolicy, AMissingKeyIsNamed) {
  const auto policy = MakeGemmPolicy(SpecOf(Row(1)));
  EXPECT_EQ(policy->Missing(kShape, H100()), "");
  EXPECT_EQ(policy->Missing({2, 4096, 640}, H100()),
            "table: t.csv has no row for gpu h100_sxm, bf16, M 2, N 4096, K 640; it has rows for "
            "H100_SXM");
  GemmPolicySpec other = SpecOf(Row(1));
  other.gpu = "B200";
  EXPECT_THAT(MakeGemmPolicy(other)->Missing(kShape, H100()), HasSubstr("gpu B200"));
  EXPECT_EQ(MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kTable))->Missing(kShape, H100()),
            "table: no table is loaded");
}

TEST(GemmTablePolicy, RowsThatCannotBeAreMissing) {
  GemmTableRow row = Row(1);
  row.sm_count = 114;
  EXPECT_THAT(MakeGemmPolicy(SpecOf(row))->Missing(kShape, H100()),
              HasSubstr("taken on 114 SMs, and the device has 132"));
  EXPECT_THAT(MakeGemmPolicy(SpecOf(Row(11)))->Missing(kShape, H100()),
              HasSubstr("splits 10 K tiles by 11"));
}

TEST(GemmTablePolicy, ALibraryIsNotCalledATable) {
  GemmTableRow row = Row(3);
  row.sm_count = 132;
  row.shown = "stages=4";
  GemmPolicySpec spec = SpecOf(row);
  spec.kind = GemmPolicyKind::kNvHeuristics;
  spec.library = "lib.so";
  const auto policy = MakeGemmPolicy(spec);
  const GemmPlan plan = policy->PlanWithWords(kShape, H100());
  EXPECT_EQ(plan.policy, "nv_heuristics");
  EXPECT_EQ(plan.klass, PlanOf(Row(3)).klass);
  for (const std::string& words : plan.explain) EXPECT_THAT(words, Not(HasSubstr("table")));
  EXPECT_THAT(plan.explain, Contains("also answered: stages=4"));
  DeviceSpec half = H100();
  half.sm_count = 66;
  EXPECT_THAT(policy->Missing(kShape, half),
              HasSubstr("is for 132 SMs, and the device has 66; it answers for whole GPUs"));
  EXPECT_THAT(policy->Missing({2, 4096, 640}, H100()), HasSubstr("nv_heuristics: lib.so "));
  EXPECT_EQ(
      MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kNvHeuristics))->Missing(kShape, H100()),
      "nv_heuristics: no library is loaded");
}

TEST(GemmTablePolicy, SignatureHoldsSlicesAndInstructions) {
  const Digest plain = PlanOf(Row(1)).klass;
  // An unsplit row with the usual instruction is what other policies call one pass.
  const auto one_pass = MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kBatchInvariant));
  EXPECT_EQ(plain, one_pass->Plan(kShape, H100()).klass);
  GemmTableRow row = Row(1);
  row.slice_k = 2;
  const GemmPlan sliced = PlanOf(row);
  EXPECT_NE(sliced.klass, plain);
  EXPECT_EQ(sliced.tiles[0].order.block, 64);
  EXPECT_THAT(sliced.explain, Contains("slice-K: 2 warps share each K tile of 64"));
  row = Row(1);
  row.instr_k = 8;
  EXPECT_NE(PlanOf(row).klass, plain);
  row = Row(1);
  row.tile = {16, 256, 32};  // neither the tile nor its K depth
  EXPECT_EQ(PlanOf(row).klass, plain);
}

TEST(GemmTablePolicy, ReductionsDiffer) {
  const Digest fp32 = PlanOf(Row(2)).klass;
  GemmTableRow row = Row(2);
  row.combine = Combine::kSerial16bit;
  const Digest in_place = PlanOf(row).klass;
  row = Row(2);
  row.partial = DType::kBf16;
  const Digest output_type = PlanOf(row).klass;
  EXPECT_NE(fp32, in_place);
  EXPECT_NE(fp32, output_type);
  EXPECT_NE(in_place, output_type);
  // They say nothing about a row that is not split.
  row.split_k = 1;
  EXPECT_EQ(PlanOf(row).klass, PlanOf(Row(1)).klass);
}

TEST(GemmTablePolicy, ATableWithoutTilesStillCuts) {
  GemmTableRow row;
  row.split_k = 2;
  const GemmPlan plan = PlanOf(row);
  EXPECT_EQ(plan.decision.split_k, 2);
  EXPECT_EQ(plan.decision.m_blocks * plan.decision.n_blocks, 1);
  EXPECT_THAT(plan.tiles[0].order.pieces, ElementsAre(Range{0, 320}, Range{320, 640}));
  EXPECT_THAT(plan.explain, Contains(HasSubstr("does not say the tile")));
}

}  // namespace
}  // namespace batchvar
