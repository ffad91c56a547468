#include "kernels/decoder/step_planner.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/plan/moe_policy.h"
#include "sim/plan/order_digest.h"
#include "sim/plan/row_policy.h"

namespace batchvar {

StepPlanner::StepPlanner(const PlannerInputs& inputs)
    : inputs_(inputs),
      ops_(StepOps(inputs.model, inputs.tp)),
      gemm_(MakeGemmPolicy(inputs.policies.gemm)),
      attention_(MakeAttentionPolicy(inputs.policies.attention)),
      plans_(ops_.size()),
      orders_(ops_.size()) {
  for (const OpShape& op : ops_) {
    if (op.op != Op::kAttention) continue;
    heads_ = {op.q_heads, op.kv_heads, op.head_dim, inputs_.dtype};
  }
}

PlannedStep StepPlanner::Begin(int64_t padded_tokens,
                               std::vector<AttentionRequest> requests) const {
  PlannedStep step;
  step.padded_tokens = padded_tokens;
  int64_t rows = 0;
  for (const AttentionRequest& request : requests) {
    BV_CHECK(request.q_len >= 1 && request.kv_len >= request.q_len);
    step.first_rows.push_back(rows);
    rows += request.q_len;
  }
  BV_CHECK(rows >= 1 && rows <= padded_tokens);
  step.rule = attention_->Rule(requests, heads_, inputs_.device);
  step.requests = std::move(requests);
  return step;
}

std::string StepPlanner::FirstMissing(const PlannedStep& step) const {
  for (const OpShape& op : ops_) {
    if (KindOf(op.op) != OpKind::kGemm) continue;
    const int64_t rows = RowsFor(op, step.padded_tokens, std::ssize(step.requests));
    std::string missing = gemm_->Missing({rows, op.n, op.k, inputs_.dtype}, inputs_.device);
    if (!missing.empty()) return std::string(OpName(op.op)) + ": " + missing;
  }
  return "";
}

AllReduceMessage StepPlanner::MessageOf(const OpShape& shape, int64_t rows) const {
  const int64_t width = shape.allreduce_bytes_per_token / DTypeBytes(inputs_.dtype);
  return {rows, width, inputs_.dtype, inputs_.tp};
}

StepPlanner::OpAtRows StepPlanner::MakeAllReduce(const OpShape& shape, int64_t rows) const {
  const AllReduceMessage message = MessageOf(shape, rows);
  AllReducePlan plan = PlanAllReduce(inputs_.policies.allreduce, message, inputs_.device);
  OpAtRows at;
  if (plan.slices.size() == 1) {
    at.orders = MakeOpOrders(plan.slices[0].order, message.width);
  } else {
    at.by_slice = std::move(plan);
  }
  return at;
}

StepPlanner::OpAtRows StepPlanner::Make(const OpShape& shape, int64_t rows) const {
  OpAtRows at;
  const DType dtype = inputs_.dtype;
  switch (KindOf(shape.op)) {
    case OpKind::kGemm: {
      GemmPlan plan = gemm_->Plan({rows, shape.n, shape.k, dtype}, inputs_.device);
      if (plan.tiles.size() == 1) {
        at.orders = MakeOpOrders(plan.tiles[0].order, shape.n);
      } else {
        at.by_tile = std::move(plan);
      }
      break;
    }
    case OpKind::kNorm:
      at.orders = MakeOpOrders(NormOrder(inputs_.policies.norm, rows, shape.k, dtype), shape.k);
      break;
    case OpKind::kMoe:
      at.orders =
          MakeOpOrders(MoeOrder(inputs_.policies.moe, shape.k, dtype, inputs_.device), shape.n);
      break;
    case OpKind::kAllReduce: return MakeAllReduce(shape, rows);
    case OpKind::kAttention:
    case OpKind::kRowwise: BV_CHECK(false);
  }
  return at;
}

OpOrdersPtr StepPlanner::Intern(size_t op, OpOrdersPtr orders) {
  const Digest klass = orders->klass;
  return orders_[op].try_emplace(klass, std::move(orders)).first->second;
}

OpOrdersPtr StepPlanner::OrdersAt(size_t op, int64_t rows, int64_t row) {
  auto found = plans_[op].find(rows);
  if (found == plans_[op].end()) {
    OpAtRows made = Make(ops_[op], rows);
    if (made.orders != nullptr) made.orders = Intern(op, std::move(made.orders));
    found = plans_[op].emplace(rows, std::move(made)).first;
  }
  OpAtRows& at = found->second;
  if (at.orders != nullptr) return at.orders;
  const auto known = at.of_row.find(row);
  if (known != at.of_row.end()) return known->second;
  OpOrdersPtr orders = Intern(
      op, MakeOpOrders(at.by_tile.has_value()
                           ? StripsOfRow(*at.by_tile, row)
                           : StripsOfAllReduceRow(*at.by_slice, MessageOf(ops_[op], rows), row)));
  at.of_row.emplace(row, orders);
  return orders;
}

RowPlan StepPlanner::Row(const PlannedStep& step, int64_t request, int64_t position,
                         bool has_head) {
  BV_CHECK(request >= 0 && request < std::ssize(step.requests));
  const AttentionRequest& own = step.requests[request];
  BV_CHECK(position >= own.NumComputed() && position < own.kv_len);
  const int64_t body_row = step.first_rows[request] + position - own.NumComputed();
  RowPlan plan;
  for (size_t i = 0; i < ops_.size(); ++i) {
    const OpShape& op = ops_[i];
    if (op.op == Op::kAttention) {
      plan.Set(op.op, MakeOpOrders(
                          attention_->OrderOfRow(step.rule, own, position, heads_, inputs_.device),
                          op.head_dim));
      continue;
    }
    if (KindOf(op.op) == OpKind::kRowwise) continue;  // arg-max sums nothing
    if (op.op == Op::kLmHead && !has_head) continue;
    const int64_t rows = RowsFor(op, step.padded_tokens, std::ssize(step.requests));
    plan.Set(op.op, OrdersAt(i, rows, op.op == Op::kLmHead ? request : body_row));
  }
  plan.Finish();
  return plan;
}

}  // namespace batchvar
