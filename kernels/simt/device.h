// The device that the shim plays: its generation decides what a tensor-core instruction does to
// bits, its seed in which order threads and copies come. One for each OS thread; tests set it.
#ifndef BATCHVAR_KERNELS_SIMT_DEVICE_H_
#define BATCHVAR_KERNELS_SIMT_DEVICE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/simt/block.h"

namespace batchvar::simt {

struct SimtDevice {
  int32_t compute_capability = 80;  // 10 * major + minor
  uint64_t seed = 0;
};

// What kernels did since SetDevice. A wavefront is what shared memory serves in one cycle.
struct SimtCounters {
  int64_t launches = 0;
  int64_t blocks = 0;
  int64_t matrix_instructions = 0;  // mma.sync of a warp, wgmma of a warpgroup
  int64_t ldmatrix_wavefronts = 0;
  int64_t ldmatrix_conflicts = 0;  // wavefronts beyond one for each 8 x 8 matrix
  int64_t async_copies = 0;        // cp.async of a thread
};

void SetDevice(const SimtDevice& device);
const SimtDevice& Device();
SimtCounters& Counters();

// Shared memory that a block of this device may ask for, and what it gets without asking.
int32_t SharedBytesOptIn();
inline constexpr int32_t kSharedBytesWithoutAsking = 48 * 1024;

struct GridShape {
  Index3 grid;
  Index3 threads;
  size_t dynamic_shared_bytes = 0;
};

// Runs body for every thread of every block, block after block in an order drawn from the seed.
// "" or the fault that ended it; then the remaining blocks were not run.
std::string RunGrid(const GridShape& shape, const std::function<void()>& body);

}  // namespace batchvar::simt

#endif  // BATCHVAR_KERNELS_SIMT_DEVICE_H_
