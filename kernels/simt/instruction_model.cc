#include "kernels/simt/instruction_model.h"

#include <cstring>

#include "kernels/simt/block.h"
#include "kernels/simt/device.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar::simt {
namespace {

constexpr int32_t kRows = 16;
constexpr int32_t kColumns = 8;
constexpr int32_t kMaxK = 16;

struct MmaLane {
  DType dtype;
  int32_t k;
  float* d;
  const uint32_t* a;
  const uint32_t* b;
  const float* c;
};

uint16_t HalfOf(uint32_t word, int32_t half) { return static_cast<uint16_t>(word >> 16 * half); }

// Lane l holds elements of rows l / 4 and l / 4 + 8 and of k pairs (l % 4) * 2, and 8 further on.
void GatherOperands(void* const* operands, int32_t k, uint16_t a[kRows][kMaxK],
                    uint16_t b[kColumns][kMaxK]) {
  for (int32_t l = 0; l < kWarpLanes; ++l) {
    const MmaLane& lane = *static_cast<MmaLane*>(operands[l]);
    for (int32_t half = 0; half < 2; ++half) {
      for (int32_t block = 0; block < k / 8; ++block) {
        const int32_t at = block * 8 + l % 4 * 2 + half;
        a[l / 4][at] = HalfOf(lane.a[2 * block], half);
        a[l / 4 + 8][at] = HalfOf(lane.a[2 * block + 1], half);
        b[l / 4][at] = HalfOf(lane.b[block], half);
      }
    }
  }
}

void MmaOfWarp(void* const* operands) {
  const MmaLane& first = *static_cast<MmaLane*>(operands[0]);
  MmaModel model = MmaModelFor(Device().compute_capability, first.dtype);
  if (first.k < model.fused) model.fused = first.k;
  uint16_t a[kRows][kMaxK];
  uint16_t b[kColumns][kMaxK];
  GatherOperands(operands, first.k, a, b);
  for (int32_t l = 0; l < kWarpLanes; ++l) {
    const MmaLane& lane = *static_cast<MmaLane*>(operands[l]);
    for (int32_t i = 0; i < 4; ++i) {
      const int32_t row = l / 4 + i / 2 * 8;
      const int32_t column = l % 4 * 2 + i % 2;
      uint32_t sum = BitsOf(lane.c[i]);
      for (int32_t k = 0; k < first.k; k += model.fused) {
        sum = FusedDotAdd(model, first.dtype, &a[row][k], 1, &b[column][k], 1, sum);
      }
      lane.d[i] = FloatOf(sum);
    }
  }
  ++Counters().matrix_instructions;
}

struct LdMatrixLane {
  int32_t count;
  bool transposed;
  uint32_t* registers;
  const uint8_t* row;
};

// Eight rows of 16 bytes are one wavefront if they lie in eight different columns of banks.
int32_t Wavefronts(const LdMatrixLane* const* rows) {
  int32_t rows_of_column[8] = {};
  int32_t most = 0;
  for (int32_t r = 0; r < 8; ++r) {
    bool repeated = false;
    for (int32_t s = 0; s < r; ++s) repeated = repeated || rows[s]->row == rows[r]->row;
    if (repeated) continue;  // the same words are broadcast
    const int32_t column = static_cast<int32_t>(reinterpret_cast<uintptr_t>(rows[r]->row) / 16 % 8);
    most = std::max(most, ++rows_of_column[column]);
  }
  return most;
}

void LdMatrixOfWarp(void* const* operands) {
  const LdMatrixLane& first = *static_cast<LdMatrixLane*>(operands[0]);
  for (int32_t i = 0; i < first.count; ++i) {
    const LdMatrixLane* rows[8];
    uint16_t matrix[8][8];
    for (int32_t r = 0; r < 8; ++r) {
      rows[r] = static_cast<LdMatrixLane*>(operands[8 * i + r]);
      std::memcpy(matrix[r], rows[r]->row, sizeof(matrix[r]));
    }
    const int32_t wavefronts = Wavefronts(rows);
    Counters().ldmatrix_wavefronts += wavefronts;
    Counters().ldmatrix_conflicts += wavefronts - 1;
    for (int32_t l = 0; l < kWarpLanes; ++l) {
      const int32_t row = l / 4;
      const int32_t column = l % 4 * 2;
      const uint16_t low = first.transposed ? matrix[column][row] : matrix[row][column];
      const uint16_t high = first.transposed ? matrix[column + 1][row] : matrix[row][column + 1];
      static_cast<LdMatrixLane*>(operands[l])->registers[i] = low | static_cast<uint32_t>(high)
                                                                        << 16;
    }
  }
}

bool IsAligned16(const void* address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; }

}  // namespace

void MmaM16N8(DType dtype, int32_t k, float* d, const uint32_t* a, const uint32_t* b,
              const float* c, const std::source_location& where) {
  MmaLane lane{dtype, k, d, a, b, c};
  Block::Current().WarpCollective("mma.sync", 0xFFFFFFFF, &lane, MmaOfWarp, where);
}

void LdMatrix(int32_t count, bool transposed, uint32_t* registers, const void* row,
              const std::source_location& where) {
  LdMatrixLane lane{count, transposed, registers, static_cast<const uint8_t*>(row)};
  if (!IsAligned16(row)) Block::Current().Fault("ldmatrix: a row is not 16-byte aligned", where);
  Block::Current().WarpCollective("ldmatrix", 0xFFFFFFFF, &lane, LdMatrixOfWarp, where);
}

void CpAsync16(void* shared, const void* global, int32_t source_bytes,
               const std::source_location& where) {
  Block& block = Block::Current();
  if (!IsAligned16(shared) || !IsAligned16(global) || source_bytes < 0 || source_bytes > 16) {
    block.Fault("cp.async: an address is not 16-byte aligned, or the size is not 0 to 16", where);
  }
  ++Counters().async_copies;
  block.RunDuring(Block::kCopies, [shared, global, source_bytes] {
    uint8_t bytes[16] = {};
    if (source_bytes > 0) std::memcpy(bytes, global, source_bytes);
    std::memcpy(shared, bytes, sizeof(bytes));
  });
}

void CpAsyncCommit() { Block::Current().Commit(Block::kCopies); }

void CpAsyncWait(int32_t pending_groups) {
  Block::Current().DrainTo(Block::kCopies, pending_groups);
}

}  // namespace batchvar::simt
