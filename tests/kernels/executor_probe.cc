// Prints a digest of what the CPU executor computes on seeded data, for every instruction set of
// this CPU and one and two threads. Compiled by several compilers at several optimisation levels
// (executor_same_bits.sh); all of them must print the same digests.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/gemm.h"
#include "sim/base/digest.h"
#include "tests/numerics/random_operands.h"

namespace batchvar {
namespace {

Order OrderOf(int i, int64_t extent) {
  constexpr Arithmetic kArithmetics[] = {Arithmetic::kMmaSm80, Arithmetic::kMmaSm90,
                                         Arithmetic::kFmaChain};
  constexpr Combine kCombines[] = {Combine::kSerialFp32, Combine::kPairwise, Combine::kSerial16bit};
  Order order;
  order.arithmetic = kArithmetics[i % 3];
  order.combine = kCombines[i / 3 % 3];
  order.pieces = {{0, extent / 3}, {extent / 3, extent / 2}, {extent / 2, extent}};
  return order;
}

void Gemms(Isa isa, WorkerPool* pool, Sha256* sha) {
  constexpr int64_t kRows = 5, kN = 70, kK = 500;
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    const auto x = NormalWords("x", kRows * kK, dtype);
    const auto w = NormalWords("w", kN * kK, dtype, 0.03f);
    const PackedMatrix weights = PackedMatrix::Pack(w.data(), kN, kK, dtype);
    for (int i = 0; i < 9; ++i) {
      const std::vector<OrderStrip> strips = {{{0, kN}, OrderOf(i, kK)}};
      std::vector<float> out(kRows * kN);
      std::vector<GemmRow> rows;
      for (int64_t r = 0; r < kRows; ++r) rows.push_back({&x[r * kK], strips, &out[r * kN]});
      if (!ExecuteGemm(isa, weights, rows, pool).ok()) std::printf("fault\n");
      for (const float value : out) sha->UpdateI64(BitsOf(value));
    }
  }
}

void Attentions(Isa isa, WorkerPool* pool, Sha256* sha) {
  constexpr int32_t kHeadDim = 64;
  constexpr int64_t kKvLen = 150, kHeads = 3;
  const auto q = NormalWords("q", kHeads * kHeadDim, DType::kBf16);
  const auto k = NormalWords("k", kKvLen * kHeadDim, DType::kBf16);
  const auto v = NormalWords("v", kKvLen * kHeadDim, DType::kBf16);
  for (int i = 0; i < 3; ++i) {
    Order order = OrderOf(i, kKvLen);
    order.combine = Combine::kLse;
    order.block = 32;
    std::vector<float> out(kHeads * kHeadDim);
    std::vector<AttentionJob> jobs;
    for (int64_t h = 0; h < kHeads; ++h) {
      jobs.push_back(
          {{DType::kBf16, kHeadDim, 0.125f, &q[h * kHeadDim], k.data(), v.data(), kHeadDim},
           &order,
           &out[h * kHeadDim]});
    }
    if (ExecuteAttention(isa, jobs, pool, nullptr) != FloatFault::kNone) std::printf("fault\n");
    for (const float value : out) sha->UpdateI64(BitsOf(value));
  }
}

}  // namespace
}  // namespace batchvar

int main() {
  using namespace batchvar;
  for (const Isa isa : kAllIsas) {
    if (!HasIsa(isa)) continue;
    for (const int32_t threads : {1, 2}) {
      WorkerPool pool(threads);
      Sha256 sha;
      Gemms(isa, &pool, &sha);
      Attentions(isa, &pool, &sha);
      std::printf("%s\n", sha.FinishDigest().Hex().c_str());
    }
  }
  return 0;
}
