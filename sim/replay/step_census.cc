#include "sim/replay/step_census.h"

#include <algorithm>

#include "sim/base/check.h"

namespace batchvar {
namespace {

void Count(int64_t steps, int64_t tokens, StepCount* count) {
  count->steps += steps;
  count->tokens += tokens;
}

VisitedClass& ClassNamed(const Digest& klass, OpClasses* op) {
  for (VisitedClass& visited : op->classes) {
    if (visited.klass == klass) return visited;
  }
  op->classes.push_back({klass, 0, 0, {}, 1});
  return op->classes.back();
}

}  // namespace

void StepCensus::OnSpan(const StepSpan& span) {
  const int64_t n = span.num_steps;
  const int64_t tokens = span.batch.num_tokens * n;
  Count(n, tokens, &by_m_[span.M()]);
  Count(n, tokens, &by_padded_m_[span.padded_m]);
  Count(n, tokens, &by_requests_[static_cast<int64_t>(span.batch.rows.size())]);
  if (book_->attention().RuleUsesKvLengths()) {
    for (int32_t i = 0; i < span.num_steps; ++i) {
      Count(1, span.batch.num_tokens, &by_rule_[book_->RuleOf(span.batch, i)]);
    }
  } else {
    Count(n, tokens, &by_rule_[book_->RuleOf(span.batch, 0)]);
  }
  const bool pure_decode =
      std::all_of(span.batch.rows.begin(), span.batch.rows.end(),
                  [](const ScheduledRow& row) { return row.phase == Phase::kDecode; });
  if (pure_decode) CountDecode(span);
}

void StepCensus::CountDecode(const StepSpan& span) {
  DecodePoint& point = decode_curve_[static_cast<int64_t>(span.batch.rows.size())];
  StepLoad load = LoadOf(span.batch, span.padded_m);
  point.steps += span.num_steps;
  point.duration_ns += span.end_ns - span.start_ns;
  // KV grows by one token per sequence and step; the middle step stands for the span's mean.
  const int64_t growth = load.num_requests * (span.num_steps - 1) / 2;
  load.kv_tokens_read += growth;
  const StepCost cost = timer_->model().Cost(load);
  point.kv_tokens += load.kv_tokens_read * span.num_steps;
  point.kv_traffic_ps += cost.kv_traffic * span.num_steps;
  point.weight_ps += cost.weight_traffic * span.num_steps;
}

int64_t StepCensus::MedianM() const {
  int64_t steps = 0;
  for (const auto& [m, count] : by_m_) steps += count.steps;
  int64_t seen = 0;
  for (const auto& [m, count] : by_m_) {
    seen += count.steps;
    if (2 * seen >= steps) return m;
  }
  return 0;
}

std::vector<OpClasses> VisitedClasses(const StepCensus& census, const PlanBook& book) {
  std::vector<OpClasses> out;
  for (size_t op = 0; op < book.ops().size(); ++op) {
    OpClasses& classes = out.emplace_back();
    classes.op = book.ops()[op].op;
    if (classes.op == Op::kAttention) {
      for (const auto& [rule, count] : census.by_rule()) {
        VisitedClass& visited = ClassNamed(ClassOfRule(rule), &classes);
        visited.steps += count.steps;
        visited.tokens += count.tokens;
        visited.split = rule.split_factor;
      }
      continue;
    }
    const bool head = book.ops()[op].rows_of == RowsOf::kRequests;
    for (const auto& [m, count] : head ? census.by_requests() : census.by_padded_m()) {
      const int64_t rows = book.RowsOfOp(op, m, m);
      const OpPlan* plan = book.Find(op, rows);
      BV_CHECK(plan != nullptr);
      VisitedClass& visited = ClassNamed(plan->klass, &classes);
      visited.steps += count.steps;
      visited.tokens += count.tokens;
      visited.rows.push_back(rows);
      visited.split = static_cast<int32_t>(plan->order.pieces.size());
    }
  }
  return out;
}

}  // namespace batchvar
