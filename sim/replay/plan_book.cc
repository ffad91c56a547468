#include "sim/replay/plan_book.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "sim/base/check.h"
#include "sim/plan/allreduce_policy.h"
#include "sim/plan/moe_policy.h"
#include "sim/plan/order_digest.h"
#include "sim/plan/row_policy.h"

namespace batchvar {
namespace {

// One accumulator over the whole row: soft-max and arg-max.
Order OnePass(Arithmetic arithmetic, int64_t extent, DType output) {
  return Order{arithmetic, Combine::kNone, DType::kFp32, output, 0, {{0, extent}}};
}

}  // namespace

PlanBook::PlanBook(const ExperimentSpec& spec)
    : device_(spec.device),
      policies_(spec.policies),
      dtype_(spec.dtype),
      tp_(spec.tp),
      ops_(StepOps(spec.model, spec.tp)),
      gemm_(MakeGemmPolicy(spec.policies.gemm)),
      attention_(MakeAttentionPolicy(spec.policies.attention)),
      plans_(ops_.size()) {
  for (const OpShape& op : ops_) {
    if (op.op == Op::kAttention) heads_ = {op.q_heads, op.kv_heads, op.head_dim, dtype_};
  }
}

OpPlan PlanBook::MakeGemm(const OpShape& shape, int64_t rows) const {
  GemmPlan gemm = gemm_->Plan({rows, shape.n, shape.k, dtype_}, device_);
  OpPlan plan;
  plan.rows = rows;
  plan.order = gemm.tiles.front().order;
  plan.gemm = gemm.decision;
  plan.policy = gemm.policy;
  plan.klass = gemm.klass;
  if (gemm.tiles.size() > 1) plan.by_tile = std::make_shared<const GemmPlan>(std::move(gemm));
  return plan;
}

AllReduceMessage PlanBook::MessageOf(const OpShape& shape, int64_t rows) const {
  return {rows, shape.allreduce_bytes_per_token / DTypeBytes(dtype_), dtype_, tp_};
}

OpPlan PlanBook::MakeAllReduce(const OpShape& shape, int64_t rows) const {
  AllReducePlan sum = PlanAllReduce(policies_.allreduce, MessageOf(shape, rows), device_);
  OpPlan plan;
  plan.rows = rows;
  plan.order = sum.slices.front().order;
  plan.policy = PolicyName(policies_.allreduce.kind);
  plan.klass = sum.klass;
  if (sum.slices.size() > 1) plan.by_slice = std::make_shared<const AllReducePlan>(std::move(sum));
  return plan;
}

OpPlan PlanBook::Make(size_t op, int64_t rows) const {
  const OpShape& shape = ops_[op];
  OpPlan plan;
  plan.rows = rows;
  switch (KindOf(shape.op)) {
    case OpKind::kGemm: return MakeGemm(shape, rows);
    case OpKind::kNorm:
      plan.order = NormOrder(policies_.norm, rows, shape.k, dtype_);
      plan.policy = PolicyName(policies_.norm.kind);
      break;
    case OpKind::kAllReduce: return MakeAllReduce(shape, rows);
    case OpKind::kMoe:
      plan.order = MoeOrder(policies_.moe, shape.k, dtype_, device_);
      plan.policy = PolicyName(policies_.moe.kind);
      break;
    case OpKind::kRowwise:
      plan.order = OnePass(Arithmetic::kRowBlocks, shape.k, DType::kFp32);
      plan.policy = "one_pass";
      break;
    case OpKind::kAttention: BV_CHECK(false);
  }
  plan.klass = ClassOfOrder(plan.order);
  return plan;
}

const OpPlan& PlanBook::Lookup(size_t op, int64_t rows) {
  const auto found = plans_[op].find(rows);
  if (found != plans_[op].end()) return found->second;
  return plans_[op].emplace(rows, Make(op, rows)).first->second;
}

const OpPlan* PlanBook::Find(size_t op, int64_t rows) const {
  const auto found = plans_[op].find(rows);
  return found == plans_[op].end() ? nullptr : &found->second;
}

Digest PlanBook::RowClass(size_t op, const OpPlan& plan, int64_t row) const {
  if (plan.by_tile != nullptr) return ClassOfRow(*plan.by_tile, row);
  if (plan.by_slice != nullptr) {
    return ClassOfAllReduceRow(*plan.by_slice, MessageOf(ops_[op], plan.rows), row);
  }
  return plan.klass;
}

std::vector<OrderStrip> PlanBook::RowStrips(size_t op, const OpPlan& plan, int64_t row) const {
  if (plan.by_tile != nullptr) return StripsOfRow(*plan.by_tile, row);
  const bool sums_ranks = KindOf(ops_[op].op) == OpKind::kAllReduce;
  const AllReduceMessage message = MessageOf(ops_[op], plan.rows);
  if (plan.by_slice != nullptr) return StripsOfAllReduceRow(*plan.by_slice, message, row);
  return {{{0, sums_ranks ? message.width : ops_[op].n}, plan.order}};
}

std::vector<std::pair<size_t, int64_t>> PlanBook::Wanted(const std::vector<int64_t>& padded_m,
                                                         const std::vector<int64_t>& heads) const {
  std::vector<std::pair<size_t, int64_t>> wanted;
  for (size_t op = 0; op < ops_.size(); ++op) {
    if (ops_[op].op == Op::kAttention) continue;
    std::set<int64_t> rows;
    for (const int64_t m : padded_m) rows.insert(RowsOfOp(op, m, /*num_requests=*/0));
    if (ops_[op].rows_of == RowsOf::kRequests) rows = {heads.begin(), heads.end()};
    for (const int64_t m : rows) wanted.emplace_back(op, m);
  }
  return wanted;
}

std::string PlanBook::FirstMissing(const std::vector<int64_t>& padded_m,
                                   const std::vector<int64_t>& heads) const {
  for (const auto& [op, rows] : Wanted(padded_m, heads)) {
    if (KindOf(ops_[op].op) != OpKind::kGemm) continue;
    std::string missing = gemm_->Missing({rows, ops_[op].n, ops_[op].k, dtype_}, device_);
    if (!missing.empty()) return std::string(OpName(ops_[op].op)) + ": " + missing;
  }
  return "";
}

void PlanBook::PlanAll(const std::vector<int64_t>& padded_m, const std::vector<int64_t>& heads,
                       int32_t threads) {
  const std::vector<std::pair<size_t, int64_t>> wanted = Wanted(padded_m, heads);
  // Each thread writes its own elements; the order of results does not depend on threads.
  std::vector<OpPlan> made(wanted.size());
  const auto work = [&](size_t first) {
    for (size_t i = first; i < wanted.size(); i += static_cast<size_t>(threads)) {
      made[i] = Make(wanted[i].first, wanted[i].second);
    }
  };
  std::vector<std::thread> pool;
  for (int32_t t = 1; t < threads; ++t) pool.emplace_back(work, static_cast<size_t>(t));
  work(0);
  for (std::thread& thread : pool) thread.join();
  for (size_t i = 0; i < wanted.size(); ++i) {
    plans_[wanted[i].first].emplace(wanted[i].second, std::move(made[i]));
  }
}

AttentionRule PlanBook::RuleOf(const StepBatch& batch, int32_t step_in_span) const {
  std::vector<AttentionRequest> step;
  step.reserve(batch.rows.size());
  for (const ScheduledRow& row : batch.rows) {
    step.push_back({row.num_scheduled, row.num_computed + row.num_scheduled + step_in_span,
                    batch.shared_prefix});
  }
  return attention_->Rule(step, heads_, device_);
}

Order PlanBook::AttentionOrder(const AttentionRule& rule, const AttentionRequest& request) const {
  return attention_->OrderFor(rule, request, heads_, device_);
}

Order PlanBook::AttentionRowOrder(const AttentionRule& rule, const AttentionRequest& request,
                                  int64_t position) const {
  return attention_->OrderOfRow(rule, request, position, heads_, device_);
}

std::vector<PlanRecord> PlanBook::Records() const {
  std::vector<PlanRecord> records;
  for (size_t op = 0; op < ops_.size(); ++op) {
    for (const auto& [rows, plan] : plans_[op]) {
      PlanRecord& record = records.emplace_back();
      record.op = OpName(ops_[op].op);
      record.m = rows;
      record.n = ops_[op].n;
      record.k = ops_[op].k;
      record.policy = plan.policy;
      record.tile = plan.gemm.tile;
      record.split_k = static_cast<int32_t>(plan.order.pieces.size());
      record.ctas = plan.gemm.ctas;
      record.waves = plan.gemm.waves;
      record.combine = CombineName(plan.order.combine);
      record.pieces = plan.order.pieces;
      record.klass = plan.klass;
    }
  }
  return records;
}

}  // namespace batchvar
