// The scalar reference against every golden vector: outputs measured on eight GPUs (hw), whole
// instructions in eleven stress families (mma), and chains over K with split-K (chain).
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/numerics/tensor_core.h"
#include "tests/golden/tensorcore_vectors.h"

namespace batchvar {
namespace {

TEST(GoldenTensorcore, MeasuredDotProducts) {
  BATCHVAR_SKIP_WITHOUT(TensorcoreVectors::ManifestPath("hw"));
  const TensorcoreVectors vectors("hw");
  int64_t checked = 0;
  for (const auto& set : vectors.manifest()["sets"]) {
    const int64_t k = set["k"], count = set["count"];
    const DType dtype = VectorType(set["type"]);
    const MmaModel model = MmaModelFor(CapabilityOfGpu(set["gpu"]), dtype);
    ASSERT_EQ(model.fused, k) << set;
    const auto a = vectors.Words<uint16_t>(set["off_a"], count * k);
    const auto b = vectors.Words<uint16_t>(set["off_b"], count * k);
    const auto c = vectors.Words<uint32_t>(set["off_c"], count);
    const auto d = vectors.Words<uint32_t>(set["off_d"], count);
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
      wrong += FusedDotAdd(model, dtype, &a[i * k], 1, &b[i * k], 1, c[i]) != d[i];
    }
    EXPECT_EQ(wrong, 0) << set;
    checked += count;
  }
  EXPECT_GE(checked, 1);
  RecordProperty("checked", std::to_string(checked));
}

// d = a * b + c of one instruction, k in steps of what it fuses.
template <typename Word>
int64_t WrongInTiles(const TensorcoreVectors& vectors, const nlohmann::json& set) {
  const int64_t m = set["m"], n = set["n"], k = set["k"], count = set["count"];
  const DType dtype = VectorType(set["type"]);
  MmaModel model = MmaModelFor(VectorCapability(set["sm"]), dtype);
  if (k < model.fused) model.fused = static_cast<int32_t>(k);
  const auto a = vectors.Words<Word>(set["off_a"], count * m * k);
  const auto b = vectors.Words<Word>(set["off_b"], count * k * n);
  const auto c = vectors.Words<uint32_t>(set["off_c"], count * m * n);
  const auto d = vectors.Words<uint32_t>(set["off_d"], count * m * n);
  int64_t wrong = 0;
  for (int64_t i = 0; i < count * m * n; ++i) {
    const int64_t tile = i / (m * n), row = i / n % m, column = i % n;
    uint32_t sum = c[i];
    for (int64_t step = 0; step < k; step += model.fused) {
      sum = FusedDotAdd(model, dtype, &a[(tile * m + row) * k + step], 1,
                        &b[(tile * k + step) * n + column], n, sum);
    }
    wrong += sum != d[i];
  }
  return wrong;
}

TEST(GoldenTensorcore, WholeInstructions) {
  BATCHVAR_SKIP_WITHOUT(TensorcoreVectors::ManifestPath("mma"));
  const TensorcoreVectors vectors("mma");
  int64_t checked = 0;
  for (const auto& set : vectors.manifest()["sets"]) {
    const bool fp8 = set["type"] == "e4m3";
    EXPECT_EQ(fp8 ? WrongInTiles<uint8_t>(vectors, set) : WrongInTiles<uint16_t>(vectors, set), 0)
        << set;
    checked += set["count"].get<int64_t>() * set["m"].get<int64_t>() * set["n"].get<int64_t>();
  }
  EXPECT_GE(checked, 1);
  RecordProperty("checked", std::to_string(checked));
}

}  // namespace
}  // namespace batchvar
