// The CUDA GEMM kernels on the shim against the definition (OrderedDot) and the CPU executor, bit
// for bit: seeded shapes with edges, orders, types, families of operands and orders of threads.
#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/gemm.h"
#include "sim/plan/gemm_policy.h"
#include "tests/kernels/random_order.h"
#include "tests/kernels/simt/cuda_gemm_run.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

// An order that a device of `capability` has instructions for.
Order DeviceOrder(int64_t k, DType dtype, int32_t capability, RandomStream* random) {
  Order order = RandomOrder(k, dtype, random);
  if (IsMma(order.arithmetic)) {
    order.arithmetic = capability >= 90 ? Arithmetic::kMmaSm90 : Arithmetic::kMmaSm80;
    order.instr_k = order.instr_k == 8 ? 8 : 0;
  }
  return order;
}

CudaGemmCase RandomCase(uint64_t seed) {
  RandomStream random = RandomStream::ForItem(seed, "cuda_gemm_test", 0);
  CudaGemmCase c;
  c.dtype = random.NextBelow(2) == 0 ? DType::kBf16 : DType::kFp16;
  c.family = kAllFamilies[random.NextBelow(std::size(kAllFamilies))];
  c.compute_capability = random.NextBelow(2) == 0 ? 80 : 90;
  c.m = 1 + random.NextBelow(17);
  c.n = 1 + random.NextBelow(90);
  c.k = 1 + random.NextBelow(200);
  if (random.NextBelow(2) == 0) c.k = (c.k + 7) / 8 * 8;  // rows that cp.async can copy
  FillOperands(&random, &c);
  const Order order = DeviceOrder(c.k, c.dtype, c.compute_capability, &random);
  c.strips = {{{0, c.n}, order}};
  if (order.combine != Combine::kButterfly && c.n > 3 && random.NextBelow(2) == 0) {
    // Columns of another order, combined alike; sometimes in one piece.
    Order other = order;
    const bool one_piece = order.pieces.size() > 1 && random.NextBelow(3) == 0;
    other.pieces = RandomPieces(c.k, one_piece ? 1 : order.pieces.size() + 1, 8, &random);
    if (order.pieces.size() > 1) {
      const int64_t cut = 1 + random.NextBelow(c.n - 1);
      c.strips = {{{0, cut}, order}, {{cut, c.n}, other}};
    }
  }
  c.options.tile = kMmaTiles[random.NextBelow(8) == 0 ? 2 : random.NextBelow(2)];
  c.options.num_units = random.NextBelow(3) == 0 ? 1 + random.NextBelow(7) : 0;
  return c;
}

CudaGemmResult CpuGemm(const CudaGemmCase& c, Isa isa, WorkerPool* pool) {
  const PackedMatrix weights = PackedMatrix::Pack(c.w.data(), c.n, c.k, c.dtype);
  CudaGemmResult result;
  result.sums.resize(c.m * c.n);
  std::vector<GemmRow> rows;
  for (int64_t row = 0; row < c.m; ++row) {
    rows.push_back({&c.x[row * c.k], c.strips, &result.sums[row * c.n]});
  }
  if (!ExecuteGemm(isa, weights, rows, pool).ok()) result.words = "float environment";
  for (const float sum : result.sums) result.y.push_back(Narrow(sum, c.strips[0].order.output));
  return result;
}

TEST(CudaGemm, EqualsTheDefinitionAndTheCpuExecutor) {
  WorkerPool pool(1);
  int64_t on_tensor_cores = 0, combined = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const CudaGemmCase c = RandomCase(seed);
    const CudaGemmResult cuda = RunCuda(c, seed);
    ASSERT_EQ(cuda.words, "") << "seed " << seed << ": " << c.Words();
    ASSERT_EQ(Differing(DefinedGemm(c), cuda), 0) << "seed " << seed << ": " << c.Words();
    for (const Isa isa : {Isa::kScalar, BestIsa()}) {
      ASSERT_EQ(Differing(CpuGemm(c, isa, &pool), cuda), 0)
          << IsaName(isa) << ", seed " << seed << ": " << c.Words();
    }
    on_tensor_cores += simt::Counters().matrix_instructions > 0;
    combined += c.strips[0].order.pieces.size() > 1;
    EXPECT_EQ(simt::Counters().ldmatrix_conflicts, 0) << c.Words();
  }
  EXPECT_GT(on_tensor_cores, 80);
  EXPECT_GT(combined, 60);
  EXPECT_EQ(simt::LiveAllocations(), 0);
}

// A split case of some size whose bits depend on every piece.
CudaGemmCase SplitCase(DType dtype, int32_t capability, Combine combine, int64_t pieces) {
  RandomStream random(17, "cuda_gemm_split");
  CudaGemmCase c;
  c.dtype = dtype;
  c.compute_capability = capability;
  c.m = 19, c.n = 72, c.k = 320;
  FillOperands(&random, &c);
  Order order;
  order.arithmetic = capability >= 90 ? Arithmetic::kMmaSm90 : Arithmetic::kMmaSm80;
  order.combine = combine;
  order.output = dtype;
  order.pieces.clear();
  for (int64_t p = 0; p < pieces; ++p) {
    order.pieces.push_back({c.k / 16 * p / pieces * 16, c.k / 16 * (p + 1) / pieces * 16});
  }
  c.strips = {{{0, c.n}, order}};
  return c;
}

TEST(CudaGemm, EveryCombineMatters) {
  constexpr Combine kCombines[] = {Combine::kSerialFp32, Combine::kSerial16bit, Combine::kPairwise,
                                   Combine::kTurnstile, Combine::kExactSum};
  for (const Combine combine : kCombines) {
    for (const int64_t pieces : {2, 3, 4, 7, 20}) {
      const CudaGemmCase c = SplitCase(DType::kBf16, 90, combine, pieces);
      EXPECT_EQ(Differing(DefinedGemm(c), RunCuda(c, pieces)), 0)
          << CombineName(combine) << " of " << pieces;
    }
  }
  CudaGemmCase reversed = SplitCase(DType::kBf16, 90, Combine::kSerialFp32, 7);
  const CudaGemmResult forward = RunCuda(reversed, 1);
  std::reverse(reversed.strips[0].order.pieces.begin(), reversed.strips[0].order.pieces.end());
  EXPECT_GT(Differing(forward, RunCuda(reversed, 1)), 0) << "the order of the list is the order";
}

TEST(CudaGemm, NeitherTilesNorUnitsNorThreadsChangeABit) {
  const CudaGemmCase c = SplitCase(DType::kFp16, 80, Combine::kTurnstile, 3);
  const CudaGemmResult expected = DefinedGemm(c);
  for (const Tile& tile : kMmaTiles) {
    for (const int32_t units : {0, 1, 3, 5, 1000}) {
      CudaGemmCase with = c;
      with.options.tile = tile;
      with.options.num_units = units;
      for (uint64_t seed = 0; seed < 3; ++seed) {
        ASSERT_EQ(Differing(expected, RunCuda(with, seed)), 0) << tile.m << " " << units;
      }
    }
  }
}

TEST(CudaGemm, LongChainsGoAroundTheRingOfStages) {
  for (const Tile& tile : kMmaTiles) {
    CudaGemmCase c = SplitCase(DType::kBf16, 90, Combine::kSerialFp32, 2);
    RandomStream random(5, "cuda_gemm_long");
    c.m = 3, c.n = 17, c.k = 1096;  // 17 tiles and a part
    c.strips = {{{0, c.n}, c.strips[0].order}};
    c.strips[0].order.pieces = {{0, 1000}, {1000, 1096}};
    FillOperands(&random, &c);
    c.options.tile = tile;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      ASSERT_EQ(Differing(DefinedGemm(c), RunCuda(c, seed)), 0) << tile.m << " " << seed;
    }
  }
}

// The planner's own orders: stream-K's tiles are cut differently, GEMV has lanes.
TEST(CudaGemm, ExecutesPlans) {
  DeviceSpec device;
  device.name = "a device of 5 SMs";
  device.compute_capability = 80;
  device.sm_count = 5;
  for (const GemmPolicyKind kind :
       {GemmPolicyKind::kTextbook, GemmPolicyKind::kStreamK, GemmPolicyKind::kGemv}) {
    for (const int64_t m : {1, 33}) {
      CudaGemmCase c;
      RandomStream random(m, "cuda_gemm_plan");
      c.m = m, c.n = 136, c.k = 520;
      FillOperands(&random, &c);
      const GemmPlan plan =
          MakeGemmPolicy(DefaultGemmPolicy(kind))->Plan({c.m, c.n, c.k, c.dtype}, device);
      GemmWork work;
      c.options.num_units = static_cast<int32_t>(plan.decision.sk_units);
      ASSERT_EQ(PlanGemmWork(c.m, c.n, c.k, RegionsOfPlan(plan), c.options, &work), "");
      const CudaGemmResult cuda = RunWork(c, work, 3);
      ASSERT_EQ(cuda.words, "");
      for (const GemmRegion& region : RegionsOfPlan(plan)) {
        for (int64_t row = region.out.m_begin; row < region.out.m_end; ++row) {
          for (int64_t column = region.out.n_begin; column < region.out.n_end; ++column) {
            const float sum =
                OrderedDot(*region.order, {c.dtype, &c.x[row * c.k], 1, &c.w[column * c.k], 1});
            ASSERT_EQ(BitsOf(cuda.sums[row * c.n + column]), BitsOf(sum)) << plan.policy;
          }
        }
      }
    }
  }
}

TEST(CudaGemm, LanesOfAGemvMeetBeyondAWarp) {
  for (const int32_t lanes : {2, 32, 64, 256}) {
    for (const int32_t width : {1, 4, 8, 16}) {
      RandomStream random(lanes + width, "cuda_gemm_lanes");
      CudaGemmCase c;
      c.dtype = width == 4 ? DType::kFp16 : DType::kBf16;
      c.m = 5, c.n = 7, c.k = 1000;
      FillOperands(&random, &c);
      Order order;
      order.arithmetic = Arithmetic::kFmaChain;
      order.combine = Combine::kButterfly;
      order.output = c.dtype;
      order.slice_k = lanes;
      order.block = lanes * width;
      order.pieces = {{0, c.k}};
      c.strips = {{{0, c.n}, order}};
      ASSERT_EQ(Differing(DefinedGemm(c), RunCuda(c, lanes)), 0) << lanes << " x " << width;
    }
  }
}

// wgmma and TMA: outputs with edges, rows that end within a tile, chains around the ring of stages,
// units of several items. mma.sync has the same bits on this device.
CudaGemmCase WgmmaCase(uint64_t seed) {
  RandomStream random = RandomStream::ForItem(seed, "cuda_gemm_wgmma", 0);
  CudaGemmCase c;
  c.dtype = random.NextBelow(2) == 0 ? DType::kBf16 : DType::kFp16;
  c.family = kAllFamilies[random.NextBelow(std::size(kAllFamilies))];
  c.compute_capability = 90;
  c.m = 1 + random.NextBelow(140);
  c.n = 1 + random.NextBelow(150);
  c.k = 8 * (1 + random.NextBelow(60));
  if (c.m > 64 && c.n > 64) c.k = c.k % 128 + 8;  // the shim takes a microsecond for 100 products
  FillOperands(&random, &c);
  Order order;
  order.output = c.dtype;
  const int64_t pieces = 1 + random.NextBelow(3);
  order.pieces = RandomPieces(c.k, pieces, kWgmmaTile.k, &random);
  if (pieces > 1) order.combine = Combine::kSerialFp32;
  c.strips = {{{0, c.n}, order}};
  c.options.tensor_core_kernel = GemmKernel::kWgmma;
  c.options.num_units = random.NextBelow(2) == 0 ? 1 + random.NextBelow(3) : 0;
  return c;
}

TEST(CudaGemm, WgmmaEqualsTheDefinitionAndMmaSync) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    CudaGemmCase c = WgmmaCase(seed);
    const CudaGemmResult wgmma = RunCuda(c, seed);
    ASSERT_EQ(wgmma.words, "") << "seed " << seed << ": " << c.Words();
    EXPECT_EQ(simt::Counters().ldmatrix_wavefronts, 0) << "this is not mma.sync";
    ASSERT_EQ(Differing(DefinedGemm(c), wgmma), 0) << "seed " << seed << ": " << c.Words();
    c.options.tensor_core_kernel = GemmKernel::kMma;
    if (seed % 4 == 0) {
      ASSERT_EQ(Differing(RunCuda(c, seed), wgmma), 0) << c.Words();
    }
  }
}

TEST(CudaGemm, WgmmaGoesAroundTheRingOfStages) {
  CudaGemmCase c = SplitCase(DType::kBf16, 90, Combine::kSerialFp32, 2);
  RandomStream random(6, "cuda_gemm_long");
  c.m = 5, c.n = 9, c.k = 64 * 11 + 8;
  c.strips = {{{0, c.n}, c.strips[0].order}};
  c.strips[0].order.pieces = {{64 * 7, c.k}, {0, 64 * 7}};
  FillOperands(&random, &c);
  c.options.tensor_core_kernel = GemmKernel::kWgmma;
  c.options.num_units = 1;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    ASSERT_EQ(Differing(DefinedGemm(c), RunCuda(c, seed)), 0) << seed;
  }
  c.compute_capability = 100;
  EXPECT_THAT(RunCuda(c, 0).words, HasSubstr("wgmma is sm_90a's; this device is sm_100"));
}

// Every product underflows to -0, and so does the sum; a product of zeros would make it +0.
TEST(CudaGemm, AnFmaChainAddsNothingBeyondItsEnd) {
  for (const int64_t k : {1, 7, 12, 32, 45, 136}) {
    for (const Combine combine : {Combine::kNone, Combine::kButterfly}) {
      CudaGemmCase c;
      c.m = 2, c.n = 3, c.k = k;
      c.x.assign(c.m * k, Bf16Of(0x1p-100f));
      c.w.assign(c.n * k, Bf16Of(-0x1p-100f));
      Order order;
      order.arithmetic = Arithmetic::kFmaChain;
      order.combine = combine;
      order.slice_k = combine == Combine::kButterfly ? 2 : 1;
      order.block = combine == Combine::kButterfly ? 2 : 0;
      order.pieces = {{0, k}};
      c.strips = {{{0, c.n}, order}};
      const CudaGemmResult cuda = RunCuda(c, 1);
      ASSERT_EQ(Differing(DefinedGemm(c), cuda), 0) << k;
      if (k > 1) {
        EXPECT_EQ(BitsOf(cuda.sums[0]), kFp32Sign) << k;
      }
    }
  }
}

TEST(CudaGemm, RefusesOtherTensorCores) {
  CudaGemmCase c = SplitCase(DType::kBf16, 90, Combine::kSerialFp32, 2);
  c.compute_capability = 80;
  EXPECT_THAT(RunCuda(c, 0).words,
              HasSubstr("other tensor cores than those of this device, sm_80"));
}

TEST(CudaGemm, RefusesOperandsThatItCannotRead) {
  const CudaGemmCase c = SplitCase(DType::kBf16, 80, Combine::kSerialFp32, 2);
  GemmWork work;
  ASSERT_EQ(PlanGemmWork(c.m, c.n, c.k, RegionsOf(c), c.options, &work), "");
  simt::SetDevice({80, 0});
  GemmBuffers buffers;
  GemmOperands operands{c.dtype, c.x.data(), c.w.data(), nullptr, nullptr};
  EXPECT_THAT(LaunchGemm(work, buffers, operands, nullptr).words, HasSubstr("no output"));
  std::vector<float> sums(c.m * c.n);
  operands.sums = sums.data();
  EXPECT_THAT(LaunchGemm(work, buffers, operands, nullptr).words, HasSubstr("not this work's"));
  operands.x = c.x.data() + 1;
  EXPECT_THAT(LaunchGemm(work, buffers, operands, nullptr).words, HasSubstr("16 bytes"));
  operands.dtype = DType::kFp8E4m3;
  EXPECT_THAT(LaunchGemm(work, buffers, operands, nullptr).words, HasSubstr("bf16 or fp16"));
}

}  // namespace
}  // namespace batchvar
