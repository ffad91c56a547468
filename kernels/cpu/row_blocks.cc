#include "kernels/cpu/row_blocks.h"

#include <algorithm>

#include "kernels/cpu/gemm_kernel.h"
#include "sim/base/check.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {

namespace {

constexpr uint32_t kZeroShortfall = 255;
// A bf16 exponent field above 153 (2^26) would put a product that the shortfalls hide (its panel
// exponent byte is 0 or saturates there) inside the exact range.
constexpr int32_t kLargestField = 153;

void Append(int64_t begin, int64_t end, int32_t piece, int32_t slice, StretchList* list) {
  if (begin >= end) return;
  list->stretches.push_back({begin, end, piece, slice, list->num_blocks});
  list->num_blocks += list->BlocksOf(end - begin);
}

int32_t Padded(int32_t fused) {
  BV_CHECK(fused >= 1 && fused <= 16);
  return fused <= 4 ? 4 : fused <= 8 ? 8 : 16;
}

// One row's share of a block of `count` <= L products, written at stride `rows`.
template <int L>
void PackBlock(const uint16_t* x, int64_t count, DType dtype, int64_t rows, uint32_t* block) {
  const bool bf16 = dtype == DType::kBf16;
  const int32_t fraction_bits = bf16 ? 7 : 10;
  const int32_t special_field = bf16 ? 255 : 31;
  int32_t fields[L] = {};  // of a zero: 0
  int32_t largest = 0;
  uint32_t nonzero = 0;
  for (int64_t k = 0; k < L; ++k) {
    const uint16_t word = k < count ? x[k] : 0;
    block[k * rows] = BitsOf(Widen(word, dtype));
    const int32_t magnitude = word & 0x7FFF;
    if (magnitude == 0) continue;
    nonzero |= 1u << k;
    fields[k] = std::max(magnitude >> fraction_bits, 1);
    largest = std::max(largest, fields[k]);
  }
  for (int64_t i = 0; i < L / 2; ++i) {
    const int32_t even = fields[2 * i], odd = fields[2 * i + 1];
    const uint32_t low = even == 0 ? kZeroShortfall : largest - even;
    const uint32_t high = odd == 0 ? kZeroShortfall : largest - odd;
    block[(L + i) * rows] = (low | high << 8) * 0x00010001u;
  }
  // Panel bytes are the exponent field for bf16 and 128 more for fp16; biases 127 and 15 go.
  int32_t base = bf16 ? largest - 127 : largest - 31;
  if (largest >= special_field || (bf16 && largest > kLargestField)) base = kScalarBase;
  block[(L + L / 2) * rows] = static_cast<uint32_t>(base);
  block[(L + L / 2 + 1) * rows] = nonzero;
}

template <int L>
void PackStretch(const Stretch& stretch, int32_t fused, const uint16_t* const* x, int32_t rows,
                 DType dtype, uint32_t* block) {
  for (int64_t k = stretch.begin; k < stretch.end; k += fused, block += RowBlockWords(L) * rows) {
    const int64_t count = std::min<int64_t>(fused, stretch.end - k);
    for (int32_t r = 0; r < rows; ++r) PackBlock<L>(x[r] + k, count, dtype, rows, block + r);
  }
}

}  // namespace

int64_t StretchList::BlockWords() const { return chain ? 1 : RowBlockWords(padded); }

StretchList StretchesOf(const Order& order) {
  StretchList list;
  list.chain = !IsMma(order.arithmetic);
  if (!list.chain) {
    list.model = MmaModelOf(order.arithmetic, order.instr_k);
    list.padded = Padded(list.model.fused);
  }
  list.slices = std::max(order.slice_k, 1);
  for (int32_t piece = 0; piece < std::ssize(order.pieces); ++piece) {
    const Range& range = order.pieces[piece];
    if (order.slice_k <= 1) {
      Append(range.begin, range.end, piece, 0, &list);
      continue;
    }
    BV_CHECK(order.block >= order.slice_k);
    const int64_t length = order.block / order.slice_k;
    for (int64_t block = range.begin; block < range.end; block += order.block) {
      for (int32_t slice = 0; slice < order.slice_k; ++slice) {
        const int64_t begin = std::min(block + slice * length, range.end);
        Append(begin, std::min(begin + length, range.end), piece, slice, &list);
      }
    }
  }
  return list;
}

StretchList SingleStretch(const MmaModel& model, int64_t begin, int64_t end) {
  StretchList list;
  list.model = model;
  list.padded = Padded(model.fused);
  Append(begin, end, 0, 0, &list);
  return list;
}

std::vector<uint32_t> PackRows(const StretchList& list, const uint16_t* const* x, int32_t num_rows,
                               DType dtype) {
  BV_CHECK(num_rows <= kMaxRowsPerCall);
  std::vector<uint32_t> packed(list.num_blocks * list.BlockWords() * num_rows);
  for (const Stretch& stretch : list.stretches) {
    uint32_t* block = packed.data() + stretch.first_block * list.BlockWords() * num_rows;
    if (list.chain) {
      for (int64_t k = stretch.begin; k < stretch.end; ++k) {
        for (int32_t r = 0; r < num_rows; ++r) *block++ = BitsOf(Widen(x[r][k], dtype));
      }
      continue;
    }
    const int32_t fused = list.model.fused;
    if (list.padded == 16) PackStretch<16>(stretch, fused, x, num_rows, dtype, block);
    if (list.padded == 8) PackStretch<8>(stretch, fused, x, num_rows, dtype, block);
    if (list.padded == 4) PackStretch<4>(stretch, fused, x, num_rows, dtype, block);
  }
  return packed;
}

}  // namespace batchvar
