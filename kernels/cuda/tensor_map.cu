#include "kernels/cuda/tensor_map.h"

namespace batchvar {
namespace {

constexpr int32_t kBoxWords = 64;

}  // namespace

#ifdef __CUDACC__

CudaStatus MakeTensorMap(const uint16_t* words, int64_t rows, int64_t row_words, int32_t box_rows,
                         CUtensorMap* map) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  constexpr unsigned int kCuda12 = 12000;
  BV_CUDA_TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, kCuda12,
                                               cudaEnableDefault, &found));
  BV_CUDA_REQUIRE(found == cudaDriverEntryPointSuccess, "the driver has no cuTensorMapEncodeTiled");
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(row_words), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(row_words) * sizeof(uint16_t)};
  const cuuint32_t box[2] = {kBoxWords, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  // The type only decides how the zeros outside look, and those are zeros in every one.
  const CUresult result =
      encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, const_cast<uint16_t*>(words), sizes, strides,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  BV_CUDA_REQUIRE(result == CUDA_SUCCESS,
                  "cuTensorMapEncodeTiled failed: " + std::to_string(result));
  return {};
}

#else

CudaStatus MakeTensorMap(const uint16_t* words, int64_t rows, int64_t row_words, int32_t box_rows,
                         CUtensorMap* map) {
  BV_CUDA_REQUIRE(reinterpret_cast<uintptr_t>(words) % 16 == 0 && row_words % 8 == 0,
                  "the copy engine takes rows of whole 16 bytes");
  BV_CUDA_REQUIRE(box_rows >= 1 && box_rows <= 256, "a box has 256 rows at most");
  *map = {words, row_words, rows, row_words, kBoxWords, box_rows, {}};
  return {};
}

#endif

}  // namespace batchvar
