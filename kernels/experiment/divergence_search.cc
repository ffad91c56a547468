#include "kernels/experiment/divergence_search.h"

#include <algorithm>
#include <vector>

#include "sim/base/check.h"
#include "sim/divergence/pass_comparison.h"

namespace batchvar {
namespace {

constexpr size_t kRowsPerCall = 64;

// The first event in which the two histories are not one; the shorter length if there is none.
size_t FirstDifference(const TrialHistory& a, const TrialHistory& b) {
  const size_t count = std::min(a.events.size(), b.events.size());
  for (size_t i = 0; i < count; ++i) {
    const RowEvent &x = a.events[i], &y = b.events[i];
    if (x.position != y.position || x.samples != y.samples ||
        x.plan->row_classes != y.plan->row_classes) {
      return i;
    }
  }
  return count;
}

Op FirstOp(const RowPlan& a, const RowPlan& b) {
  for (size_t op = 0; op < kNumOps; ++op) {
    const OpOrdersPtr &x = a.ops[op], &y = b.ops[op];
    if ((x == nullptr) != (y == nullptr)) return static_cast<Op>(op);
    if (x != nullptr && x->klass != y->klass) return static_cast<Op>(op);
  }
  return Op::kArgmax;
}

// How the row summed `op`, in the first strip of columns whose order is not the other row's.
RowSum SumOf(const RowEvent& row, const RowEvent& other, Op op) {
  RowSum sum;
  sum.batch = row.batch;
  sum.m = row.padded_m;
  if (!row.plan->Has(op)) return sum;
  const OpOrders& orders = row.plan->Of(op);
  sum.klass = orders.klass;
  size_t strip = 0;
  if (other.plan->Has(op)) {
    const std::vector<OrderStrip>& others = other.plan->Of(op).strips;
    while (strip + 1 < orders.strips.size() && strip + 1 < others.size() &&
           orders.strips[strip].order == others[strip].order) {
      ++strip;
    }
  }
  const Order& order = orders.strips[strip].order;
  sum.pieces = order.pieces;
  sum.combine = CombineName(order.combine);
  sum.block = order.block;
  sum.descending = order.descending;
  sum.arithmetic = order.arithmetic;
  return sum;
}

}  // namespace

absl::Status DivergenceSearch::ExecuteRow(size_t event, const RowPlan& other,
                                          TextDivergence* divergence) {
  KvCache cache(decoder_->weights().config.model);
  const auto token_at = [&](int64_t position) {
    const auto known = static_cast<int64_t>(prompt_.size());
    return position < known ? prompt_[position] : text_.tokens[position - known];
  };
  std::vector<RowOutput> outputs;
  for (size_t begin = 0; begin < event;) {
    const int64_t first = reference_.events[begin].position;
    cache.Truncate(std::min(first, cache.length()));
    std::vector<DecoderRow> rows;
    while (begin < event && rows.size() < kRowsPerCall) {
      const RowEvent& next = reference_.events[begin];
      if (next.position != first + std::ssize(rows)) break;
      rows.push_back({token_at(next.position), next.position, &cache, next.plan.get()});
      ++begin;
    }
    if (absl::Status status = decoder_->Forward(rows, &outputs); !status.ok()) return status;
  }
  const RowEvent& last = reference_.events[event];
  cache.Truncate(std::min(last.position, cache.length()));
  KvCache copy(decoder_->weights().config.model);
  copy.CopyPrefix(cache, cache.length());
  DecoderRow a{token_at(last.position), last.position, &cache, last.plan.get()};
  a.wants_records = true;
  DecoderRow b = a;
  b.cache = &copy;
  b.plan = &other;
  a.wants_logits = b.wants_logits = last.samples && other.Has(Op::kLmHead);
  const std::vector<DecoderRow> both = {a, b};
  if (absl::Status status = decoder_->Forward(both, &outputs); !status.ok()) return status;
  const std::vector<float> none = {0.0f};
  const bool logits = a.wants_logits;
  const Divergence compared =
      ComparePasses(outputs[0].records, outputs[1].records, logits ? outputs[0].logits : none,
                    logits ? outputs[1].logits : none);
  if (!compared.first_op.has_value()) return absl::OkStatus();
  const LadderRung& rung = compared.ladder[*compared.first_op];
  divergence->bits_differ = true;
  divergence->bits_layer = rung.layer;
  divergence->bits_op = rung.op;
  divergence->bits_max_ulp = rung.difference.max_ulp;
  return absl::OkStatus();
}

absl::StatusOr<TextDivergence> DivergenceSearch::Find(const TrialHistory& history,
                                                      const TrialText& text, bool may_execute) {
  const auto parted = std::mismatch(text_.tokens.begin(), text_.tokens.end(), text.tokens.begin(),
                                    text.tokens.end());
  BV_CHECK(parted.first != text_.tokens.end() && parted.second != text.tokens.end());
  const int64_t position = parted.first - text_.tokens.begin();
  const size_t event = FirstDifference(reference_, history);
  TextDivergence divergence;
  if (event < std::min(reference_.events.size(), history.events.size())) {
    const RowEvent &a = reference_.events[event], &b = history.events[event];
    auto [found, fresh] = executed_.try_emplace({event, b.plan->row_classes});
    if (fresh) {
      found->second.first_op = FirstOp(*a.plan, *b.plan);
      if (may_execute && a.position == b.position) {
        const absl::Status status = ExecuteRow(event, *b.plan, &found->second);
        if (!status.ok()) return status;
      }
    }
    divergence = found->second;
    divergence.row = b.position;
    divergence.a = SumOf(a, b, divergence.first_op);
    divergence.b = SumOf(b, a, divergence.first_op);
  }
  divergence.position = position;
  divergence.token_a = *parted.first;
  divergence.token_b = *parted.second;
  const TopTwo& top_two = text_.top_twos[static_cast<size_t>(position)];
  divergence.margin = top_two.Margin();
  divergence.tie = top_two.IsTie();
  divergence.logits =
      LogitDifferenceOf(top_two, text.top_twos[static_cast<size_t>(position)], logits_);
  return divergence;
}

}  // namespace batchvar
