#include "kernels/simt/sm90_model.h"

#include <cstring>

#include "kernels/simt/block.h"
#include "kernels/simt/device.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar::simt {
namespace {

// An mbarrier's 8 bytes. It completes its phase when nobody is awaited and no byte is missing.
struct Mbarrier {
  uint16_t arrivals;  // of a phase
  uint16_t pending;   // of the current one
  int32_t bytes : 31;
  uint32_t parity : 1;

  void CompleteIfDone() {
    if (pending != 0 || bytes != 0) return;
    pending = arrivals;
    parity ^= 1;
  }
};
static_assert(sizeof(Mbarrier) == 8);

constexpr uint32_t kMostArrivals = kMaxThreads;

// `barrier`, which was initialised.
Mbarrier* Initialised(uint64_t* barrier, const std::source_location& where) {
  Mbarrier* state = reinterpret_cast<Mbarrier*>(barrier);
  if (state->arrivals == 0 || state->arrivals > kMostArrivals) {
    Block::Current().Fault("an mbarrier that nobody has initialised", where);
  }
  return state;
}

constexpr int32_t kSwizzleBytes = 128;

// Where byte `offset` of rows of 128 bytes lies: 16-byte chunks are exchanged within eight rows.
uint32_t Swizzled(uint32_t offset) { return offset ^ ((offset >> 7 & 7) << 4); }

void CopyBox(uint8_t* shared, const CUtensorMap& map, int32_t x, int32_t y) {
  const uint32_t base = static_cast<uint32_t>(shared - Block::Current().dynamic_shared());
  for (int32_t row = 0; row < map.box_y; ++row) {
    for (int32_t column = 0; column < map.box_x; ++column) {
      const int64_t at_x = int64_t{x} + column, at_y = int64_t{y} + row;
      const bool inside = at_x >= 0 && at_x < map.size_x && at_y >= 0 && at_y < map.size_y;
      const uint16_t word = inside ? map.words[at_y * map.row_words + at_x] : uint16_t{0};
      const uint32_t offset = base + static_cast<uint32_t>(row * kSwizzleBytes + column * 2);
      std::memcpy(Block::Current().dynamic_shared() + Swizzled(offset), &word, sizeof(word));
    }
  }
}

// A K-major operand with a swizzle of 128 bytes, as the PTX ISA's matrix descriptor says it.
struct Operand {
  uint32_t start;         // bytes from the begin of shared memory
  uint32_t stride_bytes;  // from eight rows to the next eight

  void Row(int32_t row, uint16_t* words) const {
    for (int32_t k = 0; k < 16; ++k) {
      const uint32_t offset = start + static_cast<uint32_t>(row / 8) * stride_bytes +
                              static_cast<uint32_t>(row % 8 * kSwizzleBytes + k * 2);
      std::memcpy(&words[k], Block::Current().dynamic_shared() + Swizzled(offset), 2);
    }
  }
};

Operand Decode(uint64_t descriptor, const std::source_location& where) {
  constexpr uint64_t kSwizzle128 = 1;
  if (descriptor >> 62 != kSwizzle128 || (descriptor >> 49 & 7) != 0) {
    Block::Current().Fault("a matrix descriptor without a swizzle of 128 bytes", where);
  }
  return {static_cast<uint32_t>(descriptor & 0x3FFF) << 4,
          static_cast<uint32_t>(descriptor >> 32 & 0x3FFF) << 4};
}

// This thread's part: rows l / 4 and l / 4 + 8 of its warp's 16, pairs of columns.
void AddProducts(DType dtype, int32_t n, int32_t thread, float* d, const Operand& a,
                 const Operand& b) {
  const MmaModel model = MmaModelFor(Device().compute_capability, dtype);
  const int32_t lane = thread % kWarpLanes;
  uint16_t of_a[2][16], of_b[16];
  for (int32_t i = 0; i < 2; ++i) a.Row(thread / kWarpLanes * 16 + lane / 4 + 8 * i, of_a[i]);
  for (int32_t j = 0; j < n / 8; ++j) {
    for (int32_t e = 0; e < 2; ++e) {
      b.Row(8 * j + lane % 4 * 2 + e, of_b);
      for (int32_t i = 0; i < 2; ++i) {
        float* sum = d + 4 * j + 2 * i + e;
        *sum = FloatOf(FusedDotAdd(model, dtype, of_a[i], 1, of_b, 1, BitsOf(*sum)));
      }
    }
  }
}

}  // namespace

void MbarrierInit(uint64_t* barrier, uint32_t arrivals, const std::source_location& where) {
  if (arrivals == 0 || arrivals > kMostArrivals) {
    Block::Current().Fault("an mbarrier awaits 1 to 1024 arrivals", where);
  }
  const uint16_t count = static_cast<uint16_t>(arrivals);
  *reinterpret_cast<Mbarrier*>(barrier) = {count, count, 0, 0};
}

void MbarrierArrive(uint64_t* barrier, uint32_t bytes, const std::source_location& where) {
  Mbarrier* state = Initialised(barrier, where);
  if (state->pending == 0) Block::Current().Fault("one arrival too many at an mbarrier", where);
  state->bytes += static_cast<int32_t>(bytes);
  --state->pending;
  state->CompleteIfDone();
}

void MbarrierWait(uint64_t* barrier, uint32_t parity, const std::source_location& where) {
  const Mbarrier* state = Initialised(barrier, where);
  Block::Current().WaitUntil(
      "a wait for an mbarrier", [state, parity] { return state->parity != (parity & 1); }, where);
}

void TmaLoad2d(void* shared, const CUtensorMap& map, uint64_t* barrier, int32_t x, int32_t y,
               const std::source_location& where) {
  Mbarrier* state = Initialised(barrier, where);
  uint8_t* const to = static_cast<uint8_t*>(shared);
  if (SharedOffset(shared, where) % 1024 != 0 || map.box_x * 2 != kSwizzleBytes) {
    Block::Current().Fault("a swizzled box is 128 bytes wide and aligned to 1024", where);
  }
  ++Counters().async_copies;
  Block::Current().RunLater([to, map, state, x, y] {
    CopyBox(to, map, x, y);
    state->bytes -= map.box_x * map.box_y * 2;
    state->CompleteIfDone();
  });
}

void WgmmaM64K16(DType dtype, int32_t n, float* d, uint64_t a, uint64_t b,
                 const std::source_location& where) {
  Block& block = Block::Current();
  const Operand of_a = Decode(a, where), of_b = Decode(b, where);
  const int32_t thread = block.thread() % (4 * kWarpLanes);
  block.WarpgroupCollective(
      "wgmma", nullptr, [](void* const*) {}, where);
  if (thread == 0) ++Counters().matrix_instructions;
  block.RunDuring(Block::kMatrices, [=] { AddProducts(dtype, n, thread, d, of_a, of_b); });
}

void WgmmaCommit() { Block::Current().Commit(Block::kMatrices); }

void WgmmaWait(int32_t pending_groups, const std::source_location& where) {
  Block::Current().DrainTo(Block::kMatrices, pending_groups);
  Block::Current().WarpCollective(
      "wgmma.wait_group", 0xFFFFFFFF, nullptr, [](void* const*) {}, where);
}

uint32_t SharedOffset(const void* shared, const std::source_location& where) {
  const Block& block = Block::Current();
  const ptrdiff_t offset = static_cast<const uint8_t*>(shared) - block.dynamic_shared();
  if (offset < 0 || offset >= static_cast<ptrdiff_t>(block.dynamic_shared_bytes())) {
    Block::Current().Fault("an address outside the dynamic shared memory", where);
  }
  return static_cast<uint32_t>(offset);
}

}  // namespace batchvar::simt
