// NVIDIA's nvMatmulHeuristics, opened at run time from a file that the user names. It answers, on
// the host and without a GPU, which kernel a GEMM library would choose. Nothing of it is part of
// this project: the types below are our own, after its C interface of version 0.1 (tried with the
// PyPI package nvidia-matmul-heuristics 0.1.0.27, 2026-11). Used by nv_heuristics.h.
//
// The library keeps tuning profiles that its handles share, so all calls into it, from any object
// of this class, run under one lock.
#ifndef BATCHVAR_SIM_IO_NV_HEURISTICS_LIBRARY_H_
#define BATCHVAR_SIM_IO_NV_HEURISTICS_LIBRARY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"

namespace batchvar {

// One GEMM of its interface, D[m,n] += A B over k.
struct NvProblem {
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t k = 0;
  uint32_t batch = 1;
  uint8_t layout = 0;
};

// One kernel that it proposes; tiles are m, n, k.
struct NvKernel {
  uint16_t cta[3];
  uint16_t warp[3];
  uint16_t instr[3];
  uint16_t split_k;
  uint8_t stages;
  uint8_t grid_swizzle;
  uint8_t cta_order;
  uint8_t cluster[2];
};
static_assert(sizeof(NvProblem) == 20 && sizeof(NvKernel) == 26, "the library's own layout");

struct NvQuestion {
  int32_t gpu = 0;         // the library's number of a GPU
  const char* types = "";  // of A and B, of the sum, of C and D: "HSH", "TST"
  int32_t target = 0;      // the library's number of a kind of kernels
  uint32_t flags = 0;
  uint32_t candidates = 1;  // asked for; the first one is the answer
  NvProblem problem;
};

struct NvAnswer {
  bool found = false;   // false: the library proposes nothing
  int32_t profile = 0;  // 1: it has measured the GPU; 2: its analytic model answers
  NvKernel kernel = {};
};

class NvHeuristicsLibrary {
 public:
  // An InputError that names the path and says where to get the library when the file is missing,
  // is no shared library, lacks a function or has another version.
  static absl::StatusOr<std::unique_ptr<NvHeuristicsLibrary>> Open(const std::string& path);
  ~NvHeuristicsLibrary();
  NvHeuristicsLibrary(const NvHeuristicsLibrary&) = delete;
  NvHeuristicsLibrary& operator=(const NvHeuristicsLibrary&) = delete;

  // From any thread.
  NvAnswer Ask(const NvQuestion& question);
  const std::string& version() const { return version_; }  // "0.1.0"

 private:
  struct Functions;
  using ProfileKey = std::tuple<int32_t, std::string, int32_t, uint8_t>;

  NvHeuristicsLibrary();
  absl::Status Start(const std::string& path);
  // Null when the library cannot describe the GPU.
  void* DescriptorOf(int32_t gpu);
  int32_t ProfileOf(const NvQuestion& question, void* descriptor);

  std::unique_ptr<Functions> functions_;
  void* shared_object_ = nullptr;
  void* handle_ = nullptr;
  std::string version_;
  std::map<int32_t, void*> descriptors_;    // by GPU
  std::map<ProfileKey, int32_t> profiles_;  // what loading each said
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_NV_HEURISTICS_LIBRARY_H_
