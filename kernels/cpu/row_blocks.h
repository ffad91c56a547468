// Two things that are prepared once per call and serve every panel: the stretches of K in which an
// Order sums, and the activations of a group of rows cut into the blocks of those stretches (their
// layout: gemm_kernel.h). Made by ExecuteGemm, read by panel_job.cc.
#ifndef BATCHVAR_KERNELS_CPU_ROW_BLOCKS_H_
#define BATCHVAR_KERNELS_CPU_ROW_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "sim/numerics/dtype.h"
#include "sim/numerics/order.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {

// One chain of instructions without a gap: products [begin, end), added to accumulator `slice`.
struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t piece = 0;
  int32_t slice = 0;
  int64_t first_block = 0;  // where its activations lie, in blocks
};

// How the sums of an order are made: by fused sums (`chain` false) or by fp32 FMAs, whose blocks
// are single products.
struct StretchList {
  bool chain = false;
  MmaModel model;
  int32_t padded = 16;  // model.fused up to 4, 8 or 16
  int32_t slices = 1;   // accumulators of a piece
  int64_t num_blocks = 0;
  std::vector<Stretch> stretches;  // by piece; within a piece in the order in which they are summed

  int64_t BlocksOf(int64_t products) const {
    return chain ? products : (products + model.fused - 1) / model.fused;
  }
  // 32-bit words of a block of one row.
  int64_t BlockWords() const;
};

// The stretches that OrderedDot (sim/numerics/ordered_dot.h) walks.
StretchList StretchesOf(const Order& order);
// One stretch under any model of at most 16 fused products.
StretchList SingleStretch(const MmaModel& model, int64_t begin, int64_t end);

// The activations x[num_rows] -> [K] as blocks. num_rows <= kMaxRowsPerCall.
std::vector<uint32_t> PackRows(const StretchList& list, const uint16_t* const* x, int32_t num_rows,
                               DType dtype);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_ROW_BLOCKS_H_
