#include "kernels/cpu/kv_panels.h"

#include <algorithm>

namespace batchvar {
namespace {

// All exponent bits set. No branches, so loops over it vectorise.
bool AnySpecial(const uint16_t* words, int64_t count, DType dtype) {
  const uint16_t exponent = dtype == DType::kBf16 ? 0x7F80 : 0x7C00;
  uint16_t any = 0;
  for (int64_t i = 0; i < count; ++i) any |= (words[i] & exponent) == exponent;
  return any != 0;
}

// Columns 0 to 31, as they stand in one row of a panel.
void PackRow(const uint16_t* columns, DType dtype, uint16_t* row) {
  if (dtype == DType::kFp16) {
    std::copy_n(columns, kPanelColumns, row);
    return;
  }
  for (int32_t j = 0; j < kPanelColumns / 2; ++j) {
    row[2 * j] = columns[j];
    row[2 * j + 1] = columns[kPanelColumns / 2 + j];
  }
}
static_assert(PanelWord(1, DType::kFp16) == 1 && PanelWord(1, DType::kBf16) == 2 &&
              PanelWord(kPanelColumns / 2, DType::kBf16) == 1);

}  // namespace

void KvPanels::Begin(int64_t columns, int64_t summed) {
  columns_ = columns;
  summed_ = summed;
  has_specials_ = false;
  words_.resize(num_panels() * (summed + kPanelPadRows) * kPanelColumns);
  for (int64_t panel = 0; panel < num_panels(); ++panel) {
    std::fill_n(Row(panel, summed), kPanelPadRows * kPanelColumns, uint16_t{0});
  }
}

void KvPanels::PackKeys(const AttentionOperands& x, const Range& block) {
  const int64_t count = block.end - block.begin;
  Begin(count, x.head_dim);
  for (int64_t column = 0; column < PaddedColumns(); ++column) {
    // Columns that fill up the last panel repeat the last position; nobody reads their sums.
    const uint16_t* key = x.k + x.KvOffset(block.begin + std::min(column, count - 1));
    uint16_t* word = Row(column / kPanelColumns, 0) + PanelWord(column % kPanelColumns, x.dtype);
    for (int32_t d = 0; d < x.head_dim; ++d) word[d * kPanelColumns] = key[d];
    if (column < count && AnySpecial(key, x.head_dim, x.dtype)) has_specials_ = true;
  }
}

void KvPanels::PackValues(const AttentionOperands& x, const Range& block) {
  const int64_t count = block.end - block.begin;
  Begin(x.head_dim, count);
  for (int64_t panel = 0; panel < num_panels(); ++panel) {
    const int64_t begin = panel * kPanelColumns;
    const int64_t width = std::min<int64_t>(kPanelColumns, x.head_dim - begin);
    for (int64_t k = 0; k < count; ++k) {
      const uint16_t* value = x.v + x.KvOffset(block.begin + k) + begin;
      if (AnySpecial(value, width, x.dtype)) has_specials_ = true;
      if (width == kPanelColumns) {
        PackRow(value, x.dtype, Row(panel, k));
        continue;
      }
      // Columns that fill up the last panel repeat the last element.
      uint16_t columns[kPanelColumns];
      std::fill_n(columns, kPanelColumns, value[width - 1]);
      std::copy_n(value, width, columns);
      PackRow(columns, x.dtype, Row(panel, k));
    }
  }
}

}  // namespace batchvar
