#include "kernels/cpu/packed_matrix.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "sim/base/check.h"

namespace batchvar {

PackedMatrix PackedMatrix::Allocate(int64_t n, int64_t k, DType dtype) {
  PackedMatrix matrix;
  matrix.n_ = n;
  matrix.k_ = k;
  matrix.dtype_ = dtype;
  constexpr int64_t kAlignment = 64;  // a row of a panel is one cache line
  const int64_t flag_bytes = (matrix.num_panels() + kAlignment - 1) / kAlignment * kAlignment;
  const int64_t word_bytes = matrix.num_panels() * matrix.PanelWords() * 2;
  void* memory = std::aligned_alloc(kAlignment, flag_bytes + word_bytes);
  BV_CHECK(memory != nullptr);
  std::memset(memory, 0, flag_bytes + word_bytes);  // the rows of padding stay 0
  matrix.memory_ = std::shared_ptr<const void>(memory, std::free);
  matrix.flags_ = static_cast<const uint8_t*>(memory);
  matrix.words_ = reinterpret_cast<const uint16_t*>(matrix.flags_ + flag_bytes);
  return matrix;
}

PackedMatrix PackedMatrix::Pack(const uint16_t* weights, int64_t n, int64_t k, DType dtype) {
  BV_CHECK(n >= 1 && k >= 1 && (dtype == DType::kBf16 || dtype == DType::kFp16));
  PackedMatrix matrix = Allocate(n, k, dtype);
  // The one moment at which this memory, our own, is written.
  uint16_t* words = const_cast<uint16_t*>(matrix.words_);
  uint8_t* flags = const_cast<uint8_t*>(matrix.flags_);
  for (int64_t panel = 0; panel < matrix.num_panels(); ++panel) {
    matrix.PackPanel(weights, panel, words + panel * matrix.PanelWords(), flags + panel);
  }
  return matrix;
}

void PackedMatrix::PackPanel(const uint16_t* weights, int64_t panel, uint16_t* words,
                             uint8_t* flag) const {
  const uint16_t infinity = dtype_ == DType::kBf16 ? 0x7F80 : 0x7C00;
  constexpr int64_t kRowsAtOnce = 64;  // so that a column's cache line is used up before it goes
  bool special = false;
  for (int64_t begin = 0; begin < k_; begin += kRowsAtOnce) {
    const int64_t end = std::min(k_, begin + kRowsAtOnce);
    for (int32_t column = 0; column < kPanelColumns; ++column) {
      const int64_t source = std::min(panel * kPanelColumns + column, n_ - 1);
      uint16_t* target = words + PanelWord(column, dtype_);
      for (int64_t k = begin; k < end; ++k) {
        const uint16_t word = weights[source * k_ + k];
        special |= (word & 0x7FFF) >= infinity;
        target[k * kPanelColumns] = word;
      }
    }
  }
  *flag = special ? 1 : 0;
}

}  // namespace batchvar
