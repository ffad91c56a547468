#include "sim/replay/plan_book.h"

#include <gtest/gtest.h>

#include "tests/replay/experiments.h"

namespace batchvar {
namespace {

size_t IndexOf(const PlanBook& book, Op op) {
  for (size_t i = 0; i < book.ops().size(); ++i) {
    if (book.ops()[i].op == op) return i;
  }
  ADD_FAILURE() << OpName(op) << " is not an op of this model";
  return 0;
}

TEST(PlanBook, PlansEveryOpOfEveryModelUnderEveryDegreeThatDividesIt) {
  for (const char* model : {"llama31_8b", "qwen3_8b", "mixtral_8x7b", "qwen3_30b_a3b"}) {
    for (const char* tp : {"tp=1", "tp=2", "tp=4"}) {
      const ExperimentSpec spec =
          AllAtOnce(1, {std::string("model=") + model, tp, "scheduler.max_model_len=4096",
                        "scheduler.num_gpu_blocks=4096"});
      PlanBook book(spec);
      for (size_t op = 0; op < book.ops().size(); ++op) {
        if (book.ops()[op].op == Op::kAttention) continue;
        const OpPlan& plan = book.Lookup(op, 24);
        ASSERT_FALSE(plan.order.pieces.empty()) << model << " " << OpName(book.ops()[op].op);
        EXPECT_FALSE(plan.policy.empty());
      }
    }
  }
}

TEST(PlanBook, ParallelPlanningGivesWhatPlanningOnDemandGives) {
  const ExperimentSpec spec = AllAtOnce(1);
  const std::vector<int64_t> body = {1, 2, 8, 16, 24, 32, 40, 512, 8192};
  const std::vector<int64_t> heads = {1, 2, 3, 33};
  PlanBook one(spec);
  PlanBook four(spec);
  one.PlanAll(body, heads, 1);
  four.PlanAll(body, heads, 4);
  EXPECT_EQ(one.Records(), four.Records());
  const size_t o_proj = IndexOf(one, Op::kOProj);
  for (const int64_t m : body) {
    ASSERT_NE(one.Find(o_proj, m), nullptr);
    EXPECT_EQ(one.Find(o_proj, m)->klass, PlanBook(spec).Lookup(o_proj, m).klass);
  }
  EXPECT_EQ(one.Find(o_proj, 3), nullptr);
  EXPECT_NE(one.Find(IndexOf(one, Op::kLmHead), 3), nullptr);
}

TEST(PlanBook, TextbookClassesOfTheWorkedExample) {
  PlanBook book(AllAtOnce(1));
  const size_t o_proj = IndexOf(book, Op::kOProj);  // N = K = 4096 on 132 SMs
  EXPECT_EQ(book.Lookup(o_proj, 1).order.pieces.size(), 4U);
  EXPECT_EQ(book.Lookup(o_proj, 1).klass, book.Lookup(o_proj, 16).klass);
  EXPECT_EQ(book.Lookup(o_proj, 24).order.pieces.size(), 2U);
  EXPECT_EQ(book.Lookup(o_proj, 40).order.pieces.size(), 1U);
}

TEST(PlanBook, BatchInvariantGivesEveryOpOneClass) {
  PlanBook book(AllAtOnce(1, {"policies=batch_invariant"}));
  for (size_t op = 0; op < book.ops().size(); ++op) {
    if (book.ops()[op].op == Op::kAttention) continue;
    const Digest klass = book.Lookup(op, 1).klass;
    for (const int64_t m : {2, 16, 17, 64, 255, 256, 8192}) {
      EXPECT_EQ(book.Lookup(op, m).klass, klass) << OpName(book.ops()[op].op) << " at " << m;
    }
  }
}

}  // namespace
}  // namespace batchvar
