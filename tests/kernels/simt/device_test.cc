// The runtime that the shim plays: memory, limits of a launch, faults as CUDA errors.
#include "kernels/simt/device.h"

#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/cuda_status.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

__global__ void AddOne(int* numbers, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) numbers[i] += 1;
}

__global__ void MeetInPart() {
  if (threadIdx.x == 0) __syncthreads();
}

cudaLaunchConfig_t ConfigOf(uint32_t blocks, uint32_t threads, size_t shared_bytes = 0) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  return config;
}

TEST(SimtDevice, LaunchesOnItsMemory) {
  simt::SetDevice({80, 1});
  std::vector<int> numbers(100, 41);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 400), cudaSuccess);
  ASSERT_EQ(simt::LiveAllocations(), 1);
  int junk = 0;
  std::memcpy(&junk, memory, 4);
  EXPECT_NE(junk, 0) << "fresh memory is not zeros";
  ASSERT_EQ(cudaMemcpyAsync(memory, numbers.data(), 400, cudaMemcpyHostToDevice, nullptr),
            cudaSuccess);
  const cudaLaunchConfig_t config = ConfigOf(4, 32);
  ASSERT_EQ(cudaLaunchKernelEx(&config, &AddOne, static_cast<int*>(memory), 100), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(numbers.data(), memory, 400, cudaMemcpyDeviceToHost, nullptr),
            cudaSuccess);
  EXPECT_THAT(numbers, testing::Each(42));
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(simt::LiveAllocations(), 0);
}

cudaError_t LaunchWith(const cudaLaunchConfig_t& config) {
  return cudaLaunchKernelEx(&config, &AddOne, static_cast<int*>(nullptr), 0);
}

TEST(SimtDevice, RefusesWhatAGpuRefuses) {
  simt::SetDevice({80, 1});
  EXPECT_EQ(LaunchWith(ConfigOf(1, 1025)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(LaunchWith(ConfigOf(0, 32)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(LaunchWith(ConfigOf(1, 32, 64 * 1024)), cudaErrorInvalidConfiguration)
      << "more than 48 KiB of shared memory has to be asked for";
  const auto allow = [](int bytes) {
    return cudaFuncSetAttribute(&AddOne, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  };
  EXPECT_EQ(allow(200 * 1024), cudaErrorInvalidValue) << "sm_80 has 163 KiB";
  EXPECT_EQ(allow(64 * 1024), cudaSuccess);
  EXPECT_EQ(LaunchWith(ConfigOf(1, 32, 64 * 1024)), cudaSuccess);
  simt::SetDevice({90, 1});
  EXPECT_EQ(allow(200 * 1024), cudaSuccess);
}

CudaStatus TryMeeting() {
  const cudaLaunchConfig_t config = ConfigOf(1, 32);
  BV_CUDA_TRY(cudaLaunchKernelEx(&config, &MeetInPart));
  return {};
}

TEST(SimtDevice, AFaultIsALaunchFailureWithItsPlace) {
  simt::SetDevice({80, 1});
  const CudaStatus status = TryMeeting();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.words, HasSubstr("device_test.cc:"));
  EXPECT_THAT(status.words, HasSubstr("cudaLaunchKernelEx(&config, &MeetInPart)"));
  EXPECT_THAT(status.words, HasSubstr("unspecified launch failure"));
  EXPECT_THAT(simt::LastFault(), HasSubstr("deadlock"));
}

}  // namespace
}  // namespace batchvar
