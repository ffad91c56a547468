// Every path of the CPU executor against the golden vectors: outputs measured on eight GPUs (hw),
// whole instructions in eleven stress families (mma), chains over K with split-K (chain).
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/gemm.h"
#include "tests/golden/tensorcore_vectors.h"
#include "tests/kernels/fused_on_isa.h"

namespace batchvar {
namespace {

class GoldenTensorcoreCpu : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!HasIsa(GetParam())) GTEST_SKIP() << "this CPU has no " << IsaName(GetParam());
  }
  int64_t fallbacks_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Isas, GoldenTensorcoreCpu, testing::ValuesIn(kAllIsas),
                         [](const auto& isa) { return std::string(IsaName(isa.param)); });

TEST_P(GoldenTensorcoreCpu, MeasuredDotProducts) {
  BATCHVAR_SKIP_WITHOUT(TensorcoreVectors::ManifestPath("hw"));
  const TensorcoreVectors vectors("hw");
  int64_t checked = 0;
  for (const auto& set : vectors.manifest()["sets"]) {
    const int64_t k = set["k"], count = set["count"];
    const DType dtype = VectorType(set["type"]);
    const MmaModel model = MmaModelFor(CapabilityOfGpu(set["gpu"]), dtype);
    const auto a = vectors.Words<uint16_t>(set["off_a"], count * k);
    const auto b = vectors.Words<uint16_t>(set["off_b"], count * k);
    const auto c = vectors.Words<uint32_t>(set["off_c"], count);
    const auto d = vectors.Words<uint32_t>(set["off_d"], count);
    int64_t wrong = 0;
    // Each dot product has operands of its own: of every product of 32 x 32, the diagonal.
    for (int64_t first = 0; first < count; first += kPanelColumns) {
      const int64_t size = std::min<int64_t>(kPanelColumns, count - first);
      std::vector<uint32_t> sums(size * size, 0);
      for (int64_t i = 0; i < size; ++i) sums[i * size + i] = c[first + i];
      const auto out = AddFusedOn(GetParam(), model, dtype, &a[first * k], &b[first * k], size,
                                  size, k, sums.data(), &fallbacks_);
      for (int64_t i = 0; i < size; ++i) wrong += out[i * size + i] != d[first + i];
    }
    EXPECT_EQ(wrong, 0) << set;
    checked += count;
  }
  EXPECT_GE(checked, 1);
  EXPECT_EQ(fallbacks_, 0);  // ordinary numbers
  RecordProperty("checked", std::to_string(checked));
}

TEST_P(GoldenTensorcoreCpu, WholeInstructions) {
  BATCHVAR_SKIP_WITHOUT(TensorcoreVectors::ManifestPath("mma"));
  const TensorcoreVectors vectors("mma");
  int64_t checked = 0;
  for (const auto& set : vectors.manifest()["sets"]) {
    if (set["type"] == "e4m3") continue;  // the executor has 16-bit operands only
    const int64_t m = set["m"], n = set["n"], k = set["k"], count = set["count"];
    const DType dtype = VectorType(set["type"]);
    MmaModel model = MmaModelFor(VectorCapability(set["sm"]), dtype);
    if (k < model.fused) model.fused = static_cast<int32_t>(k);
    const auto a = vectors.Words<uint16_t>(set["off_a"], count * m * k);
    const auto b = vectors.Words<uint16_t>(set["off_b"], count * k * n);
    const auto c = vectors.Words<uint32_t>(set["off_c"], count * m * n);
    const auto d = vectors.Words<uint32_t>(set["off_d"], count * m * n);
    int64_t wrong = 0;
    std::vector<uint16_t> w(n * k);
    for (int64_t tile = 0; tile < count; ++tile) {
      for (int64_t i = 0; i < n * k; ++i) w[i] = b[tile * n * k + i % k * n + i / k];
      const auto out = AddFusedOn(GetParam(), model, dtype, &a[tile * m * k], w.data(), m, n, k,
                                  &c[tile * m * n], &fallbacks_);
      for (int64_t i = 0; i < m * n; ++i) wrong += out[i] != d[tile * m * n + i];
    }
    EXPECT_EQ(wrong, 0) << set;
    checked += count * m * n;
  }
  EXPECT_GE(checked, 1);
  RecordProperty("checked", std::to_string(checked));
  RecordProperty("fallbacks", std::to_string(fallbacks_));
}

// Slice s of S covers [s slice, (s + 1) slice), cut at K; slices past K are empty.
Order SplitOrder(const nlohmann::json& result, int64_t k, DType dtype, Combine combine) {
  Order order;
  order.arithmetic = result["sm"] == "sm80" ? Arithmetic::kMmaSm80 : Arithmetic::kMmaSm90;
  order.combine = combine;
  order.output = dtype;
  const int64_t split = result["split"], slice = result["slice"];
  for (int64_t s = 0; s < split; ++s) {
    order.pieces.push_back({std::min(k, s * slice), std::min(k, (s + 1) * slice)});
  }
  return order;
}

std::vector<uint32_t> ExecuteChain(Isa isa, const PackedMatrix& weights,
                                   const std::vector<uint16_t>& a, const Order& order) {
  const int64_t m = std::ssize(a) / weights.k(), n = weights.n();
  const std::vector<OrderStrip> strips = {{{0, n}, order}};
  std::vector<float> out(m * n);
  std::vector<GemmRow> rows;
  for (int64_t row = 0; row < m; ++row)
    rows.push_back({&a[row * weights.k()], strips, &out[row * n]});
  WorkerPool pool(1);
  const GemmOutcome outcome = ExecuteGemm(isa, weights, rows, &pool);
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.fallbacks, 0);
  std::vector<uint32_t> bits;
  for (const float x : out) bits.push_back(BitsOf(x));
  return bits;
}

TEST_P(GoldenTensorcoreCpu, ChainsAndSplits) {
  BATCHVAR_SKIP_WITHOUT(TensorcoreVectors::ManifestPath("chain"));
  const TensorcoreVectors vectors("chain");
  int64_t checked = 0;
  for (const auto& set : vectors.manifest()["cases"]) {
    const int64_t k = set["K"], m = set["M"], n = set["N"];
    const DType dtype = VectorType(set["type"]);
    const auto a = vectors.Words<uint16_t>(set["off_a"], m * k);
    const auto b = vectors.Words<uint16_t>(set["off_b"], k * n);
    std::vector<uint16_t> w(n * k);
    for (int64_t i = 0; i < n * k; ++i) w[i] = b[i % k * n + i / k];
    const PackedMatrix weights = PackedMatrix::Pack(w.data(), n, k, dtype);
    for (const auto& result : set["results"]) {
      const auto serial = vectors.Words<uint32_t>(result["off_serial"], m * n);
      Order order = SplitOrder(result, k, dtype, Combine::kSerialFp32);
      EXPECT_EQ(ExecuteChain(GetParam(), weights, a, order), serial) << result;
      const auto out16 = vectors.Words<uint16_t>(result["off_out16"], m * n);
      for (int64_t i = 0; i < m * n; ++i) EXPECT_EQ(Narrow(FloatOf(serial[i]), dtype), out16[i]);
      order.combine = Combine::kPairwise;
      EXPECT_EQ(ExecuteChain(GetParam(), weights, a, order),
                vectors.Words<uint32_t>(result["off_tree"], m * n))
          << result;
      const std::vector<Range> pieces = order.pieces;
      order.combine = Combine::kNone;
      for (size_t s = 0; s < pieces.size(); ++s) {
        order.pieces = {pieces[s]};
        const int64_t offset = result["off_parts"].get<int64_t>() + s * m * n * 4;
        EXPECT_EQ(ExecuteChain(GetParam(), weights, a, order),
                  vectors.Words<uint32_t>(offset, m * n))
            << result << " part " << s;
      }
      checked += (2 + std::ssize(pieces)) * m * n;
    }
  }
  EXPECT_GE(checked, 1);
  RecordProperty("checked", std::to_string(checked));
}

}  // namespace
}  // namespace batchvar
