#include "sim/replay/request_history.h"

#include <algorithm>

namespace batchvar {

void RequestHistory::OnRequest(int32_t index, const Request& request) {
  if (request.id != id_) return;
  index_ = index;
  request_ = request;
}

void RequestHistory::OnSpan(const StepSpan& span) {
  if (index_ < 0) return;
  if (std::find(span.preempted.begin(), span.preempted.end(), index_) != span.preempted.end()) {
    preempted_at_.push_back(span.first_step);
  }
  for (const PrefixHit& hit : span.hits) {
    if (hit.request == index_) hits_.push_back(hit);
  }
  int64_t first_row = 0;
  for (const ScheduledRow& row : span.batch.rows) {
    if (row.request != index_) {
      first_row += row.num_scheduled;
      continue;
    }
    HistoryEntry entry;
    entry.first_step = span.first_step;
    entry.num_steps = span.num_steps;
    entry.start_ns = span.start_ns;
    entry.end_ns = span.end_ns;
    entry.num_requests = static_cast<int32_t>(span.batch.rows.size());
    entry.m = span.M();
    entry.padded_m = span.padded_m;
    entry.first_row = first_row;
    entry.sequence = static_cast<int32_t>(&row - span.batch.rows.data());
    entry.num_computed = row.num_computed;
    entry.num_scheduled = row.num_scheduled;
    entry.phase = row.phase;
    entry.rule = book_->RuleOf(span.batch, 0);
    if (!book_->attention().RuleUsesKvLengths()) {
      entries_.push_back(entry);
      return;
    }
    for (int32_t i = 0; i < span.num_steps; ++i) {  // one entry for each run of equal rules
      const AttentionRule rule = book_->RuleOf(span.batch, i);
      if (i == 0 || rule != entries_.back().rule) {
        entry.first_step = span.first_step + i;
        entry.num_computed = row.num_computed + i;
        entry.num_steps = 0;
        entry.rule = rule;
        entries_.push_back(entry);
      }
      ++entries_.back().num_steps;
    }
    return;
  }
}

int32_t RequestHistory::PassOf(const HistoryEntry& entry) const {
  return static_cast<int32_t>(
      std::upper_bound(preempted_at_.begin(), preempted_at_.end(), entry.first_step) -
      preempted_at_.begin());
}

std::vector<int32_t> RequestHistory::ChunkCuts() const {
  std::vector<int32_t> cuts;
  for (const HistoryEntry& entry : entries_) {
    if (entry.phase != Phase::kDecode) cuts.push_back(entry.num_scheduled);
  }
  return cuts;
}

std::string CutsInWords(const std::vector<int32_t>& cuts) {
  std::string text;
  for (size_t i = 0; i < cuts.size();) {
    size_t same = i;
    while (same < cuts.size() && cuts[same] == cuts[i]) ++same;
    if (!text.empty()) text += " + ";
    text += std::to_string(cuts[i]);
    if (same - i > 1) text += " x" + std::to_string(same - i);
    i = same;
  }
  return text;
}

std::vector<int32_t> BatchSizes(const RequestHistory& history) {
  std::vector<int32_t> sizes;
  for (const HistoryEntry& entry : history.entries()) {
    if (sizes.empty() || sizes.back() != entry.num_requests) sizes.push_back(entry.num_requests);
  }
  return sizes;
}

std::vector<ClassChange> ClassChanges(const RequestHistory& history, size_t op, PlanBook* book) {
  std::vector<ClassChange> changes;
  for (const HistoryEntry& entry : history.entries()) {
    ClassChange now;
    now.step = entry.first_step;
    now.position = entry.num_computed;
    if (book->ops()[op].op == Op::kAttention) {
      now.rows = entry.num_requests;
      now.klass = ClassOfRule(entry.rule);
      now.split = entry.rule.split_factor;
    } else {
      now.rows = book->RowsOfOp(op, entry.padded_m, entry.num_requests);
      const OpPlan& plan = book->Lookup(op, now.rows);
      now.klass = plan.klass;
      now.split = static_cast<int32_t>(plan.order.pieces.size());
    }
    if (changes.empty() || changes.back().klass != now.klass) changes.push_back(now);
  }
  return changes;
}

}  // namespace batchvar
