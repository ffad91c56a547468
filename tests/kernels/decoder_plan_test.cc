// RowPlans: what the planner says of one row of a step, op by op.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/decoder/step_planner.h"
#include "sim/plan/gemm_table.h"
#include "sim/plan/moe_policy.h"
#include "sim/plan/order_digest.h"
#include "sim/plan/row_policy.h"
#include "tests/kernels/decoder_setup.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

ModelSpec SmallModel() {
  ModelSpec model;
  model.layers = 2;
  model.hidden_size = 256;
  model.intermediate_size = 512;
  model.q_heads = 4;
  model.kv_heads = 2;
  model.head_dim = 64;
  model.vocab_size = 1000;
  model.max_positions = 512;
  model.qk_norm = true;
  return model;
}

TEST(StepPlanner, GivesEveryOpTheClassOfItsRow) {
  PlannerInputs inputs = {SmallModel(), 2, DType::kBf16, H100(), FinePolicies()};
  inputs.policies.gemm = DefaultGemmPolicy(GemmPolicyKind::kStreamK);  // depends on the tile
  inputs.policies.allreduce.kind = AllReducePolicyKind::kRing;         // depends on the place
  StepPlanner planner(inputs);
  const int64_t m = 320;  // 302 tokens, padded
  const PlannedStep step = planner.Begin(m, {{1, 41}, {300, 300}, {1, 7}});
  const int64_t row = 1 + 299;
  const RowPlan plan = planner.Row(step, 1, 299, true);
  const auto gemm = MakeGemmPolicy(inputs.policies.gemm);
  for (const OpShape& op : StepOps(inputs.model, inputs.tp)) {
    if (op.op == Op::kArgmax) continue;
    const Digest klass = plan.Of(op.op).klass;
    const int64_t rows = RowsFor(op, m, 3);
    if (KindOf(op.op) == OpKind::kGemm) {
      const GemmPlan whole = gemm->Plan({rows, op.n, op.k, inputs.dtype}, inputs.device);
      EXPECT_EQ(klass, ClassOfRow(whole, op.op == Op::kLmHead ? 1 : row)) << OpName(op.op);
    } else if (KindOf(op.op) == OpKind::kNorm) {
      const Order order = NormOrder(inputs.policies.norm, rows, op.k, inputs.dtype);
      EXPECT_EQ(klass, ClassOfOrder(order)) << OpName(op.op);
    } else if (KindOf(op.op) == OpKind::kAllReduce) {
      const AllReduceMessage message = {m, 256, inputs.dtype, 2};
      const AllReducePlan whole = PlanAllReduce(inputs.policies.allreduce, message, inputs.device);
      EXPECT_EQ(klass, ClassOfAllReduceRow(whole, message, row)) << OpName(op.op);
    } else {
      ASSERT_EQ(op.op, Op::kAttention);
      const auto policy = MakeAttentionPolicy(inputs.policies.attention);
      const AttentionHeads heads = {op.q_heads, op.kv_heads, op.head_dim, inputs.dtype};
      const AttentionRule rule = policy->Rule(step.requests, heads, inputs.device);
      EXPECT_EQ(klass, ClassOfOrder(
                           policy->OrderOfRow(rule, step.requests[1], 299, heads, inputs.device)));
    }
  }
}

TEST(StepPlanner, ClassesFollowTheBatchAndNotTheNeighbours) {
  StepPlanner planner({SmallModel(), 1, DType::kBf16, H100(), FinePolicies()});
  const auto at = [&](int64_t m, std::vector<AttentionRequest> requests, bool has_head = true) {
    const int64_t position = requests[0].kv_len - 1;
    return planner.Row(planner.Begin(m, std::move(requests)), 0, position, has_head);
  };
  const RowPlan alone = at(1, {{1, 20}});
  EXPECT_EQ(alone.row_classes, at(1, {{1, 20}}).row_classes);
  EXPECT_NE(alone.row_classes, at(1, {{1, 21}}).row_classes);  // reads one position more
  EXPECT_NE(alone.row_classes, at(1, {{1, 20}}, false).row_classes);
  const RowPlan among = at(256, std::vector<AttentionRequest>(200, {1, 20}));
  EXPECT_NE(alone.Of(Op::kDownProj).klass, among.Of(Op::kDownProj).klass);
  // Equal classes are one object, so that the executor need not compare.
  const RowPlan twin = at(255, std::vector<AttentionRequest>(200, {1, 20}));
  for (const Op op : {Op::kQkvProj, Op::kDownProj, Op::kLmHead, Op::kRmsNormIn}) {
    EXPECT_EQ(&among.Of(op), &twin.Of(op)) << OpName(op);
  }
  EXPECT_FALSE(at(1, {{1, 20}}, false).Has(Op::kLmHead));
}

TEST(StepPlanner, ExpertsHaveTheOrdersOfTheFusedKernel) {
  ModelSpec model = SmallModel();
  model.intermediate_size = 0;
  model.num_experts = 4;
  model.experts_per_token = 2;
  model.moe_intermediate_size = 128;
  StepPlanner planner({model, 1, DType::kBf16, H100(), FinePolicies()});
  const RowPlan plan = planner.Row(planner.Begin(8, {{8, 8}}), 0, 5, false);
  EXPECT_EQ(plan.SingleOrder(Op::kMoeDown), MoeOrder({}, 128, DType::kBf16, H100()));
  EXPECT_TRUE(plan.Has(Op::kRouter));
  EXPECT_FALSE(plan.Has(Op::kGateUpProj));
}

TEST(StepPlanner, SaysWhatATableLacks) {
  PlannerInputs inputs = {SmallModel(), 1, DType::kBf16, H100(), FinePolicies()};
  inputs.policies.gemm = DefaultGemmPolicy(GemmPolicyKind::kTable);
  auto table = std::make_shared<GemmTable>(PolicySource{"test", "1", "2026-11-30"});
  GemmTableRow row;
  row.tile = {16, 128, 64};
  const std::vector<OpShape> ops = StepOps(inputs.model, 1);
  for (const OpShape& op : ops) {
    if (KindOf(op.op) != OpKind::kGemm) continue;
    const int64_t rows = op.op == Op::kLmHead ? 1 : 8;
    ASSERT_TRUE(table->Add("h100", {rows, op.n, op.k, DType::kBf16}, row));
  }
  inputs.policies.gemm.table = table;
  const StepPlanner planner(inputs);
  EXPECT_EQ(planner.FirstMissing(planner.Begin(8, {{1, 9}})), "");
  EXPECT_THAT(planner.FirstMissing(planner.Begin(16, {{1, 9}})), HasSubstr("qkv_proj: "));
  EXPECT_THAT(planner.FirstMissing(planner.Begin(8, {{1, 9}, {1, 9}})), HasSubstr("lm_head: "));
}

}  // namespace
}  // namespace batchvar
