#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "kernels/cpu/panel_job.h"
#include "sim/base/check.h"

namespace batchvar {

namespace {

void CheckStrip(const OrderStrip& strip, const PackedMatrix& weights) {
  BV_CHECK(strip.columns.begin >= 0 && strip.columns.end <= weights.n());
  BV_CHECK(!strip.order.pieces.empty());
  for (const Range& piece : strip.order.pieces) {
    BV_CHECK(piece.begin >= 0 && piece.begin <= piece.end && piece.end <= weights.k());
  }
}

// Rows whose strips are equal share batches, in the order in which they first come.
std::vector<RowBatch> BatchesOf(const PackedMatrix& weights, std::span<const GemmRow> rows) {
  std::vector<RowBatch> batches;
  const OrderStrip* last_strips = nullptr;  // rows of one plan mostly point to the same strips
  std::vector<size_t> last_batches;
  for (const GemmRow& row : rows) {
    if (row.strips.data() != last_strips || row.strips.size() != last_batches.size()) {
      last_strips = row.strips.data();
      last_batches.clear();
      for (const OrderStrip& strip : row.strips) {
        const auto found = std::find_if(batches.begin(), batches.end(), [&](const RowBatch& batch) {
          return batch.columns == strip.columns && *batch.order == strip.order;
        });
        last_batches.push_back(found - batches.begin());
        if (found != batches.end()) continue;
        CheckStrip(strip, weights);
        RowBatch& batch = batches.emplace_back();
        batch.order = &strip.order;
        batch.columns = strip.columns;
        batch.list = StretchesOf(strip.order);
      }
    }
    for (const size_t batch : last_batches) {
      batches[batch].x.push_back(row.x);
      batches[batch].out.push_back(row.out);
    }
  }
  return batches;
}

struct WorkerState {
  PanelScratch scratch;
  FloatFault fault = FloatFault::kNone;
};

void PackBatches(DType dtype, WorkerPool* pool, std::vector<RowBatch>* batches) {
  struct Group {
    RowBatch* batch;
    int64_t index;
  };
  std::vector<Group> groups;
  for (RowBatch& batch : *batches) {
    batch.packed.resize(batch.num_groups());
    for (int64_t i = 0; i < batch.num_groups(); ++i) groups.push_back({&batch, i});
  }
  pool->Run(std::ssize(groups), [&](int64_t job, int32_t) {
    RowBatch& batch = *groups[job].batch;
    const int64_t i = groups[job].index;
    batch.packed[i] =
        PackRows(batch.list, batch.x.data() + i * batch.group_rows, batch.RowsOf(i), dtype);
  });
}

// Lanes times blocks of all fused sums, as the kernels count them.
int64_t CountFusedSums(const std::vector<RowBatch>& batches) {
  int64_t sums = 0;
  for (const RowBatch& batch : batches) {
    if (batch.list.chain || batch.columns.begin >= batch.columns.end) continue;
    const int64_t panels = (batch.columns.end + kPanelColumns - 1) / kPanelColumns -
                           batch.columns.begin / kPanelColumns;
    sums += batch.list.num_blocks * batch.num_rows() * panels * kPanelColumns;
  }
  return sums;
}

// In how many parts the groups of rows are cut, so that few panels still keep all threads busy.
int64_t RowParts(int64_t panels, const WorkerPool& pool, const std::vector<RowBatch>& batches) {
  if (pool.num_threads() == 1) return 1;
  int64_t most_groups = 1;
  for (const RowBatch& batch : batches) most_groups = std::max(most_groups, batch.num_groups());
  constexpr int64_t kJobsPerThread = 4;
  const int64_t wanted = (kJobsPerThread * pool.num_threads() + panels - 1) / panels;
  return std::clamp<int64_t>(wanted, 1, most_groups);
}

}  // namespace

GemmOutcome ExecuteGemm(Isa isa, const PackedMatrix& weights, std::span<const GemmRow> rows,
                        WorkerPool* pool) {
  GemmOutcome outcome;
  outcome.fault = FindFloatFault();
  if (!outcome.ok()) return outcome;
  const GemmKernels& kernels = GemmKernelsOf(isa);
  std::vector<RowBatch> batches = BatchesOf(weights, rows);
  for (RowBatch& batch : batches) PrepareBatch(kernels, &batch);
  if (isa != Isa::kScalar) PackBatches(weights.dtype(), pool, &batches);

  std::vector<WorkerState> workers(pool->num_threads());
  const int64_t parts = RowParts(weights.num_panels(), *pool, batches);
  pool->Run(weights.num_panels() * parts, [&](int64_t job, int32_t worker) {
    WorkerState& state = workers[worker];
    if (state.fault == FloatFault::kNone) state.fault = FindFloatFault();
    if (state.fault != FloatFault::kNone) return;
    const int64_t panel = job / parts, part = job % parts;
    for (const RowBatch& batch : batches) {
      const int64_t groups = batch.num_groups();
      RunPanel(kernels, weights, panel, batch, {part * groups / parts, (part + 1) * groups / parts},
               &state.scratch);
    }
  });
  outcome.fused_sums = CountFusedSums(batches);
  for (const WorkerState& state : workers) {
    outcome.fallbacks += state.scratch.fallbacks;
    if (outcome.ok()) outcome.fault = state.fault;
  }
  return outcome;
}

}  // namespace batchvar
