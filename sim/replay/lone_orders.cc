#include "sim/replay/lone_orders.h"

#include <algorithm>

#include "sim/replay/lone_request.h"
#include "sim/replay/roofline_timer.h"

namespace batchvar {
namespace {

// The attention request of a token that an entry computed.
AttentionRequest RequestAt(const HistoryEntry& entry, int64_t position) {
  if (entry.phase == Phase::kDecode) return {1, position + 1, 0};
  return {entry.num_scheduled, entry.end(), 0};
}

}  // namespace

LoneOrders::LoneOrders(const ExperimentSpec& spec, PlanBook* book)
    : spec_(spec), book_(book), decode_m_(PaddingOf(spec.padding).PaddedM(1)) {}

const std::vector<HistoryEntry>& LoneOrders::PromptOf(int32_t prompt_tokens) {
  const auto [found, is_new] = prompts_.try_emplace(prompt_tokens);
  if (!is_new) return found->second;
  Request request;
  request.id = "alone";
  request.prompt_tokens = prompt_tokens;
  request.output_tokens = 1;
  const RequestHistory history = ServeAlone(spec_, *book_, request);
  for (const HistoryEntry& entry : history.entries()) {
    if (entry.phase != Phase::kDecode) found->second.push_back(entry);
  }
  return found->second;
}

const LoneOrders::Pair& LoneOrders::PairOf(RowsOf rows_of, int64_t m_a, int64_t m_b) {
  const bool head = rows_of == RowsOf::kRequests;
  const auto [found, is_new] = pairs_.try_emplace({head, m_a, m_b});
  if (!is_new) return found->second;
  if (missing_.empty()) {
    missing_ = head ? book_->FirstMissing({}, {m_a, m_b}) : book_->FirstMissing({m_a, m_b}, {});
  }
  if (!missing_.empty()) return found->second;
  Pair& pair = found->second;
  for (size_t op = 0; op < book_->ops().size(); ++op) {
    const OpShape& shape = book_->ops()[op];
    if (shape.op == Op::kAttention || (shape.rows_of == RowsOf::kRequests) != head) continue;
    const OpPlan& a = book_->Lookup(op, book_->RowsOfOp(op, m_a, m_a));
    const OpPlan& b = book_->Lookup(op, book_->RowsOfOp(op, m_b, m_b));
    if (a.DependsOnRow() || b.DependsOnRow()) {
      pair.by_row.push_back(op);
    } else if (a.klass != b.klass) {
      pair.differs = true;
    }
  }
  return pair;
}

const Digest& LoneOrders::RowClassAt(size_t op, int64_t rows, int64_t row) {
  const auto [found, is_new] = row_classes_.try_emplace({op, rows, row});
  if (is_new) found->second = book_->RowClass(op, book_->Lookup(op, rows), row);
  return found->second;
}

bool LoneOrders::RowsDiffer(RowsOf rows_of, int64_t m_a, int64_t row_a, int64_t m_b, int64_t row_b,
                            int64_t count) {
  if (m_a == m_b && row_a == row_b) return false;
  const Pair& pair = PairOf(rows_of, m_a, m_b);
  if (pair.differs) return true;
  for (const size_t op : pair.by_row) {
    const int64_t rows_a = book_->RowsOfOp(op, m_a, m_a);
    const int64_t rows_b = book_->RowsOfOp(op, m_b, m_b);
    const int64_t each = book_->ops()[op].rows_per_token;
    for (int64_t i = 0; i < count; ++i) {
      if (RowClassAt(op, rows_a, (row_a + i) * each) !=
          RowClassAt(op, rows_b, (row_b + i) * each)) {
        return true;
      }
    }
  }
  return false;
}

bool LoneOrders::AttentionDiffers(const HistoryEntry& alone, const HistoryEntry& entry,
                                  int64_t begin, int64_t end) const {
  // The last row first: a split that differs shows there.
  for (int64_t position = end - 1; position >= begin; --position) {
    const AttentionRequest a = RequestAt(alone, position);
    const AttentionRequest b = RequestAt(entry, position);
    if (alone.rule == entry.rule && a == b) {
      if (alone.phase != Phase::kDecode && entry.phase != Phase::kDecode) return false;
      continue;
    }
    if (book_->AttentionRowOrder(alone.rule, a, position) !=
        book_->AttentionRowOrder(entry.rule, b, position)) {
      return true;
    }
  }
  return false;
}

const AttentionRule& LoneOrders::DecodeRule(int64_t position) {
  const int64_t key = book_->attention().RuleUsesKvLengths() ? position : 0;
  const auto [found, is_new] = decode_rules_.try_emplace(key);
  if (is_new) {
    StepBatch batch;
    batch.rows.push_back({0, 1, static_cast<int32_t>(position), Phase::kDecode});
    batch.num_tokens = 1;
    found->second = book_->RuleOf(batch, 0);
  }
  return found->second;
}

HistoryEntry LoneOrders::DecodeOf(int64_t position) {
  HistoryEntry entry;
  entry.num_steps = 1;
  entry.num_requests = 1;
  entry.m = 1;
  entry.padded_m = decode_m_;
  entry.num_computed = static_cast<int32_t>(position);
  entry.num_scheduled = 1;
  entry.rule = DecodeRule(position);
  return entry;
}

bool LoneOrders::PromptDiffers(int32_t prompt_tokens, const HistoryEntry& entry, int64_t begin,
                               int64_t end, bool head) {
  const auto part_differs = [&](const HistoryEntry& alone, int64_t first, int64_t last) {
    const int64_t row_a = alone.first_row + (first - alone.begin());
    const int64_t row_b = entry.first_row + (first - entry.begin());
    return RowsDiffer(RowsOf::kTokens, alone.padded_m, row_a, entry.padded_m, row_b,
                      last - first) ||
           AttentionDiffers(alone, entry, first, last);
  };
  for (const HistoryEntry& alone : PromptOf(prompt_tokens)) {
    const int64_t first = std::max(begin, alone.begin());
    const int64_t last = std::min(end, alone.end());
    if (first < last && part_differs(alone, first, last)) return true;
  }
  // After a preemption generated tokens are computed as if they were prompt.
  for (int64_t p = std::max<int64_t>(begin, prompt_tokens); p < end; ++p) {
    if (part_differs(DecodeOf(p), p, p + 1)) return true;
  }
  const bool samples = head && entry.phase == Phase::kLastChunk && end == entry.end();
  return samples && RowsDiffer(RowsOf::kRequests, 1, 0, entry.num_requests, entry.sequence, 1);
}

int32_t LoneOrders::FirstOtherDecode(const HistoryEntry& entry,
                                     const std::function<const AttentionRule&(int32_t)>& rule_at) {
  if (RowsDiffer(RowsOf::kTokens, decode_m_, 0, entry.padded_m, entry.first_row, 1) ||
      RowsDiffer(RowsOf::kRequests, 1, 0, entry.num_requests, entry.sequence, 1)) {
    return 0;
  }
  for (int32_t step = 0; step < entry.num_steps; ++step) {
    const int64_t position = entry.num_computed + step;
    const AttentionRule& alone = DecodeRule(position);
    const AttentionRule& met = rule_at(step);
    if (alone == met) continue;
    const auto [found, is_new] = decode_differs_.try_emplace({alone, met, position});
    if (is_new) {
      const AttentionRequest request = {1, position + 1, 0};
      found->second = book_->AttentionRowOrder(alone, request, position) !=
                      book_->AttentionRowOrder(met, request, position);
    }
    if (found->second) return step;
  }
  return entry.num_steps;
}

}  // namespace batchvar
