// The models of sm_90a's instructions: barriers of shared memory, copies of boxes, matrices of a
// warpgroup.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/ptx_sm90.cuh"
#include "kernels/simt/device.h"
#include "sim/base/rng.h"
#include "sim/numerics/ordered_dot.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

constexpr size_t kSharedBytes = 40 * 1024;

std::string RunBlock(uint64_t seed, uint32_t threads, const std::function<void()>& body) {
  simt::SetDevice({90, seed});
  return simt::RunGrid({{1, 1, 1}, {threads, 1, 1}, kSharedBytes}, body);
}

TEST(SimtMbarrier, OrdersAPhaseAfterItsArrivals) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    int produced = 0, wrong = 0;
    const auto body = [&] {
      BV_STATIC_SHARED(uint64_t, full);
      BV_STATIC_SHARED(uint64_t, empty);
      if (threadIdx.x == 0) ptx::MbarrierInit(&full, 1), ptx::MbarrierInit(&empty, 31);
      __syncthreads();
      for (uint32_t round = 0; round < 4; ++round) {
        if (threadIdx.x == 0) {
          ptx::MbarrierWait(&empty, (round & 1) ^ 1);
          ++produced;
          ptx::MbarrierArrive(&full);
        } else {
          ptx::MbarrierWait(&full, round & 1);
          wrong += produced != static_cast<int>(round) + 1;
          ptx::MbarrierArrive(&empty);
        }
      }
    };
    ASSERT_EQ(RunBlock(seed, 32, body), "");
    EXPECT_EQ(produced, 4);
    EXPECT_EQ(wrong, 0);
  }
}

TEST(SimtMbarrier, TellsWhatIsMissing) {
  EXPECT_THAT(RunBlock(0, 1,
                       [] {
                         BV_STATIC_SHARED(uint64_t, barrier);
                         ptx::MbarrierArrive(&barrier);
                       }),
              HasSubstr("nobody has initialised"));
  EXPECT_THAT(RunBlock(0, 1,
                       [] {
                         BV_STATIC_SHARED(uint64_t, barrier);
                         ptx::MbarrierInit(&barrier, 2);
                         ptx::MbarrierArrive(&barrier);
                         ptx::MbarrierWait(&barrier, 0);
                       }),
              HasSubstr("1 of 1 threads (the first is 0) wait in a wait for an mbarrier"));
}

// A [rows][k] matrix of random words.
std::vector<uint16_t> RandomMatrix(int rows, int k, uint64_t seed) {
  RandomStream random(seed, "sm90_test");
  std::vector<uint16_t> words(rows * k);
  for (uint16_t& word : words) word = Bf16Of(static_cast<float>(random.NextNormal()));
  return words;
}

CUtensorMap MapOf(const std::vector<uint16_t>& words, int rows, int k, int box_rows) {
  return {words.data(), k, rows, k, 64, box_rows, {}};
}

// Brings a box at (x, y) by TMA and waits for it, all by thread 0.
void Bring(uint8_t* tile, const CUtensorMap& map, int x, int y) {
  BV_STATIC_SHARED(uint64_t, barrier);
  ptx::MbarrierInit(&barrier, 1);
  ptx::MbarrierArriveExpect(&barrier, static_cast<uint32_t>(map.box_y) * 128);
  ptx::TmaLoad2d(tile, &map, &barrier, x, y);
  ptx::MbarrierWait(&barrier, 0);
}

TEST(SimtTma, SwizzlesAndFillsWithZeros) {
  const std::vector<uint16_t> words = RandomMatrix(20, 80, 1);
  const CUtensorMap map = MapOf(words, 20, 80, 16);
  const auto body = [&] {
    BV_DYNAMIC_SHARED(shared);
    Bring(shared + 1024, map, 40, 8);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 64; ++column) {
        const bool inside = row + 8 < 20 && column + 40 < 80;
        const uint16_t expected = inside ? words[(row + 8) * 80 + column + 40] : uint16_t{0};
        uint16_t word;
        std::memcpy(&word, shared + 1024 + row * 128 + (column / 8 ^ row % 8) * 16 + column % 8 * 2,
                    2);
        ASSERT_EQ(word, expected) << row << " " << column;
      }
    }
  };
  EXPECT_EQ(RunBlock(3, 1, body), "");
}

TEST(SimtWgmma, AddsInTheOrderOfTheChainAtTheLatestWithTheWait) {
  constexpr int kK = 64;
  const std::vector<uint16_t> a = RandomMatrix(64, kK, 2), b = RandomMatrix(128, kK, 3);
  const CUtensorMap a_map = MapOf(a, 64, kK, 64), b_map = MapOf(b, 128, kK, 128);
  int early = 0, differing = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto body = [&] {
      BV_DYNAMIC_SHARED(shared);
      if (threadIdx.x == 0) {
        Bring(shared, a_map, 0, 0);
        Bring(shared + 8192, b_map, 0, 0);
      }
      __syncthreads();
      float d[ptx::kWgmmaSums] = {};
      ptx::WgmmaFence();
      for (uint64_t step = 0; step < kK / 16; ++step) {
        ptx::WgmmaN128<DType::kBf16>(d, ptx::TileDescriptor(shared) + 2 * step,
                                     ptx::TileDescriptor(shared + 8192) + 2 * step);
      }
      ptx::WgmmaCommit();
      early += d[0] == 0.0f;
      ptx::WgmmaWait<0>();
      const int thread = static_cast<int>(threadIdx.x);
      for (int e = 0; e < ptx::kWgmmaSums; ++e) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + e / 2 % 2 * 8;
        const int column = e / 4 * 8 + thread % 4 * 2 + e % 2;
        const float expected = ChainFused(
            kMmaModelSm90, {DType::kBf16, &a[row * kK], 1, &b[column * kK], 1}, 0, kK, 0);
        differing += BitsOf(d[e]) != BitsOf(expected);
      }
    };
    ASSERT_EQ(RunBlock(seed, 128, body), "");
  }
  EXPECT_EQ(differing, 0);
  EXPECT_GT(early, 0) << "some sums come only with the wait";
  EXPECT_LT(early, 4 * 128);
}

}  // namespace
}  // namespace batchvar
