// The attention executor against the scalar definition, on every instruction set.
#include "kernels/cpu/attention.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/exp_kernel.h"
#include "tests/numerics/random_operands.h"

namespace batchvar {
namespace {

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(BitsOf(value));
  return bits;
}

class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!HasIsa(GetParam())) GTEST_SKIP() << "this CPU has no " << IsaName(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Isas, EveryIsa, testing::ValuesIn(kAllIsas),
                         [](const auto& isa) { return std::string(IsaName(isa.param)); });

TEST_P(EveryIsa, ExpHasTheSameBits) {
  std::vector<float> values, expected;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 30011) {
    const float x = FloatOf(static_cast<uint32_t>(bits));
    values.push_back(x);
    expected.push_back(Exp(x - 1.5f));
  }
  ExpMinus(GetParam(), 1.5f, values.data(), std::ssize(values));
  EXPECT_EQ(Bits(values), Bits(expected));
}

// A random order over kv_len positions.
Order RandomOrder(RandomStream* stream, int64_t kv_len) {
  constexpr int32_t kBlocks[] = {16, 32, 64, 128, 37};
  constexpr Arithmetic kArithmetics[] = {Arithmetic::kMmaSm80, Arithmetic::kMmaSm90,
                                         Arithmetic::kMmaSm90, Arithmetic::kFmaChain};
  Order order;
  order.arithmetic = kArithmetics[stream->NextBelow(4)];
  order.block = kBlocks[stream->NextBelow(5)];
  order.descending = stream->NextBelow(2) == 0;
  order.output = stream->NextBelow(2) == 0 ? DType::kBf16 : DType::kFp16;
  order.partial = stream->NextBelow(3) == 0 ? order.output : DType::kFp32;
  const auto pieces = static_cast<int64_t>(1 + stream->NextBelow(6));
  for (int64_t i = 0; i < pieces; ++i) {
    const Range piece = {kv_len * i / pieces, kv_len * (i + 1) / pieces};
    if (piece.begin < piece.end) order.pieces.push_back(piece);
  }
  order.combine = Combine::kNone;
  if (order.pieces.size() > 1) {
    order.combine = stream->NextBelow(3) == 0 ? Combine::kChained : Combine::kLse;
    if (stream->NextBelow(2) == 0) order.combine_lanes = 2;
  }
  return order;
}

TEST_P(EveryIsa, EqualsTheDefinitionOnRandomOrders) {
  RandomStream stream(11, "attention orders");
  WorkerPool one(1), two(2);
  for (int trial = 0; trial < 25; ++trial) {
    const int64_t kv_len = 1 + static_cast<int64_t>(stream.NextBelow(300));
    const int32_t head_dim = trial % 3 == 0 ? 80 : 64;
    const Order order = RandomOrder(&stream, kv_len);
    const auto group = static_cast<int64_t>(1 + stream.NextBelow(9));
    const DType dtype = order.output;
    const auto q = NormalWords("q", group * head_dim, dtype, 1.0f, trial);
    auto k = NormalWords("k", 2 * kv_len * head_dim, dtype, 1.0f, trial);
    const auto v = NormalWords("v", 2 * kv_len * head_dim, dtype, 1.0f, trial);
    if (trial % 5 == 4) k[head_dim / 2] = Narrow(INFINITY, dtype);
    std::vector<AttentionJob> jobs;
    std::vector<float> output(2 * group * head_dim), expected(2 * group * head_dim);
    for (int64_t i = 0; i < 2 * group; ++i) {  // two KV heads, interleaved as in a cache
      const int64_t kv_head = i / group;
      const AttentionOperands x = {dtype,
                                   head_dim,
                                   0.125f,
                                   &q[i % group * head_dim],
                                   &k[kv_head * head_dim],
                                   &v[kv_head * head_dim],
                                   2 * head_dim};
      jobs.push_back({x, &order, &output[i * head_dim]});
      OrderedAttention(order, x, &expected[i * head_dim]);
    }
    for (WorkerPool* pool : {&one, &two}) {
      std::fill(output.begin(), output.end(), 0.0f);
      ASSERT_EQ(ExecuteAttention(GetParam(), jobs, pool, nullptr), FloatFault::kNone);
      ASSERT_EQ(Bits(output), Bits(expected)) << "trial " << trial;
    }
  }
}

// Where the blocks of a paged cache lie, and that neighbours share them, changes nothing.
TEST_P(EveryIsa, PagedPositionsHaveTheSameBits) {
  RandomStream stream(12, "paged attention");
  WorkerPool pool(1);
  constexpr int32_t kHeadDim = 64;
  for (int trial = 0; trial < 12; ++trial) {
    const int64_t kv_len = 1 + static_cast<int64_t>(stream.NextBelow(200));
    const Order order = RandomOrder(&stream, kv_len);
    const int32_t block_size = trial % 2 == 0 ? 16 : 7;
    const int64_t blocks = (kv_len + block_size - 1) / block_size;
    const auto q = NormalWords("q", kHeadDim, order.output, 1.0f, trial);
    const auto k = NormalWords("k", blocks * block_size * kHeadDim, order.output, 1.0f, trial);
    const auto v = NormalWords("v", blocks * block_size * kHeadDim, order.output, 1.0f, trial);
    std::vector<int32_t> table;
    for (int64_t b = 0; b < blocks; ++b) table.push_back(static_cast<int32_t>(blocks - 1 - b));
    auto paged_k = k, paged_v = v;
    for (int64_t p = 0; p < kv_len; ++p) {
      const int64_t place = table[p / block_size] * block_size + p % block_size;
      std::copy_n(&k[p * kHeadDim], kHeadDim, &paged_k[place * kHeadDim]);
      std::copy_n(&v[p * kHeadDim], kHeadDim, &paged_v[place * kHeadDim]);
    }
    AttentionOperands x = {order.output, kHeadDim, 0.125f, q.data(), k.data(), v.data(), kHeadDim};
    std::vector<float> expected(kHeadDim), defined(kHeadDim), output(kHeadDim);
    OrderedAttention(order, x, expected.data());
    x.k = paged_k.data();
    x.v = paged_v.data();
    x.block_table = table.data();
    x.block_size = block_size;
    OrderedAttention(order, x, defined.data());
    EXPECT_EQ(Bits(defined), Bits(expected)) << "trial " << trial;
    const AttentionJob job = {x, &order, output.data()};
    ASSERT_EQ(ExecuteAttention(GetParam(), {&job, 1}, &pool, nullptr), FloatFault::kNone);
    EXPECT_EQ(Bits(output), Bits(expected)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace batchvar
