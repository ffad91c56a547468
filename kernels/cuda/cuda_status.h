// What a CUDA call or a launch came to: nothing, or words with the place in our source. Plain data
// without Abseil, because kernels/cuda also builds on GPU machines that have a compiler only.
#ifndef BATCHVAR_KERNELS_CUDA_CUDA_STATUS_H_
#define BATCHVAR_KERNELS_CUDA_CUDA_STATUS_H_

#include <string>

namespace batchvar {

struct [[nodiscard]] CudaStatus {
  std::string words;  // empty: it worked
  bool ok() const { return words.empty(); }
};

inline CudaStatus CudaFailed(const char* file, int line, const std::string& what) {
  return {std::string(file) + ":" + std::to_string(line) + ": " + what};
}

}  // namespace batchvar

// Returns from a function of type CudaStatus if a call of the CUDA runtime failed.
#define BV_CUDA_TRY(call)                                                                          \
  do {                                                                                             \
    const cudaError_t cuda_try_error = (call);                                                     \
    if (cuda_try_error != cudaSuccess) {                                                           \
      return ::batchvar::CudaFailed(__FILE__, __LINE__,                                            \
                                    std::string(#call ": ") + cudaGetErrorString(cuda_try_error)); \
    }                                                                                              \
  } while (false)

// Returns from a function of type CudaStatus with the status of another one, if that is not ok.
#define BV_CUDA_RETURN_IF_ERROR(status)                \
  do {                                                 \
    ::batchvar::CudaStatus cuda_try_status = (status); \
    if (!cuda_try_status.ok()) return cuda_try_status; \
  } while (false)

// Refuses an argument.
#define BV_CUDA_REQUIRE(condition, words)                                         \
  do {                                                                            \
    if (!(condition)) return ::batchvar::CudaFailed(__FILE__, __LINE__, (words)); \
  } while (false)

#endif  // BATCHVAR_KERNELS_CUDA_CUDA_STATUS_H_
