// Prints digests of what sim/numerics computes on seeded data. Compiled by several compilers at
// several optimisation levels (same_bits.sh); all of them must print the same lines.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "sim/base/digest.h"
#include "sim/numerics/ordered_attention.h"
#include "sim/numerics/ordered_rows.h"
#include "tests/numerics/random_operands.h"

namespace batchvar {
namespace {

void Print(const char* what, Sha256* sha) {
  std::printf("%s %s\n", what, sha->FinishDigest().Hex().c_str());
}

void Elementary() {
  Sha256 sha;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65521) {
    const float x = FloatOf(static_cast<uint32_t>(bits));
    for (const float y : {Exp(x), InverseSqrt(x), Silu(x)}) sha.UpdateI64(BitsOf(y));
    sha.UpdateI64(Bf16Of(x)).UpdateI64(Fp16Of(x));
  }
  Print("elementary", &sha);
}

// Dots of 300 products, with outliers, under each arithmetic.
void Dots() {
  Sha256 sha;
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      auto a = NormalWords("a", 300, dtype, 1.0f, seed);
      const auto b = NormalWords("b", 300, dtype, 0.03f, seed);
      a[seed % 300] = Narrow(300.0f, dtype);
      for (const Arithmetic arithmetic :
           {Arithmetic::kMmaSm80, Arithmetic::kMmaSm90, Arithmetic::kFmaChain}) {
        Order order;
        order.arithmetic = arithmetic;
        order.combine = seed % 2 == 0 ? Combine::kSerialFp32 : Combine::kPairwise;
        order.pieces = {{0, 64}, {64, 200}, {200, 300}};
        sha.UpdateI64(BitsOf(OrderedDot(order, {dtype, a.data(), 1, b.data(), 1})));
      }
    }
  }
  Print("dots", &sha);
}

void Attention() {
  Sha256 sha;
  constexpr int64_t kKvLen = 200;
  constexpr int32_t kHeadDim = 64;
  const auto q = NormalWords("q", kHeadDim, DType::kBf16);
  const auto k = NormalWords("k", kKvLen * kHeadDim, DType::kBf16);
  const auto v = NormalWords("v", kKvLen * kHeadDim, DType::kBf16);
  std::vector<float> output(kHeadDim);
  for (const Arithmetic arithmetic : {Arithmetic::kMmaSm90, Arithmetic::kFmaChain}) {
    Order order;
    order.arithmetic = arithmetic;
    order.combine = Combine::kLse;
    order.block = 32;
    order.pieces = {{0, 100}, {100, kKvLen}};
    OrderedAttention(order,
                     {DType::kBf16, kHeadDim, 0.125f, q.data(), k.data(), v.data(), kHeadDim},
                     output.data());
    for (const float value : output) sha.UpdateI64(BitsOf(value));
  }
  Print("attention", &sha);
}

void Rows() {
  Sha256 sha;
  RandomStream stream(1, "row");
  std::vector<float> row(4096);
  for (float& value : row) value = static_cast<float>(stream.NextNormal());
  for (const int32_t block : {16, 256, 512}) {
    Order order;
    order.block = block;
    sha.UpdateI64(BitsOf(SumOfSquares(order, row.data(), 4096, DType::kBf16)));
  }
  Print("rows", &sha);
}

}  // namespace
}  // namespace batchvar

int main() {
  batchvar::Elementary();
  batchvar::Dots();
  batchvar::Attention();
  batchvar::Rows();
  return 0;
}
