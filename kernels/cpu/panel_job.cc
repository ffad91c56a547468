#include "kernels/cpu/panel_job.h"

#include <algorithm>

#include "sim/numerics/ordered_sum.h"

namespace batchvar {

namespace {

// Rows of a panel that are widened at once: 20 KiB of values and exponents, which leaves room for
// the activations in a first-level cache of 32 KiB.
constexpr int64_t kWideRows = 128;
// Rows whose sums are kept at once, in groups: an Order may have many pieces.
constexpr int64_t kRowsAtOnce = 96;

// A stretch of one group as a call, from block `first` on.
KernelCall CallOf(const PackedMatrix& weights, int64_t panel, const RowBatch& batch, int64_t group,
                  const Stretch& stretch, int64_t first, int64_t blocks) {
  const int64_t step = batch.list.chain ? 1 : batch.list.model.fused;
  KernelCall call;
  call.k_begin = stretch.begin + first * step;
  call.k_end = std::min(call.k_begin + blocks * step, stretch.end);
  call.words = weights.Panel(panel) + call.k_begin * kPanelColumns;
  call.num_rows = batch.RowsOf(group);
  call.x = batch.x.data() + group * batch.group_rows;
  if (!batch.packed.empty()) {
    call.blocks = batch.packed[group].data() +
                  (stretch.first_block + first) * batch.list.BlockWords() * call.num_rows;
  }
  call.fused = batch.list.model.fused;
  call.padded = batch.list.padded;
  call.fraction_bits = batch.list.model.fraction_bits;
  call.floor_exponent = batch.list.model.floor_exponent;
  call.dtype = weights.dtype();
  return call;
}

// Combines the pieces' sums of all rows and writes the columns that the batch asked for.
void WriteOutputs(const RowBatch& batch, int64_t panel, int64_t first_row, int64_t num_rows,
                  const std::vector<float>& partials) {
  const int64_t pieces = std::ssize(batch.order->pieces);
  const int64_t begin = std::max(batch.columns.begin, panel * kPanelColumns);
  const int64_t end = std::min(batch.columns.end, (panel + 1) * kPanelColumns);
  const bool sum_as_is = pieces == 1 && batch.order->combine != Combine::kSerial16bit &&
                         batch.order->combine != Combine::kExactSum;
  for (int64_t row = 0; row < num_rows; ++row) {
    const float* sums = partials.data() + row * kPanelColumns;
    float* out = batch.out[first_row + row];
    for (int64_t column = begin; column < end; ++column) {
      const float* sum = sums + column - panel * kPanelColumns;
      out[column] = sum_as_is ? CanonicalNan(*sum)
                              : CombinePartials(batch.order->combine, batch.order->output, sum,
                                                num_rows * kPanelColumns, pieces);
    }
  }
}

// The slices of a piece meet as SumOfPiece says; `partials` gets one sum for each row and column.
void CombineSlices(const Order& order, const float* sums, int64_t count, float* partials) {
  std::vector<float> slices(order.slice_k);
  for (int64_t i = 0; i < count; ++i) {
    for (int32_t s = 0; s < order.slice_k; ++s) slices[s] = sums[s * count + i];
    partials[i] = order.combine == Combine::kButterfly ? SumButterfly(slices.data(), order.slice_k)
                                                       : SumSerial(slices.data(), 1, order.slice_k);
  }
}

// One row chunk of RunPanel.
void RunGroups(const GemmKernels& kernels, const PackedMatrix& weights, int64_t panel,
               const RowBatch& batch, Range groups, PanelScratch* scratch) {
  const Order& order = *batch.order;
  const int64_t first_row = groups.begin * batch.group_rows;
  const int64_t num_rows = std::min(groups.end * batch.group_rows, batch.num_rows()) - first_row;
  const int64_t count = num_rows * kPanelColumns;
  const bool sliced = batch.list.slices > 1;
  scratch->partials.assign(std::ssize(order.pieces) * count, 0.0f);
  size_t next = 0;
  for (int32_t piece = 0; piece < std::ssize(order.pieces); ++piece) {
    float* partials = scratch->partials.data() + piece * count;
    if (sliced) scratch->sums.assign(batch.list.slices * count, 0.0f);
    for (; next < batch.list.stretches.size(); ++next) {
      const Stretch& stretch = batch.list.stretches[next];
      if (stretch.piece != piece) break;
      float* sums = sliced ? scratch->sums.data() + stretch.slice * count : partials;
      RunStretch(kernels, weights, panel, batch, groups, stretch, sums, scratch);
    }
    if (sliced) CombineSlices(order, scratch->sums.data(), count, partials);
    if (order.combine == Combine::kSerial16bit || order.partial == DType::kFp32) continue;
    for (int64_t i = 0; i < count; ++i) partials[i] = RoundTo(partials[i], order.partial);
  }
  WriteOutputs(batch, panel, first_row, num_rows, scratch->partials);
}

}  // namespace

int32_t RowBatch::RowsOf(int64_t group) const {
  return static_cast<int32_t>(std::min<int64_t>(group_rows, num_rows() - group * group_rows));
}

void PrepareBatch(const GemmKernels& kernels, RowBatch* batch) {
  const int64_t rows = batch->num_rows();
  const int64_t groups = (rows + kernels.max_rows - 1) / kernels.max_rows;
  batch->group_rows = static_cast<int32_t>((rows + groups - 1) / groups);  // of like size
  // Exponents lie in pairs of k, so a widened panel cannot be entered at an odd k.
  const bool even_blocks = batch->list.chain || batch->list.model.fused % 2 == 0;
  batch->wide = kernels.is_vector && even_blocks && groups > 1;
}

void RunStretch(const GemmKernels& kernels, const PackedMatrix& weights, int64_t panel,
                const RowBatch& batch, Range groups, const Stretch& stretch, float* sums,
                PanelScratch* scratch) {
  const StretchList& list = batch.list;
  // Infinities and NaNs among the weights: the FMA chain takes them, the fused kernels do not.
  const bool reference = !list.chain && weights.HasSpecials(panel) && kernels.is_vector;
  const GemmKernels& used = reference ? kScalarGemmKernels : kernels;
  const bool wide = batch.wide && !reference;
  const int64_t step = list.chain ? 1 : list.model.fused;
  const int64_t blocks = list.BlocksOf(stretch.end - stretch.begin);
  const int64_t at_once = wide ? std::max<int64_t>(kWideRows / step, 1) : blocks;
  for (int64_t first = 0; first < blocks; first += at_once) {
    const int64_t count = std::min(at_once, blocks - first);
    WidePanel widened;
    if (wide) {
      const int64_t rows = (count * step + (list.chain ? 0 : list.padded - step) + 1) / 2 * 2;
      scratch->wide_values.resize((kWideRows + kPanelPadRows) * kPanelColumns);
      scratch->wide_exponents.resize((kWideRows + kPanelPadRows) * kPanelColumns / 4);
      widened = {scratch->wide_values.data(), scratch->wide_exponents.data()};
      used.widen(weights.Panel(panel) + (stretch.begin + first * step) * kPanelColumns, rows,
                 weights.dtype(), scratch->wide_values.data(), scratch->wide_exponents.data());
    }
    for (int64_t group = groups.begin; group < groups.end; ++group) {
      KernelCall call = CallOf(weights, panel, batch, group, stretch, first, count);
      call.wide = widened;
      call.sums = sums + (group - groups.begin) * batch.group_rows * kPanelColumns;
      call.fallbacks = &scratch->fallbacks;
      if (reference) scratch->fallbacks += count * call.num_rows * kPanelColumns;
      list.chain ? used.add_chain(call) : used.add_fused(call);
    }
  }
}

void RunPanel(const GemmKernels& kernels, const PackedMatrix& weights, int64_t panel,
              const RowBatch& batch, Range groups, PanelScratch* scratch) {
  if (panel * kPanelColumns >= batch.columns.end) return;
  if ((panel + 1) * kPanelColumns <= batch.columns.begin) return;
  const int64_t at_once = std::max<int64_t>(kRowsAtOnce / batch.group_rows, 1);
  for (int64_t group = groups.begin; group < groups.end; group += at_once) {
    RunGroups(kernels, weights, panel, batch, {group, std::min(group + at_once, groups.end)},
              scratch);
  }
}

}  // namespace batchvar
