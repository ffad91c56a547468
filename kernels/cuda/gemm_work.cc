#include "kernels/cuda/gemm_work.h"

#include <algorithm>
#include <limits>

#include "sim/base/time.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {
namespace {

constexpr int32_t kMaxPairwisePieces = 256;  // combine.cu keeps a level for each power of two
constexpr int32_t kMaxLanes = 256;           // of a GEMV group: a block's threads at most

bool IsGemv(const Order& order) {
  return order.arithmetic == Arithmetic::kFmaChain && order.combine == Combine::kButterfly &&
         order.slice_k > 1;
}

// On Ampere an instruction over 16 products is two over 8, so the wider one serves both.
int32_t InstrKOf(const Order& order) {
  if (!IsMma(order.arithmetic)) return 0;
  return MmaModelOf(order.arithmetic, order.instr_k).fused < MmaModelOf(order.arithmetic, 0).fused
             ? 8
             : 16;
}

// Whether one order alone can be executed.
std::string CheckOrder(const Order& order, int64_t k) {
  if (!IsMma(order.arithmetic) && order.arithmetic != Arithmetic::kFmaChain) {
    return "a GEMM is summed by tensor cores or by FMA chains";
  }
  if (IsMma(order.arithmetic) && order.instr_k != 0 && order.instr_k != 8 && order.instr_k != 16) {
    return "no instruction multiplies " + std::to_string(order.instr_k) +
           " products of 16-bit operands; instr_k is 0, 8 or 16";
  }
  if (order.pieces.empty()) return "an order has no pieces";
  int64_t covered = 0;
  for (const Range& piece : order.pieces) {
    if (piece.begin < 0 || piece.begin > piece.end || piece.end > k) {
      return "a piece of K lies outside [0, " + std::to_string(k) + ")";
    }
    covered += piece.end - piece.begin;
  }
  if (covered != k) return "the pieces do not cover K once";
  if (order.slice_k < 1) return "slice_k is below 1";
  if (order.slice_k > 1 && (order.block < 1 || order.block % order.slice_k != 0)) {
    return "slices need a block that they divide";
  }
  switch (order.combine) {
    case Combine::kNone:
      if (order.pieces.size() != 1) return "several pieces need a combine";
      break;
    case Combine::kButterfly:
      if (order.pieces.size() != 1) return "a butterfly has one piece";
      if ((order.slice_k & (order.slice_k - 1)) != 0 || order.slice_k > kMaxLanes) {
        return "a butterfly has a power of two of lanes, " + std::to_string(kMaxLanes) + " at most";
      }
      break;
    case Combine::kPairwise:
      if (order.pieces.size() > kMaxPairwisePieces) {
        return "pairwise adds " + std::to_string(kMaxPairwisePieces) + " pieces at most";
      }
      break;
    case Combine::kSerialFp32:
    case Combine::kSerial16bit:
    case Combine::kTurnstile:
    case Combine::kExactSum: break;
    case Combine::kLse:
    case Combine::kChained: return "this combine is attention's";
  }
  return {};
}

// What all regions of a launch share, from the first one.
std::string TakeKind(const Order& order, const GemmWorkOptions& options, GemmWork* work) {
  work->arithmetic = order.arithmetic;
  work->output = order.output;
  work->instr_k = InstrKOf(order);
  work->combine = order.combine;
  if (IsGemv(order)) {
    work->kernel = GemmKernel::kGemv;
    work->lanes = order.slice_k;
    work->vector_width = order.block / order.slice_k;
  } else {
    work->kernel = IsMma(order.arithmetic) ? options.tensor_core_kernel : GemmKernel::kFma;
  }
  if (work->kernel == GemmKernel::kWgmma && work->instr_k != 16) {
    return "wgmma multiplies 16 products at a time";
  }
  return {};
}

// Whether the second kernel has something to do: sums to add, or one to round before the end.
bool HasPartials(const Order& order) {
  return order.pieces.size() > 1 || order.slice_k > 1 || order.partial != DType::kFp32 ||
         order.combine == Combine::kSerial16bit;
}

// What the order's runs of K are: where 16-byte copies are possible, and whole tiles of wgmma.
void NoteRuns(const Order& order, GemmWork* work) {
  const bool sliced = order.slice_k > 1;
  const int32_t run = sliced ? order.block / order.slice_k : kWgmmaTile.k;
  for (const Range& piece : order.pieces) {
    work->aligned_runs = work->aligned_runs && piece.begin % 8 == 0 && run % 8 == 0;
    const bool whole_end = (piece.end - piece.begin) % kWgmmaTile.k == 0 || piece.end == work->k;
    work->whole_tiles = work->whole_tiles && whole_end && run % kWgmmaTile.k == 0;
  }
}

std::string CheckKind(const Order& order, const GemmWork& work) {
  const bool fits = order.arithmetic == work.arithmetic && order.output == work.output &&
                    InstrKOf(order) == work.instr_k &&
                    IsGemv(order) == (work.kernel == GemmKernel::kGemv);
  if (!fits) return "orders of one launch differ in arithmetic or output type";
  if (HasPartials(order) && order.combine != work.combine) {
    return "orders of one launch combine in different ways";
  }
  if (work.kernel == GemmKernel::kGemv &&
      (order.slice_k != work.lanes || order.block != work.lanes * work.vector_width)) {
    return "orders of one launch have different lanes";
  }
  return {};
}

// Cuts a rectangle into ones of at most `rows` x `columns`.
std::vector<GemmRectangle> Cut(const GemmRectangle& whole, int32_t rows, int32_t columns) {
  std::vector<GemmRectangle> parts;
  for (int32_t m = whole.m_begin; m < whole.m_end; m += rows) {
    for (int32_t n = whole.n_begin; n < whole.n_end; n += columns) {
      parts.push_back({m, std::min(m + rows, whole.m_end), n, std::min(n + columns, whole.n_end)});
    }
  }
  return parts;
}

// The stretches of `tile_k` that an item's runs are cut into, each run anew.
int32_t KTilesOf(const GemmItem& item, int32_t tile_k) {
  const int32_t length = std::max(item.k_end - item.k_begin, 0);
  const int32_t rest = std::min(length % item.step, item.run);
  return static_cast<int32_t>(length / item.step * CeilDiv(item.run, tile_k) +
                              CeilDiv(rest, tile_k));
}

// One item for each slice of each piece of a rectangle, in the order of the slots.
void AddItems(const GemmRectangle& out, const Order& order, GemmWork* work) {
  const bool is_final = !HasPartials(order);
  int32_t slot = 0;
  for (const Range& piece : order.pieces) {
    for (int32_t s = 0; s < order.slice_k; ++s, ++slot) {
      GemmItem item;
      item.out = out;
      item.k_end = static_cast<int32_t>(piece.end);
      item.k_begin = static_cast<int32_t>(piece.begin);
      item.run = std::max(item.k_end - item.k_begin, 1);
      item.step = item.run;
      if (order.slice_k > 1) {
        item.run = order.block / order.slice_k;
        item.step = order.block;
        item.k_begin += s * item.run;
      }
      item.k_tiles = KTilesOf(item, work->tile.k);
      item.slot = slot;
      item.is_final = is_final ? 1 : 0;
      work->items.push_back(item);
    }
  }
  work->num_slots = std::max<int64_t>(work->num_slots, is_final ? 0 : slot);
}

void AddCombines(const GemmRectangle& out, const Order& order, GemmWork* work) {
  for (const GemmRectangle& part : Cut(out, kCombineRows, kCombineColumns)) {
    CombineItem item;
    item.out = part;
    item.pieces = static_cast<int32_t>(order.pieces.size());
    item.slices = order.slice_k;
    // A running sum in 16 bits takes every piece in fp32.
    item.partial = order.combine == Combine::kSerial16bit ? DType::kFp32 : order.partial;
    work->combines.push_back(item);
  }
}

// The tile that is asked for where there is a kernel of that size for these runs of K.
Tile TileFor(const Tile& wanted, const GemmWork& work) {
  if (work.kernel == GemmKernel::kFma) return kFmaTile;
  if (work.kernel == GemmKernel::kWgmma) return kWgmmaTile;
  if (!work.aligned_runs || work.k % 8 != 0 || work.instr_k != 16) return kMmaTiles[1];
  for (const Tile& tile : kMmaTiles) {
    if (wanted.m <= tile.m && wanted.n <= tile.n) return tile;
  }
  return kMmaTiles[2];
}

int64_t LengthOf(const GemmItem& item) {
  const int64_t runs = CeilDiv(std::max(item.k_end - item.k_begin, 0), item.step);
  return std::max<int64_t>(runs * item.run, 1);
}

// Items in a row for each of `num_units` blocks, about equally long in K; 0: one item each.
void AddUnits(int32_t num_units, GemmWork* work) {
  int64_t total = 0;
  for (const GemmItem& item : work->items) total += LengthOf(item);
  int64_t walked = 0;
  int32_t unit = 0;
  for (size_t i = 0; i < work->items.size(); ++i) {
    // The unit that this item's first element falls to.
    const bool begins = num_units <= 0 || walked * num_units >= total * unit;
    if (begins) {
      work->units.push_back(static_cast<int32_t>(i));
      if (num_units > 0) unit = static_cast<int32_t>(walked * num_units / total) + 1;
    }
    walked += LengthOf(work->items[i]);
  }
  work->units.push_back(static_cast<int32_t>(work->items.size()));
}

// Every order can be executed, all belong to one launch, and the regions are the output.
std::string CheckRegions(const std::vector<GemmRegion>& regions, const GemmWorkOptions& options,
                         GemmWork* work) {
  int64_t covered = 0;
  bool combines = false;
  for (const GemmRegion& region : regions) {
    const GemmRectangle& out = region.out;
    if (out.m_begin < 0 || out.n_begin < 0 || out.m_begin >= out.m_end ||
        out.n_begin >= out.n_end || out.m_end > work->m || out.n_end > work->n) {
      return "a region is empty or lies outside the output";
    }
    covered += int64_t{out.m_end - out.m_begin} * (out.n_end - out.n_begin);
    std::string wrong = CheckOrder(*region.order, work->k);
    if (wrong.empty() && &region == &regions[0]) wrong = TakeKind(*region.order, options, work);
    if (!combines && HasPartials(*region.order)) {
      work->combine = region.order->combine;
      combines = true;
    }
    if (wrong.empty()) wrong = CheckKind(*region.order, *work);
    if (!wrong.empty()) return wrong;
  }
  return covered == work->m * work->n ? "" : "the regions do not cover the output once";
}

}  // namespace

std::string PlanGemmWork(int64_t m, int64_t n, int64_t k, const std::vector<GemmRegion>& regions,
                         const GemmWorkOptions& options, GemmWork* work) {
  *work = {};
  work->m = m, work->n = n, work->k = k;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  if (m < 1 || n < 1 || k < 1) return "M, N and K are at least 1";
  if (m > kMost || n > kMost || k > kMost) return "M, N and K are below 2^30";
  if (regions.empty()) return "there are no regions";
  const std::string wrong = CheckRegions(regions, options, work);
  if (!wrong.empty()) return wrong;
  if (work->kernel == GemmKernel::kGemv) return {};  // its grid is the output itself
  for (const GemmRegion& region : regions) NoteRuns(*region.order, work);
  work->tile = TileFor(options.tile, *work);
  if (work->kernel == GemmKernel::kWgmma && !(work->whole_tiles && work->k % 8 == 0)) {
    return "wgmma needs pieces of whole tiles of 64 and rows of whole 16 bytes";
  }
  for (const GemmRegion& region : regions) {
    for (const GemmRectangle& part : Cut(region.out, work->tile.m, work->tile.n)) {
      AddItems(part, *region.order, work);
    }
    if (HasPartials(*region.order)) AddCombines(region.out, *region.order, work);
  }
  AddUnits(options.num_units, work);
  return {};
}

bool HasTensorCoresOf(Arithmetic arithmetic, int32_t compute_capability) {
  return MmaModelFor(compute_capability, DType::kBf16) == MmaModelOf(arithmetic, 0);
}

std::vector<GemmRegion> RegionsOfPlan(const GemmPlan& plan) {
  const Tile& tile = plan.decision.tile;
  std::vector<GemmRegion> regions;
  for (const TileGroup& group : plan.tiles) {
    GemmRegion region;
    region.out.m_begin = static_cast<int32_t>(group.m_tiles.begin * tile.m);
    region.out.m_end = static_cast<int32_t>(std::min(group.m_tiles.end * tile.m, plan.shape.m));
    region.out.n_begin = static_cast<int32_t>(group.n_tiles.begin * tile.n);
    region.out.n_end = static_cast<int32_t>(std::min(group.n_tiles.end * tile.n, plan.shape.n));
    region.order = &group.order;
    if (region.out.m_begin < region.out.m_end && region.out.n_begin < region.out.n_end) {
      regions.push_back(region);
    }
  }
  return regions;
}

}  // namespace batchvar
