// The shim's threads: every index once, barriers that order, faults that are told, and missing
// barriers that show.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/simt/device.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

std::string RunBlock(uint32_t threads, uint64_t seed, const std::function<void()>& body,
                     size_t shared_bytes = 0) {
  simt::SetDevice({80, seed});
  return simt::RunGrid({{1, 1, 1}, {threads, 1, 1}, shared_bytes}, body);
}

TEST(SimtBlock, RunsEveryThreadOfEveryBlockOnce) {
  simt::SetDevice({80, 3});
  std::vector<int> seen(2 * 3 * 2 * 8 * 4 * 2);
  const auto body = [&] {
    const uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    ++seen[block * (8 * 4 * 2) + thread];
  };
  EXPECT_EQ(simt::RunGrid({{2, 3, 2}, {8, 4, 2}, 0}, body), "");
  for (const int count : seen) EXPECT_EQ(count, 1);
  EXPECT_EQ(simt::Counters().blocks, 12);
}

// Each thread writes its number and reads its neighbour's.
std::vector<int> Neighbours(uint64_t seed, bool with_barrier) {
  constexpr int kThreads = 64;
  std::vector<int> read(kThreads, -1);
  const auto body = [&] {
    using Numbers = int[kThreads];
    BV_STATIC_SHARED(Numbers, numbers);
    const uint32_t t = threadIdx.x;
    numbers[t] = static_cast<int>(t);
    if (with_barrier) __syncthreads();
    read[t] = numbers[(t + 1) % kThreads];
  };
  EXPECT_EQ(RunBlock(kThreads, seed, body), "");
  return read;
}

TEST(SimtBlock, ABarrierOrdersAndAMissingOneShows) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const std::vector<int> right = Neighbours(seed, true);
    for (int t = 0; t < 64; ++t) EXPECT_EQ(right[t], (t + 1) % 64);
    EXPECT_NE(Neighbours(seed, false), right);
  }
  EXPECT_NE(Neighbours(1, false), Neighbours(2, false)) << "the order is drawn from the seed";
  EXPECT_EQ(Neighbours(1, false), Neighbours(1, false)) << "and from nothing else";
}

TEST(SimtBlock, TellsADivergentBarrier) {
  const std::string words = RunBlock(64, 0, [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });
  EXPECT_THAT(words, HasSubstr("divergent"));
  EXPECT_THAT(words, HasSubstr("tests/kernels/simt/barrier_test.cc:"));
}

TEST(SimtBlock, TellsABarrierThatNotAllReach) {
  const std::string words = RunBlock(64, 0, [] {
    if (threadIdx.x != 7) __syncthreads();
  });
  EXPECT_THAT(words, HasSubstr("deadlock"));
  EXPECT_THAT(words, HasSubstr("63 of 64 threads"));
  EXPECT_THAT(words, HasSubstr("1 have ended"));
  EXPECT_EQ(RunBlock(64, 0, [] { __syncthreads(); }), "") << "the next launch is not affected";
}

TEST(SimtBlock, TellsLanesInDifferentCollectives) {
  const std::string apart = RunBlock(32, 0, [] {
    if (threadIdx.x < 16) {
      __syncwarp();
    } else {
      __shfl_sync(0xFFFFFFFF, 1, 0);
    }
  });
  EXPECT_THAT(apart, HasSubstr("divergent"));
  const std::string masks =
      RunBlock(32, 0, [] { __syncwarp(threadIdx.x < 8 ? 0xFF : 0xFFFFFFFF); });
  EXPECT_THAT(masks, HasSubstr("under another mask"));
  const std::string stranger = RunBlock(32, 0, [] { __syncwarp(0xFF); });
  EXPECT_THAT(stranger, HasSubstr("not in the mask"));
}

TEST(SimtBlock, WarpsMeetOnTheirOwn) {
  std::vector<uint32_t> got(64);
  const auto body = [&] {
    const uint32_t t = threadIdx.x;
    uint32_t value = __shfl_xor_sync(0xFFFFFFFF, t, 5);
    if (t < 32) value += __shfl_down_sync(0xFFFFFFFF, t, 3);
    got[t] = value;
  };
  EXPECT_EQ(RunBlock(64, 9, body), "");
  for (uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(got[t], (t ^ 5) + (t >= 32 ? 0 : t + 3 < 32 ? t + 3 : t));
  }
}

TEST(SimtBlock, ShufflesVotesAndHalfWarps) {
  std::vector<float> rows(32);
  std::vector<uint32_t> votes(32);
  std::vector<int> ups(32);
  const auto body = [&] {
    const int lane = static_cast<int>(threadIdx.x);
    rows[lane] = __shfl_sync(0xFFFFFFFF, static_cast<float>(lane), 2, 8);
    ups[lane] = __shfl_up_sync(0xFFFFFFFF, lane, 1, 16);
    // Two halves of the warp at once.
    votes[lane] = __ballot_sync(lane < 16 ? 0x0000FFFF : 0xFFFF0000, lane % 3 == 0);
  };
  EXPECT_EQ(RunBlock(32, 4, body), "");
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(rows[lane], static_cast<float>(lane / 8 * 8 + 2));
    EXPECT_EQ(ups[lane], lane % 16 == 0 ? lane : lane - 1);
    uint32_t expected = 0;
    for (int other = lane / 16 * 16; other < lane / 16 * 16 + 16; ++other) {
      if (other % 3 == 0) expected |= 1u << other;
    }
    EXPECT_EQ(votes[lane], expected);
  }
}

TEST(SimtBlock, SharedMemoryBeginsAsJunk) {
  int junk = 0;
  const auto body = [&] {
    BV_DYNAMIC_SHARED(bytes);
    BV_STATIC_SHARED(int, word);
    junk += bytes[99] == simt::Block::kJunk && word != 0;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 1024, 0u);
    bytes[99] = 1;
    word = 0;
  };
  simt::SetDevice({80, 0});
  EXPECT_EQ(simt::RunGrid({{5, 1, 1}, {1, 1, 1}, 100}, body), "");
  EXPECT_EQ(junk, 5) << "nothing is left over from the block before";
}

#if defined(__SANITIZE_ADDRESS__)
TEST(SimtBlockDeathTest, AddressSanitizerSeesTheEndOfSharedMemory) {
  const auto body = [] {
    BV_DYNAMIC_SHARED(bytes);
    volatile uint8_t* beyond = bytes + 100;
    *beyond = 1;
  };
  EXPECT_DEATH(RunBlock(32, 0, body, 100), "heap-buffer-overflow");
}
#endif

}  // namespace
}  // namespace batchvar
