// The instruction models against plain loops over matrices.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/ptx.cuh"
#include "kernels/simt/device.h"
#include "sim/base/rng.h"
#include "sim/numerics/ordered_dot.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

std::string RunBlock(int32_t capability, uint64_t seed, uint32_t threads,
                     const std::function<void()>& body) {
  simt::SetDevice({capability, seed});
  return simt::RunGrid({{1, 1, 1}, {threads, 1, 1}, 4096}, body);
}

struct Matrices {
  DType dtype = DType::kBf16;
  uint16_t a[16][16];
  uint16_t b[8][16];  // [n][k]
  float c[16][8];
};

Matrices RandomMatrices(DType dtype, uint64_t seed) {
  RandomStream random(seed, "instruction_test");
  Matrices m;
  m.dtype = dtype;
  const auto word = [&] { return Narrow(static_cast<float>(random.NextNormal()), dtype); };
  for (auto& row : m.a) {
    for (uint16_t& x : row) x = word();
  }
  for (auto& row : m.b) {
    for (uint16_t& x : row) x = word();
  }
  for (auto& row : m.c) {
    for (float& x : row) x = static_cast<float>(random.NextNormal());
  }
  return m;
}

uint32_t Pair(uint16_t low, uint16_t high) { return low | static_cast<uint32_t>(high) << 16; }

// d += a b of one warp; fragments as the PTX ISA draws them (section "mma.m16n8k16").
template <DType kType>
void MultiplyOnWarp(const Matrices& m, int k, float (*d)[8]) {
  const int group = static_cast<int>(threadIdx.x) / 4;
  const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
  const auto a = [&](int row, int at) { return Pair(m.a[row][at], m.a[row][at + 1]); };
  const auto b = [&](int at) { return Pair(m.b[group][at], m.b[group][at + 1]); };
  float sum[4] = {m.c[group][pair], m.c[group][pair + 1], m.c[group + 8][pair],
                  m.c[group + 8][pair + 1]};
  if (k == 16) {
    const uint32_t of_a[4] = {a(group, pair), a(group + 8, pair), a(group, pair + 8),
                              a(group + 8, pair + 8)};
    const uint32_t of_b[2] = {b(pair), b(pair + 8)};
    ptx::MmaK16<kType>(sum, of_a, of_b);
  } else {
    ptx::MmaK8<kType>(sum, a(group, pair), a(group + 8, pair), b(pair));
  }
  d[group][pair] = sum[0], d[group][pair + 1] = sum[1];
  d[group + 8][pair] = sum[2], d[group + 8][pair + 1] = sum[3];
}

TEST(SimtInstruction, MmaHasTheBitsOfTheDevice) {
  for (const int32_t capability : {80, 89, 90}) {
    for (const DType dtype : {DType::kBf16, DType::kFp16}) {
      for (const int k : {16, 8}) {
        const Matrices m = RandomMatrices(dtype, 11 * k + capability);
        float d[16][8];
        ASSERT_EQ(RunBlock(capability, 5, 32,
                           [&] {
                             dtype == DType::kBf16 ? MultiplyOnWarp<DType::kBf16>(m, k, d)
                                                   : MultiplyOnWarp<DType::kFp16>(m, k, d);
                           }),
                  "");
        MmaModel model = MmaModelFor(capability, dtype);
        model.fused = std::min(model.fused, k);
        for (int row = 0; row < 16; ++row) {
          for (int column = 0; column < 8; ++column) {
            const float expected =
                ChainFused(model, {dtype, m.a[row], 1, m.b[column], 1}, 0, k, m.c[row][column]);
            ASSERT_EQ(BitsOf(d[row][column]), BitsOf(expected)) << capability << " " << k;
          }
        }
      }
    }
  }
}

TEST(SimtInstruction, LdMatrixTakesRowsToLanes) {
  std::vector<std::vector<uint32_t>> plain(32, std::vector<uint32_t>(4)), turned = plain;
  const auto body = [&] {
    BV_DYNAMIC_SHARED(bytes);
    uint16_t* words = reinterpret_cast<uint16_t*>(bytes);
    const uint32_t lane = threadIdx.x;
    for (uint16_t j = 0; j < 8; ++j) words[lane * 8 + j] = static_cast<uint16_t>(lane * 8 + j);
    __syncwarp();
    uint32_t registers[4];
    ptx::LdMatrixX4(registers, words + lane * 8);
    plain[lane].assign(registers, registers + 4);
    ptx::LdMatrixX4Transposed(registers, words + lane * 8);
    turned[lane].assign(registers, registers + 4);
  };
  ASSERT_EQ(RunBlock(80, 2, 32, body), "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      const auto word = [&](uint32_t row, uint32_t column) {
        return static_cast<uint16_t>(i * 64 + row * 8 + column);
      };
      const uint32_t row = lane / 4, column = lane % 4 * 2;
      EXPECT_EQ(plain[lane][i], Pair(word(row, column), word(row, column + 1)));
      EXPECT_EQ(turned[lane][i], Pair(word(column, row), word(column + 1, row)));
    }
  }
  EXPECT_EQ(simt::Counters().ldmatrix_conflicts, 0) << "rows that follow each other do not collide";
}

TEST(SimtInstruction, CountsBankConflicts) {
  const auto body = [&] {
    BV_DYNAMIC_SHARED(bytes);
    uint32_t registers[4];
    ptx::LdMatrixX4(registers, bytes + threadIdx.x * 128);  // one column of banks
  };
  ASSERT_EQ(RunBlock(80, 2, 32, body), "");
  EXPECT_EQ(simt::Counters().ldmatrix_wavefronts, 32);
  EXPECT_EQ(simt::Counters().ldmatrix_conflicts, 28);
}

TEST(SimtInstruction, RefusesAnOddAddress) {
  const auto body = [&] {
    BV_DYNAMIC_SHARED(bytes);
    uint32_t registers[4];
    ptx::LdMatrixX4(registers, bytes + 2);
  };
  EXPECT_THAT(RunBlock(80, 2, 32, body), HasSubstr("16-byte aligned"));
}

// How many of `seeds` runs read `expected` after waiting for all groups, or for all but one.
template <int kPending>
int RunsThatReadTheCopy(int seeds) {
  alignas(16) const uint16_t source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int right = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto body = [&] {
      BV_DYNAMIC_SHARED(bytes);
      ptx::CpAsync16(bytes, source, 6);
      ptx::CpAsyncCommit();
      ptx::CpAsyncWait<kPending>();
      const uint16_t expected[8] = {1, 2, 3, 0, 0, 0, 0, 0};
      right += std::memcmp(bytes, expected, 16) == 0;
    };
    EXPECT_EQ(RunBlock(80, static_cast<uint64_t>(seed), 1, body), "");
  }
  return right;
}

TEST(SimtInstruction, CpAsyncComesAtTheLatestWithItsWait) {
  EXPECT_EQ(RunsThatReadTheCopy<0>(32), 32);
  const int early = RunsThatReadTheCopy<1>(32);
  EXPECT_GT(early, 0) << "it may come at once";
  EXPECT_LT(early, 32) << "or not, and a wait that is too short shows";
}

}  // namespace
}  // namespace batchvar
