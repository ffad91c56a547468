#include "kernels/seeded_operands.h"

#include <string>

#include "sim/base/rng.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {
namespace {

constexpr uint64_t kOutlierEvery = 128;
constexpr float kOutlierScale = 32.0f;

}  // namespace

const char* DataFamilyName(DataFamily family) {
  return family == DataFamily::kNormal ? "normal" : "outliers";
}

std::vector<uint16_t> SeededRows(uint64_t seed, std::string_view name, int64_t rows, int64_t width,
                                 DType dtype, float scale, DataFamily family) {
  std::vector<float> column_scale(width, scale);
  if (family == DataFamily::kOutliers) {
    RandomStream channels(seed, std::string(name) + ".outliers");
    for (float& column : column_scale) {
      if (channels.NextBelow(kOutlierEvery) == 0) column *= kOutlierScale;
    }
  }
  const ItemStreams streams(seed, name);
  std::vector<uint16_t> words;
  words.reserve(rows * width);
  for (int64_t row = 0; row < rows; ++row) {
    RandomStream stream = streams.At(static_cast<uint64_t>(row));
    for (int64_t i = 0; i < width; ++i) {
      words.push_back(Narrow(static_cast<float>(stream.NextNormal()) * column_scale[i], dtype));
    }
  }
  return words;
}

}  // namespace batchvar
