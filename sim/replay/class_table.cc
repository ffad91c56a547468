#include "sim/replay/class_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/plan/order_digest.h"
#include "sim/replay/roofline_timer.h"

namespace batchvar {
namespace {

bool SameLengths(const AttentionRequest& a, const AttentionRequest& b) {
  return a.q_len == b.q_len && a.kv_len == b.kv_len;
}

// The plans of an experiment, asked for by what a step brings.
class StepPlans {
 public:
  explicit StepPlans(const ExperimentSpec& spec) : book_(spec), padding_(PaddingOf(spec.padding)) {}

  const std::vector<OpShape>& ops() const { return book_.ops(); }

  const OpPlan& At(size_t op, int64_t m) {
    return book_.Lookup(op, book_.RowsOfOp(op, padding_.PaddedM(m), /*num_requests=*/m));
  }

  // Of `batch` requests that all have the same lengths; of one request's last row.
  AttentionRule RuleAt(const AttentionRequest& request, int64_t batch) {
    if (!step_.empty() && !SameLengths(step_.front(), request)) step_.clear();
    step_.resize(static_cast<size_t>(batch), request);  // unlike assign, grows in doubling steps
    return book_.attention().Rule(step_, book_.heads(), book_.device());
  }

  OpPlan AttentionUnder(const AttentionRule& rule, const AttentionRequest& request) const {
    OpPlan plan;
    plan.order = book_.AttentionOrder(rule, request);
    plan.policy = book_.attention().name();
    plan.klass = ClassOfOrder(plan.order);
    return plan;
  }

 private:
  PlanBook book_;
  Padding padding_;
  std::vector<AttentionRequest> step_;
};

AttentionRequest RequestOf(int64_t q_len, int64_t kv_len) {
  AttentionRequest request;
  request.q_len = q_len;
  request.kv_len = kv_len;
  return request;
}

// Sorts M, given in ascending order, into classes.
class Partitioner {
 public:
  explicit Partitioner(OpPartition* op) : op_(op) {}

  void Add(int64_t m, const OpPlan& plan) {
    if (op_->classes.empty() || op_->classes[last_].klass != plan.klass) {
      const auto [found, is_new] = index_.emplace(plan.klass, op_->classes.size());
      if (is_new) Open(plan);
      last_ = found->second;
    }
    op_->classes[last_].m.push_back(m);
  }

 private:
  void Open(const OpPlan& plan) {
    MClass& opened = op_->classes.emplace_back();
    opened.klass = plan.klass;
    opened.split = static_cast<int32_t>(plan.order.pieces.size());
    // A plan whose elements all share one order has that order's digest as its class.
    opened.tile_dependent = plan.klass != ClassOfOrder(plan.order);
    if (opened.tile_dependent) opened.split = std::max(opened.split, plan.gemm.split_k);
  }

  OpPartition* op_;
  std::map<Digest, size_t> index_;
  size_t last_ = 0;
};

OpPartition PartitionOf(size_t op, const ClassQuery& query, StepPlans* plans) {
  const OpShape& shape = plans->ops()[op];
  OpPartition partition;
  partition.op = OpName(shape.op);
  partition.n = shape.n;
  partition.k = shape.k;
  Partitioner partitioner(&partition);
  for (const int64_t m : query.m) partitioner.Add(m, plans->At(op, m));
  return partition;
}

OpPartition AttentionPartition(int64_t kv_len, const ClassQuery& query, StepPlans* plans) {
  OpPartition partition;
  partition.op = OpName(Op::kAttention);
  partition.kv_len = kv_len;
  const AttentionRequest request = RequestOf(query.q_len, kv_len);
  Partitioner partitioner(&partition);
  std::optional<AttentionRule> last;
  OpPlan plan;
  for (const int64_t batch : query.m) {
    const AttentionRule rule = plans->RuleAt(request, batch);
    // Equal rules cut a request alike, so most batches need no order and no digest of their own.
    if (last != rule) plan = plans->AttentionUnder(rule, request);
    last = rule;
    partitioner.Add(batch, plan);
  }
  return partition;
}

}  // namespace

std::string MissingPlan(const ExperimentSpec& spec, const ClassQuery& query) {
  const Padding padding = PaddingOf(spec.padding);
  std::vector<int64_t> padded_m;
  for (const int64_t m : query.m) padded_m.push_back(padding.PaddedM(m));
  return PlanBook(spec).FirstMissing(padded_m, query.m);
}

ClassTable MakeClassTable(const ExperimentSpec& spec, const ClassQuery& query) {
  ClassTable table;
  table.model = spec.model.name;
  table.device = spec.device.name;
  table.sm_count = spec.device.sm_count;
  table.policies = spec.policies.name;
  table.tp = spec.tp;
  table.dtype = spec.dtype;
  table.padded = spec.padding.mode == PaddingMode::kCapture;
  table.query = query;
  StepPlans plans(spec);
  for (size_t op = 0; op < plans.ops().size(); ++op) {
    if (plans.ops()[op].op != Op::kAttention) {
      table.ops.push_back(PartitionOf(op, query, &plans));
      continue;
    }
    for (const int64_t kv_len : query.kv_lens) {
      table.ops.push_back(AttentionPartition(kv_len, query, &plans));
    }
  }
  return table;
}

const OpPartition* FirstVariant(const ClassTable& table) {
  for (const OpPartition& op : table.ops) {
    if (op.classes.size() > 1) return &op;
  }
  return nullptr;
}

std::vector<const MClass*> ClassAtEachM(const ClassQuery& query, const OpPartition& op) {
  std::vector<const MClass*> at(query.m.size(), nullptr);
  for (const MClass& one : op.classes) {
    size_t next = 0;
    for (const int64_t m : one.m) {
      while (query.m[next] != m) ++next;
      at[next] = &one;
    }
  }
  return at;
}

std::vector<int64_t> Boundaries(const ClassQuery& query, const OpPartition& op) {
  const std::vector<const MClass*> at = ClassAtEachM(query, op);
  std::vector<int64_t> boundaries;
  for (size_t i = 1; i < at.size(); ++i) {
    if (at[i] != at[i - 1]) boundaries.push_back(query.m[i]);
  }
  return boundaries;
}

std::vector<ClosedRange> JoinNeighbours(const std::vector<int64_t>& values,
                                        const std::vector<int64_t>& all) {
  std::vector<ClosedRange> ranges;
  auto next = all.begin();
  for (const int64_t value : values) {
    if (!ranges.empty() && next != all.end() && *next == value) {
      ranges.back().second = value;
    } else {
      ranges.emplace_back(value, value);
      next = std::lower_bound(next, all.end(), value);
    }
    if (next != all.end()) ++next;
  }
  return ranges;
}

std::vector<ClosedRange> ConsecutiveRanges(const std::vector<int64_t>& values) {
  std::vector<ClosedRange> ranges;
  for (const int64_t value : values) {
    if (!ranges.empty() && ranges.back().second + 1 == value) {
      ranges.back().second = value;
    } else {
      ranges.emplace_back(value, value);
    }
  }
  return ranges;
}

std::vector<PlanPair> DifferingPlans(const ExperimentSpec& spec, const ClassQuery& query,
                                     int64_t m_a, int64_t m_b) {
  StepPlans plans(spec);
  std::vector<PlanPair> pairs;
  const auto keep = [&pairs](PlanPair pair) {
    if (pair.a.klass != pair.b.klass) pairs.push_back(std::move(pair));
  };
  for (size_t op = 0; op < plans.ops().size(); ++op) {
    const OpShape& shape = plans.ops()[op];
    if (shape.op != Op::kAttention) {
      keep({shape, 0, plans.At(op, m_a), plans.At(op, m_b)});
      continue;
    }
    for (const int64_t kv_len : query.kv_lens) {
      const AttentionRequest request = RequestOf(query.q_len, kv_len);
      PlanPair pair{shape, kv_len, {}, {}};
      pair.a = plans.AttentionUnder(plans.RuleAt(request, m_a), request);
      pair.b = plans.AttentionUnder(plans.RuleAt(request, m_b), request);
      pair.a.rows = m_a;
      pair.b.rows = m_b;
      keep(std::move(pair));
    }
  }
  return pairs;
}

}  // namespace batchvar
