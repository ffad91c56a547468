// Descriptors of matrices for the copy engine (TMA), made on the host. The driver's function is
// asked for at run time, so nothing links libcuda.
#ifndef BATCHVAR_KERNELS_CUDA_TENSOR_MAP_H_
#define BATCHVAR_KERNELS_CUDA_TENSOR_MAP_H_

#include <cstdint>

#include "kernels/cuda/cuda_status.h"
#include "kernels/cuda/ptx_sm90.cuh"

namespace batchvar {

// `words` is [rows][row_words] of 16-bit words in device memory, aligned to 16 bytes, row_words a
// multiple of 8. A copy takes `box_rows` rows (256 at most) of 64 words, swizzled by 128 bytes, and
// zeros for what lies outside.
CudaStatus MakeTensorMap(const uint16_t* words, int64_t rows, int64_t row_words, int32_t box_rows,
                         CUtensorMap* map);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CUDA_TENSOR_MAP_H_
