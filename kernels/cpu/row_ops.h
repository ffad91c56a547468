// The ops of a decoder step that work on one row at a time, in the order that a plan gives them.
// Inputs are 16-bit words of one dtype (bf16 or fp16); results are fp32 before the rounding that
// the next op reads, so that a comparison can see both. NarrowRow() does that rounding.
// Standard library only. The CUDA kernels do the same operations in the same order.
#ifndef BATCHVAR_KERNELS_CPU_ROW_OPS_H_
#define BATCHVAR_KERNELS_CPU_ROW_OPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/numerics/dtype.h"
#include "sim/numerics/order.h"
#include "sim/plan/plan.h"

namespace batchvar {

// words[i] = values[i] rounded to `dtype`.
void NarrowRow(std::span<const float> values, DType dtype, uint16_t* words);
void WidenRow(std::span<const uint16_t> words, DType dtype, float* values);

// x * (1 / sqrt(mean of squares + eps)) * weight; the squares are summed in `order`, each product
// is rounded to fp32 and nothing is rounded to 16 bits in between.
void RmsNormRow(const Order& order, std::span<const uint16_t> x, std::span<const uint16_t> weight,
                float eps, DType dtype, float* out);

// x + residual in fp32; the caller rounds it, and the norm that follows reads the rounded words.
void AddRow(std::span<const uint16_t> x, std::span<const uint16_t> residual, DType dtype,
            float* out);

// x - max - log(sum of e^(x - max)), summed in `order`. fp32 in and out.
void LogSoftmaxRow(const Order& order, std::span<const float> logits, float* out);

// silu(gate) * up.
void SiluMulRow(std::span<const uint16_t> gate, std::span<const uint16_t> up, DType dtype,
                float* out);

// Cosines and sines of one table row: positions x head_dim / 2, made once in double and rounded.
class RopeTable {
 public:
  // inverse_frequencies[i] is the angle by which pair i turns from one position to the next.
  RopeTable(const std::vector<double>& inverse_frequencies, int64_t positions);
  std::span<const float> Cos(int64_t position) const;
  std::span<const float> Sin(int64_t position) const;

 private:
  int64_t pairs_;
  std::vector<float> cos_;
  std::vector<float> sin_;
};

// theta^(-2i / head_dim) for i < head_dim / 2.
std::vector<double> RopeFrequencies(double theta, int32_t head_dim);

// Turns the pairs (i, i + head_dim / 2) of one head: products and their sum rounded one by one.
void RopeHead(std::span<const uint16_t> head, std::span<const float> cos,
              std::span<const float> sin, DType dtype, float* out);

// One row of an all-reduce: `strips` are the row's own (StripsOfAllReduceRow) and cover its `width`
// columns; ranks[r] is rank r's row of words.
void AllReduceRow(std::span<const OrderStrip> strips, int64_t width,
                  const std::vector<const uint16_t*>& ranks, DType dtype, float* out);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_ROW_OPS_H_
