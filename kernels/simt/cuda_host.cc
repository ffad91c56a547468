#include "kernels/simt/cuda_host.h"

#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/simt/device.h"

namespace batchvar::simt {
namespace {

constexpr size_t kAllocationAlignment = 256;  // what cudaMalloc promises
constexpr uint32_t kMaxGridX = 0x7FFFFFFF;
constexpr uint32_t kMaxGridYz = 65535;

struct HostState {
  std::map<const void*, int> shared_allowed;
  std::string fault;
  int64_t live_allocations = 0;
};

HostState& ThisHost() {
  thread_local HostState state;
  return state;
}

bool IsLaunchable(const cudaLaunchConfig_t& config, const void* kernel) {
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > kMaxGridX) return false;
  if (grid.y > kMaxGridYz || grid.z > kMaxGridYz) return false;
  if (threads == 0 || threads > kMaxThreads || block.z > 64) return false;
  const auto allowed = ThisHost().shared_allowed.find(kernel);
  const int limit =
      allowed == ThisHost().shared_allowed.end() ? kSharedBytesWithoutAsking : allowed->second;
  return config.dynamicSmemBytes <= static_cast<size_t>(limit);
}

}  // namespace

const std::string& LastFault() { return ThisHost().fault; }
int64_t LiveAllocations() { return ThisHost().live_allocations; }

cudaError_t AllowShared(const void* kernel, int bytes) {
  if (bytes < 0 || bytes > SharedBytesOptIn()) return cudaErrorInvalidValue;
  ThisHost().shared_allowed[kernel] = std::max(bytes, kSharedBytesWithoutAsking);
  return cudaSuccess;
}

cudaError_t LaunchBody(const cudaLaunchConfig_t& config, const void* kernel,
                       const std::function<void()>& body) {
  if (!IsLaunchable(config, kernel)) return cudaErrorInvalidConfiguration;
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  const GridShape shape{
      {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, config.dynamicSmemBytes};
  ThisHost().fault = RunGrid(shape, body);
  return ThisHost().fault.empty() ? cudaSuccess : cudaErrorLaunchFailure;
}

}  // namespace batchvar::simt

using batchvar::simt::ThisHost;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
  }
  return "unknown error";
}

// Fresh memory is junk, as on a GPU: a kernel that reads what nobody wrote has other bits.
cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (posix_memalign(pointer, batchvar::simt::kAllocationAlignment, bytes) != 0) {
    return cudaErrorMemoryAllocation;
  }
  std::memset(*pointer, batchvar::simt::Block::kJunk, bytes);
  ++ThisHost().live_allocations;
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (pointer != nullptr) --ThisHost().live_allocations;
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (bytes != 0 && (to == nullptr || from == nullptr)) return cudaErrorInvalidValue;
  if (bytes != 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  constexpr int kMultiprocessors = 4;  // few, so that stream-K has something to share out
  const int capability = batchvar::simt::Device().compute_capability;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = kMultiprocessors; break;
    case cudaDevAttrComputeCapabilityMajor: *value = capability / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability % 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = batchvar::simt::SharedBytesOptIn();
      break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
