// The inner kernels of the CPU GEMM, one set per instruction set, behind one table. A call adds
// the products [k_begin, k_end) to the accumulators of up to `max_rows` rows and one panel of 32
// columns. Called by panel_job.cc only.
//
// This header is compiled into sources built for AVX2 and AVX-512. An inline function with external
// linkage that such a source emits could be the copy that the linker keeps for everyone, and would
// then fault on an older CPU. So those sources see plain data and declarations only.
#ifndef BATCHVAR_KERNELS_CPU_GEMM_KERNEL_H_
#define BATCHVAR_KERNELS_CPU_GEMM_KERNEL_H_

#include <cstdint>

#include "kernels/cpu/isa.h"
#include "sim/numerics/dtype.h"

namespace batchvar {

// Columns of a panel. Row k of a bf16 panel is 32 words: word 2 j is column j, word 2 j + 1 is
// column 16 + j, so shifting and masking 32-bit lanes widens it without a shuffle. In an fp16 panel
// word j is column j, as the conversion instruction wants it.
constexpr int32_t kPanelColumns = 32;
// Readable rows behind a panel's last, so that a block may begin at any k.
constexpr int32_t kPanelPadRows = 16;
constexpr int32_t kMaxRowsPerCall = 6;

static constexpr int32_t PanelWord(int32_t column, DType dtype) {
  return dtype == DType::kFp16 ? column : 2 * (column % 16) + column / 16;
}

// One block of packed activations of R rows (row_blocks.h), `padded` products each:
//   float    values[padded][R]         exact
//   uint32_t shortfalls[padded / 2][R] for k = 2 i and 2 i + 1, as bytes (twice): how far the
//                                      exponent lies below the block's largest; 255 for a zero
//   int32_t  bases[R]                  added to a panel's exponent byte: fp32's exponent field
//   uint32_t nonzero[R]                bit k: the activation is not 0
static constexpr int64_t RowBlockWords(int32_t padded) { return padded + padded / 2 + 2; }

// The base of a block that only the scalar reference can add: infinity, NaN, or beyond 2^26. It
// puts every lane outside the exact range.
constexpr int32_t kScalarBase = 1 << 20;

// Rows k_begin ... of a panel widened once for many row groups.
struct WidePanel {
  const float* values = nullptr;        // [k][32 columns]
  const uint32_t* exponents = nullptr;  // [k / 2][16]: as PairExponents in gemm_kernel_simd.h
};

struct KernelCall {
  const uint16_t* words = nullptr;     // the panel at row k_begin
  WidePanel wide;                      // values == nullptr: widen from `words`
  const uint32_t* blocks = nullptr;    // packed activations from k_begin on
  const uint16_t* const* x = nullptr;  // the same activations as they came, [num_rows] -> [K]
  int64_t k_begin = 0;
  int64_t k_end = 0;
  int32_t num_rows = 0;
  int32_t fused = 16;          // products of one sum
  int32_t padded = 16;         // the same with zeros up to 4, 8 or 16
  int32_t fraction_bits = 25;  // of the alignment
  int32_t floor_exponent = -133;
  DType dtype = DType::kBf16;
  float* sums = nullptr;  // [num_rows][sums_stride], 32 columns each; read and written
  int64_t sums_stride = kPanelColumns;
  int64_t* fallbacks = nullptr;  // + 1 for every lane and block that the reference had to redo
};

struct GemmKernels {
  int32_t max_rows = 1;    // of a call
  bool is_vector = false;  // reads packed activations and, if there are several calls, wide panels
  // d = c + a . b, `fused` products at a time (sim/numerics/tensor_core.h).
  void (*add_fused)(const KernelCall&) = nullptr;
  // One fp32 fused multiply-add after another; `blocks` then holds values[k][R] only.
  void (*add_chain)(const KernelCall&) = nullptr;
  // Widens `rows` rows (even) of a panel into values and exponents as WidePanel says.
  void (*widen)(const uint16_t* words, int64_t rows, DType dtype, float* values,
                uint32_t* exponents) = nullptr;
};

// The table of an instruction set that this CPU has.
const GemmKernels& GemmKernelsOf(Isa isa);

// The scalar reference for one row and column of a call: one fused sum that begins at block
// `block`, added to `c`.
float RedoLane(const KernelCall& call, int64_t block, int32_t row, int32_t column, float c);

extern const GemmKernels kScalarGemmKernels;
extern const GemmKernels kAvx2GemmKernels;
extern const GemmKernels kAvx512GemmKernels;

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_GEMM_KERNEL_H_
