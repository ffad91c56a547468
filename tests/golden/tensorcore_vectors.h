// The golden vectors of tensor-core arithmetic (format tcgv1): raw little-endian words and a JSON
// manifest with their places. Read here for every test that executes them.
#ifndef BATCHVAR_TESTS_GOLDEN_TENSORCORE_VECTORS_H_
#define BATCHVAR_TESTS_GOLDEN_TENSORCORE_VECTORS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sim/numerics/tensor_core.h"
#include "tests/test_data.h"

namespace batchvar {

// One file pair: its manifest and its words.
class TensorcoreVectors {
 public:
  static std::string ManifestPath(const std::string& name) {
    return ReferencePath("tensorcore/" + name + ".json");
  }
  explicit TensorcoreVectors(const std::string& name)
      : manifest_(nlohmann::json::parse(ReadFileOrDie(ManifestPath(name)))),
        bytes_(ReadFileOrDie(ReferencePath("tensorcore/" + name + ".bin"))) {}

  const nlohmann::json& manifest() const { return manifest_; }

  // `count` words from byte `offset` on; T is uint8_t, uint16_t or uint32_t.
  template <typename T>
  std::vector<T> Words(int64_t offset, int64_t count) const {
    EXPECT_LE(offset + count * static_cast<int64_t>(sizeof(T)), std::ssize(bytes_));
    std::vector<T> words(count);
    std::memcpy(words.data(), bytes_.data() + offset, count * sizeof(T));
    return words;
  }

 private:
  nlohmann::json manifest_;
  std::string bytes_;
};

inline DType VectorType(const std::string& type) {
  if (type == "bf16") return DType::kBf16;
  if (type == "f16" || type == "fp16") return DType::kFp16;
  EXPECT_EQ(type, "e4m3");
  return DType::kFp8E4m3;
}

// "sm90a" is 90.
inline int32_t VectorCapability(const std::string& sm) { return std::stoi(sm.substr(2)); }

// The device behind a measured set.
inline int32_t CapabilityOfGpu(const std::string& gpu) {
  if (gpu == "V100") return 70;
  if (gpu == "A100") return 80;
  if (gpu == "A2") return 86;
  if (gpu == "L40S" || gpu.starts_with("Ada")) return 89;
  if (gpu == "H100" || gpu == "H200") return 90;
  EXPECT_EQ(gpu, "B200");
  return 100;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_GOLDEN_TENSORCORE_VECTORS_H_
