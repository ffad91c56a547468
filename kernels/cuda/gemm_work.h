// A planned GEMM as a list of work for the kernels: which rectangle of outputs a block sums over
// which stretch of K, and how the partial sums then meet. Plain data, copied to the device as it
// is. Made on the host from Orders by PlanGemmWork; the kernels decide nothing about an order.
//
// Partial sums lie as [slot][m][n] in fp32. The slots of one output are consecutive: piece by
// piece in the order of its list, and within a piece slice by slice.
#ifndef BATCHVAR_KERNELS_CUDA_GEMM_WORK_H_
#define BATCHVAR_KERNELS_CUDA_GEMM_WORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/numerics/order.h"
#include "sim/plan/plan.h"

namespace batchvar {

inline constexpr int32_t kCombineRows = 8;
inline constexpr int32_t kCombineColumns = 128;

// Outputs [m_begin, m_end) x [n_begin, n_end).
struct GemmRectangle {
  int32_t m_begin = 0, m_end = 0;
  int32_t n_begin = 0, n_end = 0;
};

// One block's task: a rectangle no larger than its tile, summed over runs of K: the first begins at
// k_begin, the next ones `step` further each, every run is `run` long but ends at k_end.
struct GemmItem {
  GemmRectangle out;
  int32_t k_begin = 0, k_end = 0;
  int32_t run = 0, step = 1;
  int32_t k_tiles = 0;  // how many stretches of tile.k the runs are cut into
  int32_t slot = 0;
  int32_t is_final = 0;  // 1: the only partial sum; it goes to the output itself
};

// One block's task of the second kernel: the partial sums of a rectangle of at most kCombineRows x
// kCombineColumns outputs, added in list order.
struct CombineItem {
  GemmRectangle out;
  int32_t first_slot = 0;
  int32_t pieces = 1;
  int32_t slices = 1;  // of each piece, added first: ascending, or in a butterfly
  DType partial = DType::kFp32;
};

// The outputs that share an order.
struct GemmRegion {
  GemmRectangle out;
  const Order* order = nullptr;
};

enum class GemmKernel : uint8_t {
  kMma,    // mma.sync, any device from sm_80 on
  kFma,    // fp32 fused multiply-adds, tiles in shared memory
  kGemv,   // fp32 fused multiply-adds, lanes along K that meet in a butterfly
  kWgmma,  // wgmma and TMA, sm_90a
};

// Tiles of a block: outputs, and the stretch of K that is in flight at a time. A tile never decides
// a bit. Which of kMmaTiles: the smallest that holds the one that is asked for; rows that cannot be
// copied 16 bytes at a time, and instr_k = 8, have the middle one only.
inline constexpr Tile kMmaTiles[] = {{16, 64, 64}, {64, 64, 64}, {128, 128, 32}};
inline constexpr Tile kFmaTile{64, 64, 32};
inline constexpr Tile kWgmmaTile{128, 128, 64};

struct GemmWorkOptions {
  GemmKernel tensor_core_kernel = GemmKernel::kMma;  // or kWgmma
  Tile tile{64, 64, 0};
  int32_t num_units = 0;  // > 0: that many blocks walk through the items (stream-K), else one each
};

struct GemmWork {
  GemmKernel kernel = GemmKernel::kMma;
  Tile tile;
  int64_t m = 0, n = 0, k = 0;
  Arithmetic arithmetic = Arithmetic::kMmaSm90;
  DType output = DType::kBf16;
  int32_t instr_k = 16;      // kMma: products of one instruction, 16 or 8
  int32_t lanes = 1;         // kGemv
  int32_t vector_width = 1;  // kGemv: consecutive elements that a lane takes of each block
  bool aligned_runs = true;  // every run begins at a multiple of 8
  bool whole_tiles = true;   // every run is a multiple of kWgmmaTile.k long or ends at K
  std::vector<GemmItem> items;
  std::vector<int32_t> units;         // unit u: items [units[u], units[u + 1])
  Combine combine = Combine::kNone;   // of all outputs that are combined
  std::vector<CombineItem> combines;  // none if every item is final
  int64_t num_slots = 0;
};

// `regions` cover [0, m) x [0, n) without overlap and sum over [0, k). One launch has one
// arithmetic, instr_k, output type and, where there are several partial sums, combine. "" or why no
// kernel here executes these orders.
std::string PlanGemmWork(int64_t m, int64_t n, int64_t k, const std::vector<GemmRegion>& regions,
                         const GemmWorkOptions& options, GemmWork* work);

// Whether the tensor cores of a device (10 * major + minor) do what these orders say.
bool HasTensorCoresOf(Arithmetic arithmetic, int32_t compute_capability);

// The regions of a plan; they point into it.
std::vector<GemmRegion> RegionsOfPlan(const GemmPlan& plan);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CUDA_GEMM_WORK_H_
