// A library with the functions that sim/io/nv_heuristics_library.h looks for. Its answers repeat
// the question, so that a test sees what was asked. FAKE_MINOR is the minor version that it claims.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "sim/io/nv_heuristics_library.h"

namespace {

constexpr int kSuccess = 1;
constexpr int kError = 0;
constexpr unsigned kUnanswerableK = 13;

std::atomic<unsigned> questions{0};
std::atomic<unsigned> inside{0};

struct Descriptor {
  int gpu = 0;
};

}  // namespace

extern "C" {

unsigned nvMatmulHeuristicsGetVersionMajor() { return 0; }
unsigned nvMatmulHeuristicsGetVersionMinor() { return FAKE_MINOR; }
unsigned nvMatmulHeuristicsGetVersionString(char* text, unsigned size) {
  return static_cast<unsigned>(std::snprintf(text, size, "0.%d.7", FAKE_MINOR));
}

int nvMatmulHeuristicsCreate(void** handle) {
  *handle = new int(0);
  return kSuccess;
}
int nvMatmulHeuristicsDestroy(void** handle) {
  delete static_cast<int*>(*handle);
  return kSuccess;
}

int nvMatmulHeuristicsHardwareDescriptorCreate(void** descriptor) {
  *descriptor = new Descriptor();
  return kSuccess;
}
int nvMatmulHeuristicsHardwareDescriptorDestroy(void** descriptor) {
  delete static_cast<Descriptor*>(*descriptor);
  return kSuccess;
}
int nvMatmulHeuristicsHardwareDescriptorSetPredefinedGpu(void* descriptor, int gpu) {
  static_cast<Descriptor*>(descriptor)->gpu = gpu;
  return gpu == 8900 ? kError : kSuccess;  // an L20 cannot be described
}

int nvMatmulHeuristicsLoadInternalDiscoverySet(void*, const char*, int, int, void* descriptor) {
  return static_cast<Descriptor*>(descriptor)->gpu == 8600 ? kError : 2;  // nor an A40 asked about
}

unsigned nvMatmulHeuristicsGetGemmConfig(void*, const char* types, unsigned flags, int target,
                                         const batchvar::NvProblem* problem,
                                         batchvar::NvKernel* kernels, unsigned count,
                                         void* descriptor) {
  const bool alone = inside.fetch_add(1) == 0;
  std::this_thread::yield();
  inside.fetch_sub(1);
  if (!alone || problem->k == kUnanswerableK) return 0;
  batchvar::NvKernel kernel = {};
  kernel.cta[0] = 64;
  kernel.cta[1] = 16;
  kernel.cta[2] = 32;
  kernel.warp[0] = static_cast<uint16_t>(flags);
  kernel.warp[1] = static_cast<uint16_t>(count);
  kernel.warp[2] = 16;
  kernel.instr[0] = static_cast<uint16_t>(problem->m);
  kernel.instr[1] = static_cast<uint16_t>(problem->n);
  kernel.instr[2] = 16;
  kernel.split_k = std::strcmp(types, "TST") == 0 ? 3 : 2;
  kernel.stages = static_cast<uint8_t>(target);
  kernel.grid_swizzle = problem->layout;
  kernel.cta_order = static_cast<uint8_t>(problem->batch);
  kernel.cluster[0] = static_cast<uint8_t>(static_cast<Descriptor*>(descriptor)->gpu / 1000);
  kernel.cluster[1] = static_cast<uint8_t>(questions.fetch_add(1) + 1);  // counts questions
  kernels[0] = kernel;
  return 1;
}

}  // extern "C"
