// case-07: two ranks are safe, four are not (lm-sys blog, 2025-09-22). The lines that concern
// plans.
#include <gtest/gtest.h>

#include "sim/config/load_experiment.h"
#include "sim/replay/plan_book.h"

namespace batchvar {
namespace {

PlanBook BookOf(int tp, const char* allreduce) {
  auto spec = LoadExperimentText(
      "model: llama3_8b\ndevice: h100_sxm\ntp: " + std::to_string(tp) +
          "\npolicies: {gemm: batch_invariant, allreduce: " + allreduce +
          "}\nworkload: {arrivals: {process: all_at_once}, prompt_len: {fixed: 1}, "
          "output_len: {fixed: 1}, num_requests: 1}\n",
      "case-07.yaml", ".", {});
  EXPECT_TRUE(spec.ok()) << spec.status();
  return PlanBook(*spec);
}

size_t IndexOf(const PlanBook& book, Op op) {
  size_t i = 0;
  while (i < book.ops().size() && book.ops()[i].op != op) ++i;
  EXPECT_LT(i, book.ops().size());
  return i;
}

TEST(Case07, DegreeOneAndTwoCutKElsewhere) {
  PlanBook one = BookOf(1, "one_shot");
  PlanBook two = BookOf(2, "one_shot");
  const size_t op = IndexOf(one, Op::kOProj);
  EXPECT_NE(one.Lookup(op, 1).klass, two.Lookup(IndexOf(two, Op::kOProj), 1).klass);
  EXPECT_EQ(one.ops()[op].k, 2 * two.ops()[IndexOf(two, Op::kOProj)].k);
}

TEST(Case07, AFixedRankOrderDoesNotLookAtTheBatch) {
  PlanBook book = BookOf(4, "one_shot");
  const size_t op = IndexOf(book, Op::kAllReduceAttention);
  for (const int64_t m : {2, 17, 64, 1024}) {
    EXPECT_EQ(book.Lookup(op, m).klass, book.Lookup(op, 1).klass) << m;
  }
}

TEST(Case07, ARotatedOrderStartsElsewhereFromSliceToSlice) {
  PlanBook book = BookOf(4, "two_shot");
  const OpPlan& plan = book.Lookup(IndexOf(book, Op::kAllReduceAttention), 64);
  EXPECT_TRUE(plan.DependsOnRow());
  EXPECT_NE(book.RowClass(IndexOf(book, Op::kAllReduceAttention), plan, 0),
            book.RowClass(IndexOf(book, Op::kAllReduceAttention), plan, 63));
}

}  // namespace
}  // namespace batchvar
