// ExecuteGemm against OrderedDot, bit for bit: every instruction set, random orders, shapes, types
// and families of operands; threads; and the float environment.
#include "kernels/cpu/gemm.h"

#include <cfenv>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/numerics/ordered_dot.h"
#include "tests/kernels/operands.h"
#include "tests/kernels/random_order.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace batchvar {
namespace {

// Operands of one GEMM and what each row is summed by.
struct Case {
  DType dtype = DType::kBf16;
  Family family = Family::kGaussian;
  int64_t m = 1, n = 1, k = 1;
  std::vector<uint16_t> x;  // [m][k]
  std::vector<uint16_t> w;  // [n][k]
  std::vector<std::vector<OrderStrip>> plans;
  std::vector<size_t> plan_of_row;

  std::string Words() const {
    return std::string(FamilyName(family)) + " " + DTypeName(dtype) + " " + std::to_string(m) +
           " x " + std::to_string(n) + " x " + std::to_string(k);
  }
};

Case RandomCase(uint64_t seed) {
  RandomStream random = RandomStream::ForItem(seed, "gemm_test", 0);
  Case c;
  c.dtype = random.NextBelow(2) == 0 ? DType::kBf16 : DType::kFp16;
  c.family = kAllFamilies[random.NextBelow(std::size(kAllFamilies))];
  c.m = random.NextBelow(3) == 0 ? 1 + random.NextBelow(2) : 1 + random.NextBelow(20);
  c.n = 1 + random.NextBelow(80);
  c.k = 1 + random.NextBelow(300);
  c.x = RandomOperands(c.family, c.dtype, 1.0, c.m, c.k, &random);
  // Half of the time the weights are tame, so that odd activations meet the fast path.
  const Family of_w = random.NextBelow(2) == 0 ? c.family : Family::kGaussian;
  c.w = RandomOperands(of_w, c.dtype, 0.03, c.n, c.k, &random);
  const int64_t num_plans = 1 + random.NextBelow(2);
  for (int64_t p = 0; p < num_plans; ++p) {
    std::vector<OrderStrip> strips;
    int64_t begin = 0;
    while (begin < c.n) {
      const int64_t end = std::min<int64_t>(c.n, begin + 1 + random.NextBelow(c.n));
      strips.push_back({{begin, end}, RandomOrder(c.k, c.dtype, &random)});
      begin = end;
    }
    c.plans.push_back(strips);
  }
  for (int64_t row = 0; row < c.m; ++row) c.plan_of_row.push_back(random.NextBelow(num_plans));
  return c;
}

std::vector<float> Expected(const Case& c) {
  std::vector<float> out(c.m * c.n);
  for (int64_t row = 0; row < c.m; ++row) {
    for (const OrderStrip& strip : c.plans[c.plan_of_row[row]]) {
      for (int64_t column = strip.columns.begin; column < strip.columns.end; ++column) {
        out[row * c.n + column] =
            OrderedDot(strip.order, {c.dtype, &c.x[row * c.k], 1, &c.w[column * c.k], 1});
      }
    }
  }
  return out;
}

std::vector<float> Executed(const Case& c, Isa isa, WorkerPool* pool, GemmOutcome* outcome) {
  const PackedMatrix weights = PackedMatrix::Pack(c.w.data(), c.n, c.k, c.dtype);
  std::vector<float> out(c.m * c.n, -1.0f);
  std::vector<GemmRow> rows;
  for (int64_t row = 0; row < c.m; ++row) {
    rows.push_back({&c.x[row * c.k], c.plans[c.plan_of_row[row]], &out[row * c.n]});
  }
  *outcome = ExecuteGemm(isa, weights, rows, pool);
  return out;
}

int64_t Differing(const std::vector<float>& a, const std::vector<float>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += BitsOf(a[i]) != BitsOf(b[i]);
  return count;
}

class GemmOnIsa : public testing::TestWithParam<Isa> {};

INSTANTIATE_TEST_SUITE_P(Isas, GemmOnIsa, testing::ValuesIn(kAllIsas),
                         [](const auto& isa) { return std::string(IsaName(isa.param)); });

TEST_P(GemmOnIsa, EqualsTheDefinition) {
  if (!HasIsa(GetParam())) GTEST_SKIP() << "this CPU has no " << IsaName(GetParam());
  WorkerPool one(1), two(2);
  int64_t fallbacks = 0, sums = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Case c = RandomCase(seed);
    GemmOutcome outcome;
    const std::vector<float> expected = Expected(c);
    const std::vector<float> out = Executed(c, GetParam(), &one, &outcome);
    ASSERT_TRUE(outcome.ok());
    ASSERT_EQ(Differing(expected, out), 0) << "seed " << seed << ": " << c.Words();
    EXPECT_LE(outcome.fallbacks, outcome.fused_sums) << c.Words();
    fallbacks += outcome.fallbacks;
    sums += outcome.fused_sums;
    GemmOutcome of_two;
    ASSERT_EQ(Differing(expected, Executed(c, GetParam(), &two, &of_two)), 0) << seed;
    ASSERT_EQ(of_two.fallbacks, outcome.fallbacks) << seed;
  }
  RecordProperty("fallbacks", std::to_string(fallbacks) + " of " + std::to_string(sums));
}

// One row and one plan of a usual shape: what a model's layers look like.
Case LayerCase(Family family, DType dtype, int64_t m, Arithmetic arithmetic) {
  RandomStream random = RandomStream::ForItem(7, "gemm_test_layer", m);
  Case c;
  c.dtype = dtype;
  c.family = family;
  c.m = m, c.n = 96, c.k = 576;
  c.x = RandomOperands(family, dtype, 1.0, c.m, c.k, &random);
  c.w = RandomOperands(family, dtype, 0.03, c.n, c.k, &random);
  Order order;
  order.arithmetic = arithmetic;
  order.output = dtype;
  order.combine = Combine::kSerialFp32;
  order.pieces = {{0, 288}, {288, 576}};
  c.plans = {{{{0, c.n}, order}}};
  c.plan_of_row.assign(m, 0);
  return c;
}

TEST_P(GemmOnIsa, TakesTheFastPathForOrdinaryNumbers) {
  if (!HasIsa(GetParam())) GTEST_SKIP() << "this CPU has no " << IsaName(GetParam());
  WorkerPool pool(1);
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    for (const Arithmetic arithmetic : {Arithmetic::kMmaSm80, Arithmetic::kMmaSm90}) {
      for (const int64_t m : {1, 2, 3, 7, 17}) {
        for (const Family family :
             {Family::kGaussian, Family::kOutliers, Family::kCancelling, Family::kZeros}) {
          const Case c = LayerCase(family, dtype, m, arithmetic);
          GemmOutcome outcome;
          ASSERT_EQ(Differing(Expected(c), Executed(c, GetParam(), &pool, &outcome)), 0)
              << c.Words();
          EXPECT_EQ(outcome.fallbacks, 0) << c.Words();  // zeros among them
          EXPECT_GT(outcome.fused_sums, 0);
        }
      }
    }
  }
}

TEST_P(GemmOnIsa, CountsItsFallbacks) {
  if (GetParam() == Isa::kScalar) GTEST_SKIP() << "the reference has none";
  if (!HasIsa(GetParam())) GTEST_SKIP() << "this CPU has no " << IsaName(GetParam());
  WorkerPool pool(1);
  for (const Family family : {Family::kSpecials, Family::kBits}) {
    const Case c = LayerCase(family, DType::kBf16, 5, Arithmetic::kMmaSm90);
    GemmOutcome outcome;
    EXPECT_EQ(Differing(Expected(c), Executed(c, GetParam(), &pool, &outcome)), 0);
    EXPECT_GT(outcome.fallbacks, 0) << c.Words();
    EXPECT_LE(outcome.fallbacks, outcome.fused_sums);
  }
}

TEST(Gemm, LeavesOtherColumnsAlone) {
  Case c = LayerCase(Family::kGaussian, DType::kBf16, 3, Arithmetic::kMmaSm90);
  c.plans[0][0].columns = {40, 50};
  WorkerPool pool(1);
  GemmOutcome outcome;
  const std::vector<float> out = Executed(c, BestIsa(), &pool, &outcome);
  const std::vector<float> expected = Expected(c);
  for (int64_t i = 0; i < c.m * c.n; ++i) {
    const bool asked = i % c.n >= 40 && i % c.n < 50;
    EXPECT_EQ(BitsOf(out[i]), BitsOf(asked ? expected[i] : -1.0f)) << i;
  }
}

FloatFault FaultOfGemm() {
  const Case c = LayerCase(Family::kGaussian, DType::kBf16, 1, Arithmetic::kMmaSm90);
  WorkerPool pool(2);
  GemmOutcome outcome;
  Executed(c, BestIsa(), &pool, &outcome);
  return outcome.fault;
}

TEST(Gemm, RefusesAnotherFloatEnvironment) {
  EXPECT_EQ(FaultOfGemm(), FloatFault::kNone);
  std::fesetround(FE_TOWARDZERO);
  const FloatFault rounding = FaultOfGemm();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FloatFault::kRounding);
#if defined(__x86_64__)
  const uint32_t mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8000);
  const FloatFault ftz = FaultOfGemm();
  _mm_setcsr(mode | 0x0040);
  const FloatFault daz = FaultOfGemm();
  _mm_setcsr(mode);
  EXPECT_EQ(ftz, FloatFault::kFlushToZero);
  EXPECT_EQ(daz, FloatFault::kDenormalsAreZero);
  EXPECT_NE(std::string(FloatFaultMessage(ftz)).find("FTZ"), std::string::npos);
#endif
  EXPECT_EQ(FaultOfGemm(), FloatFault::kNone);
}

#if defined(__x86_64__)
// A thread that something else put into flush-to-zero after the pool had begun.
TEST(Gemm, AsksEveryWorkerThread) {
  WorkerPool pool(2);
  std::atomic<int> arrived = 0;
  pool.Run(2, [&](int64_t, int32_t worker) {
    ++arrived;
    while (arrived < 2) {  // so that each thread takes one of the two jobs
    }
    if (worker == 1) _mm_setcsr(_mm_getcsr() | 0x8000);
  });
  Case c = LayerCase(Family::kGaussian, DType::kBf16, 64, Arithmetic::kMmaSm90);
  FloatFault fault = FloatFault::kNone;
  for (int i = 0; i < 1000 && fault == FloatFault::kNone; ++i) {  // until it gets a job
    GemmOutcome outcome;
    Executed(c, BestIsa(), &pool, &outcome);
    fault = outcome.fault;
  }
  EXPECT_EQ(fault, FloatFault::kFlushToZero);
}
#endif

}  // namespace
}  // namespace batchvar
