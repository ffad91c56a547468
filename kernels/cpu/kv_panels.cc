#include "kernels/cpu/kv_panels.h"

#include <algorithm>

namespace batchvar {
namespace {

// All exponent bits set.
bool IsSpecial(uint16_t word, DType dtype) {
  const uint16_t exponent = dtype == DType::kBf16 ? 0x7F80 : 0x7C00;
  return (word & exponent) == exponent;
}

}  // namespace

void KvPanels::Begin(int64_t columns, int64_t summed) {
  columns_ = columns;
  summed_ = summed;
  has_specials_ = false;
  words_.assign(num_panels() * (summed + kPanelPadRows) * kPanelColumns, 0);
}

void KvPanels::PackKeys(const uint16_t* keys, int64_t stride, int64_t count, int32_t head_dim,
                        DType dtype) {
  Begin(count, head_dim);
  for (int64_t column = 0; column < PaddedColumns(); ++column) {
    // Columns that fill up the last panel repeat the last position; nobody reads their sums.
    const uint16_t* key = keys + std::min(column, count - 1) * stride;
    uint16_t* word = Row(column / kPanelColumns, 0) + PanelWord(column % kPanelColumns, dtype);
    for (int32_t d = 0; d < head_dim; ++d) {
      word[d * kPanelColumns] = key[d];
      has_specials_ = has_specials_ || IsSpecial(key[d], dtype);
    }
  }
}

void KvPanels::PackValues(const uint16_t* values, int64_t stride, int64_t count, int32_t head_dim,
                          DType dtype) {
  Begin(head_dim, count);
  for (int64_t panel = 0; panel < num_panels(); ++panel) {
    for (int64_t k = 0; k < count; ++k) {
      const uint16_t* value = values + k * stride;
      uint16_t* row = Row(panel, k);
      for (int32_t column = 0; column < kPanelColumns; ++column) {
        const int64_t d = std::min<int64_t>(panel * kPanelColumns + column, head_dim - 1);
        row[PanelWord(column, dtype)] = value[d];
        has_specials_ = has_specials_ || IsSpecial(value[d], dtype);
      }
    }
  }
}

}  // namespace batchvar
