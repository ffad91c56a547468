// One panel of columns for one batch of rows: the unit of work that a thread of the pool takes.
// A batch is all rows that sum some columns in the same order, so a weight that has been loaded
// serves every row that waits for it. Used by gemm.cc.
#ifndef BATCHVAR_KERNELS_CPU_PANEL_JOB_H_
#define BATCHVAR_KERNELS_CPU_PANEL_JOB_H_

#include <cstdint>
#include <vector>

#include "kernels/cpu/gemm_kernel.h"
#include "kernels/cpu/packed_matrix.h"
#include "kernels/cpu/row_blocks.h"
#include "sim/numerics/order.h"

namespace batchvar {

struct RowBatch {
  const Order* order = nullptr;
  Range columns;
  std::vector<const uint16_t*> x;  // [rows] -> [K]
  std::vector<float*> out;         // [rows] -> [N]
  StretchList list;
  int32_t group_rows = 1;  // rows of one kernel call; the last group may have fewer
  bool wide = false;       // widen panels before use: pays where several groups read them
  std::vector<std::vector<uint32_t>> packed;  // of each group; empty for the scalar kernels

  int64_t num_rows() const { return static_cast<int64_t>(x.size()); }
  int64_t num_groups() const { return (num_rows() + group_rows - 1) / group_rows; }
  int32_t RowsOf(int64_t group) const;
};

// Fills what follows from order, x and the kernels: list, group_rows, wide.
void PrepareBatch(const GemmKernels& kernels, RowBatch* batch);

// What one thread needs besides its operands, kept from job to job.
struct PanelScratch {
  std::vector<float> wide_values;
  std::vector<uint32_t> wide_exponents;
  std::vector<float> sums;      // [slice][row][32]
  std::vector<float> partials;  // [piece][row][32]
  int64_t fallbacks = 0;
};

// Computes out[row][column] of the groups [groups.begin, groups.end) for the columns that `panel`
// and the batch share.
void RunPanel(const GemmKernels& kernels, const PackedMatrix& weights, int64_t panel,
              const RowBatch& batch, Range groups, PanelScratch* scratch);

// Adds one stretch to sums[groups' rows][32], for every group in `groups`.
void RunStretch(const GemmKernels& kernels, const PackedMatrix& weights, int64_t panel,
                const RowBatch& batch, Range groups, const Stretch& stretch, float* sums,
                PanelScratch* scratch);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_PANEL_JOB_H_
