#include "kernels/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "kernels/cpu/exp_kernel.h"
#include "kernels/cpu/gemm_kernel.h"
#include "kernels/cpu/kv_panels.h"
#include "kernels/cpu/row_blocks.h"
#include "sim/base/check.h"

namespace batchvar {
namespace {

bool ReadsTheSame(const AttentionJob& a, const AttentionJob& b) {
  const AttentionOperands &x = a.operands, &y = b.operands;
  return x.k == y.k && x.v == y.v && x.kv_stride == y.kv_stride && x.block_table == y.block_table &&
         x.block_size == y.block_size && x.head_dim == y.head_dim && x.dtype == y.dtype &&
         (a.order == b.order || *a.order == *b.order);
}

// Neighbouring jobs that run together.
std::vector<std::span<const AttentionJob>> GroupsOf(std::span<const AttentionJob> jobs) {
  std::vector<std::span<const AttentionJob>> groups;
  size_t begin = 0;
  for (size_t i = 1; i <= jobs.size(); ++i) {
    if (i < jobs.size() && ReadsTheSame(jobs[begin], jobs[i])) continue;
    groups.push_back(jobs.subspan(begin, i - begin));
    begin = i;
  }
  return groups;
}

// The running state of every row of a group.
struct GroupState {
  std::vector<SoftmaxState> rows;
};

// One group's pass over its KV.
class GroupRun {
 public:
  GroupRun(Isa isa, std::span<const AttentionJob> jobs)
      : isa_(isa),
        jobs_(jobs),
        order_(*jobs[0].order),
        x_(jobs[0].operands),
        model_(MmaModelOf(order_.arithmetic, order_.instr_k)) {}

  void Run();
  int64_t fallbacks() const { return fallbacks_; }

 private:
  void VisitBlock(const Range& block, GroupState* state);
  void ScoresOfBlock(const Range& block);
  void Softmax(int64_t count, GroupState* state);
  void AddValues(const Range& block, GroupState* state);
  void AddValuesByFma(const Range& block, GroupState* state);
  // sums[row][padded columns] += rows . panels, chained from what `sums` holds.
  void AddProducts(const std::vector<const uint16_t*>& rows, bool chain);

  int64_t num_rows() const { return std::ssize(jobs_); }

  Isa isa_;
  std::span<const AttentionJob> jobs_;
  const Order& order_;
  const AttentionOperands& x_;
  MmaModel model_;
  int64_t fallbacks_ = 0;
  KvPanels panels_;
  std::vector<float> sums_;        // of AddProducts
  std::vector<float> p_;           // [row][count]: scores, then probabilities
  std::vector<uint16_t> rounded_;  // [row][count]
};

void GroupRun::AddProducts(const std::vector<const uint16_t*>& rows, bool chain) {
  StretchList list = SingleStretch(model_, 0, panels_.summed());
  if (chain) {
    list.chain = true;
    list.num_blocks = panels_.summed();
  }
  const GemmKernels& kernels = panels_.has_specials() ? kScalarGemmKernels : GemmKernelsOf(isa_);
  for (int64_t first = 0; first < num_rows(); first += kernels.max_rows) {
    const auto count =
        static_cast<int32_t>(std::min<int64_t>(kernels.max_rows, num_rows() - first));
    const std::vector<uint32_t> blocks = PackRows(list, rows.data() + first, count, x_.dtype);
    for (int64_t panel = 0; panel < panels_.num_panels(); ++panel) {
      KernelCall call;
      call.words = panels_.Panel(panel);
      call.blocks = blocks.data();
      call.x = rows.data() + first;
      call.k_end = panels_.summed();
      call.num_rows = count;
      call.fused = model_.fused;
      call.padded = list.padded;
      call.fraction_bits = model_.fraction_bits;
      call.floor_exponent = model_.floor_exponent;
      call.dtype = x_.dtype;
      call.sums_stride = panels_.PaddedColumns();
      call.sums = sums_.data() + first * call.sums_stride + panel * kPanelColumns;
      call.fallbacks = &fallbacks_;
      (chain ? kernels.add_chain : kernels.add_fused)(call);
    }
  }
}

void GroupRun::ScoresOfBlock(const Range& block) {
  const int64_t count = block.end - block.begin;
  panels_.PackKeys(x_, block);
  sums_.assign(num_rows() * panels_.PaddedColumns(), 0.0f);
  std::vector<const uint16_t*> queries;
  for (const AttentionJob& job : jobs_) queries.push_back(job.operands.q);
  AddProducts(queries, !IsMma(order_.arithmetic));
  p_.resize(num_rows() * count);
  for (int64_t r = 0; r < num_rows(); ++r) {
    const float* scores = &sums_[r * panels_.PaddedColumns()];
    const float scale = jobs_[r].operands.scale;
    for (int64_t j = 0; j < count; ++j) p_[r * count + j] = scale * CanonicalNan(scores[j]);
  }
}

void GroupRun::Softmax(int64_t count, GroupState* state) {
  for (int64_t r = 0; r < num_rows(); ++r) {
    SoftmaxState& row = state->rows[r];
    float* p = &p_[r * count];
    float largest = row.max;
    for (int64_t j = 0; j < count; ++j) largest = OrderedMax(largest, p[j]);
    ExpMinus(isa_, largest, p, count);
    const float rescale = Exp(row.max - largest);
    row.max = largest;
    row.sum = FusedMultiplyAdd(row.sum, rescale, SumProbabilities(p, count));
    for (float& value : row.output) value *= rescale;
  }
}

void GroupRun::AddValuesByFma(const Range& block, GroupState* state) {
  const int64_t count = block.end - block.begin;
  for (int64_t r = 0; r < num_rows(); ++r) {
    for (int32_t d = 0; d < x_.head_dim; ++d) {
      float& sum = state->rows[r].output[d];
      sum = ChainValues(order_, x_, &p_[r * count], block, d, sum);
    }
  }
}

void GroupRun::AddValues(const Range& block, GroupState* state) {
  const int64_t count = block.end - block.begin;
  panels_.PackValues(x_, block);
  const int64_t stride = panels_.PaddedColumns();
  sums_.assign(num_rows() * stride, 0.0f);
  rounded_.resize(p_.size());
  for (size_t i = 0; i < p_.size(); ++i) rounded_[i] = Narrow(p_[i], x_.dtype);
  std::vector<const uint16_t*> rows;
  for (int64_t r = 0; r < num_rows(); ++r) {
    rows.push_back(&rounded_[r * count]);
    std::copy_n(state->rows[r].output.data(), x_.head_dim, &sums_[r * stride]);
  }
  AddProducts(rows, /*chain=*/false);
  for (int64_t r = 0; r < num_rows(); ++r) {
    std::copy_n(&sums_[r * stride], x_.head_dim, state->rows[r].output.data());
  }
}

void GroupRun::VisitBlock(const Range& block, GroupState* state) {
  ScoresOfBlock(block);
  Softmax(block.end - block.begin, state);
  if (IsMma(order_.arithmetic)) {
    AddValues(block, state);
  } else {
    AddValuesByFma(block, state);
  }
}

void GroupRun::Run() {
  std::vector<GroupState> states;  // one for each piece, or one for all
  for (const Range& piece : order_.pieces) {
    if (states.empty() || order_.combine != Combine::kChained) {
      states.emplace_back();
      states.back().rows.resize(num_rows());
      for (SoftmaxState& row : states.back().rows) row.output.assign(x_.head_dim, 0.0f);
    }
    const int64_t blocks = (piece.end - piece.begin + order_.block - 1) / order_.block;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t begin = piece.begin + (order_.descending ? blocks - 1 - i : i) * order_.block;
      VisitBlock({begin, std::min<int64_t>(begin + order_.block, piece.end)}, &states.back());
    }
  }
  for (int64_t r = 0; r < num_rows(); ++r) {
    std::vector<SoftmaxState> row;
    for (GroupState& state : states) {
      row.push_back(std::move(state.rows[r]));
      Normalise(&row.back());
    }
    if (row.size() > 1) {
      MergeStates(order_, row, jobs_[r].output);
    } else {
      std::copy(row[0].output.begin(), row[0].output.end(), jobs_[r].output);
    }
  }
}

}  // namespace

FloatFault ExecuteAttention(Isa isa, std::span<const AttentionJob> jobs, WorkerPool* pool,
                            int64_t* fallbacks) {
  if (jobs.empty()) return FindFloatFault();
  const auto groups = GroupsOf(jobs);
  std::vector<int64_t> redone(groups.size(), 0);
  std::vector<FloatFault> faults(pool->num_threads(), FloatFault::kNone);
  pool->Run(std::ssize(groups), [&](int64_t index, int32_t worker) {
    if (faults[worker] == FloatFault::kNone) faults[worker] = FindFloatFault();
    BV_CHECK(!groups[index][0].order->pieces.empty());
    GroupRun run(isa, groups[index]);
    run.Run();
    redone[index] = run.fallbacks();
  });
  if (fallbacks != nullptr) {
    for (const int64_t count : redone) *fallbacks += count;
  }
  for (const FloatFault fault : faults) {
    if (fault != FloatFault::kNone) return fault;
  }
  return FloatFault::kNone;
}

}  // namespace batchvar
