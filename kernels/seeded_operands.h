// Operands for executions without a model: a function of (seed, name, row) alone, so that a row
// keeps its numbers however many others are drawn. Streams: docs/determinism.md.
#ifndef BATCHVAR_KERNELS_SEEDED_OPERANDS_H_
#define BATCHVAR_KERNELS_SEEDED_OPERANDS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/numerics/dtype.h"

namespace batchvar {

enum class DataFamily : uint8_t {
  kNormal,    // mean 0, variance 1
  kOutliers,  // the same, but one column in 128 is 32 times larger, in every row: the outlier
              // channels of language models
};

const char* DataFamilyName(DataFamily family);

// `rows` x `width` words of `dtype` (bf16 or fp16), row after row, each number times `scale`.
std::vector<uint16_t> SeededRows(uint64_t seed, std::string_view name, int64_t rows, int64_t width,
                                 DType dtype, float scale, DataFamily family);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_SEEDED_OPERANDS_H_
