#include "sim/plan/gemm_table_policy.h"

#include <utility>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/k_pieces.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

// Granule in which K is cut when a table does not say the tile; this project's choice.
constexpr int32_t kUnknownTileK = 64;
// Products of one 16-bit matrix instruction along K on every device since Ampere.
constexpr int32_t kUsualInstrK = 16;

std::string Str(int64_t value) { return std::to_string(value); }

// Without a tile in the table the whole output is one.
Tile TileFor(const GemmTableRow& row, const GemmShape& shape) {
  if (row.tile.m > 0) return row.tile;
  return {static_cast<int32_t>(shape.m), static_cast<int32_t>(shape.n), kUnknownTileK};
}

std::string CombineWords(const GemmTableRow& row) {
  if (row.combine == Combine::kSerial16bit) {
    return "reduction in place: the 16-bit output is rounded after every piece";
  }
  return std::string(DTypeName(row.partial)) +
         " partial sums are added in ascending order of K, rounded once";
}

}  // namespace

GemmTablePolicy::GemmTablePolicy(const GemmPolicySpec& spec) : spec_(spec) {}

const std::string& GemmTablePolicy::GpuOf(const DeviceSpec& device) const {
  return spec_.gpu.empty() ? device.name : spec_.gpu;
}

const GemmTableRow* GemmTablePolicy::RowOf(const GemmShape& shape, const DeviceSpec& device) const {
  return spec_.table == nullptr ? nullptr : spec_.table->Find(GpuOf(device), shape);
}

// "table: the row for gpu ...", the beginning of a message about a row that is there.
std::string GemmTablePolicy::RowWords(const GemmShape& shape, const DeviceSpec& device) const {
  return std::string(name()) + (AsksLibrary() ? ": the answer for " : ": the row for ") +
         GemmKeyWords(GpuOf(device), shape);
}

std::string GemmTablePolicy::Missing(const GemmShape& shape, const DeviceSpec& device) const {
  if (spec_.table == nullptr) {
    return std::string(name()) + ": no " + (AsksLibrary() ? "library" : "table") + " is loaded";
  }
  const GemmTableRow* row = RowOf(shape, device);
  if (row == nullptr) {
    return std::string(name()) + ": " + (AsksLibrary() ? spec_.library : spec_.table_path) + " " +
           spec_.table->WhyMissing(GpuOf(device), shape);
  }
  if (row->sm_count != 0 && row->sm_count != device.sm_count) {
    return RowWords(shape, device) + (AsksLibrary() ? " is for " : " was taken on ") +
           Str(row->sm_count) + " SMs, and the device has " + Str(device.sm_count) +
           (AsksLibrary() ? "; it answers for whole GPUs: set policies.gemm.gpu to one like yours"
                          : "");
  }
  const int64_t k_tiles = CeilDiv(shape.k, TileFor(*row, shape).k);
  if (row->split_k > k_tiles) {
    return RowWords(shape, device) + " splits " + CountWords(k_tiles, "K tile") + " by " +
           Str(row->split_k);
  }
  return {};
}

GemmDecision GemmTablePolicy::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  const GemmTableRow* row = RowOf(shape, device);
  BV_CHECK(row != nullptr);
  GemmDecision decision = OnePassDecision(shape, TileFor(*row, shape), device);
  decision.split_k = row->split_k;
  decision.k_tiles_per_split = CeilDiv(decision.k_tiles, row->split_k);
  if (row->split_k > 1) {
    decision.decomposition = Decomposition::kSplitK;
    decision.combine = row->combine;
  }
  CountWaves(decision.m_blocks * decision.n_blocks * row->split_k, device.sm_count, &decision);
  return decision;
}

std::vector<TileGroup> GemmTablePolicy::TileMap(const GemmShape& shape,
                                                const GemmDecision& decision,
                                                const DeviceSpec& device) const {
  const GemmTableRow* row = RowOf(shape, device);
  BV_CHECK(row != nullptr);
  Order order = MmaOrder(shape, device);
  order.combine = decision.combine;
  if (row->split_k > 1) order.partial = row->partial;
  order.slice_k = row->slice_k;
  if (row->slice_k > 1) order.block = decision.tile.k;
  order.instr_k = row->instr_k == kUsualInstrK ? 0 : row->instr_k;
  // A table says how many pieces there are, not where they end: whole K tiles, as even as can be.
  order.pieces = BalancedPieces(shape.k, decision.tile.k, row->split_k);
  return {{{0, decision.m_blocks}, {0, decision.n_blocks}, std::move(order)}};
}

void GemmTablePolicy::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const GemmTableRow* row = RowOf(plan->shape, device);
  BV_CHECK(row != nullptr);
  const GemmDecision& decision = plan->decision;
  std::vector<std::string>& words = plan->explain;
  words.push_back((AsksLibrary() ? "answered for " : "looked up for ") +
                  GemmKeyWords(GpuOf(device), plan->shape) + ": split_k = " + Str(row->split_k));
  if (row->tile.m > 0) {
    words.push_back(GridWords(plan->shape, decision).front());
    words.push_back(WavesWords(decision, device.sm_count));
  } else {
    words.push_back("the table does not say the tile: CTAs and waves are those of one tile");
  }
  words.push_back(PieceCountWords(*plan));
  if (row->split_k > 1) {
    words.push_back("where the pieces end is not in the " +
                    std::string(AsksLibrary() ? "answer" : "table") + ": whole K tiles of " +
                    Str(decision.tile.k) + ", as even as can be");
    words.push_back(CombineWords(*row));
  }
  if (row->slice_k > 1) {
    words.push_back("slice-K: " + Str(row->slice_k) + " warps share each K tile of " +
                    Str(decision.tile.k));
  }
  if (!row->shown.empty()) {
    words.push_back((AsksLibrary() ? "also answered: " : "also in the table: ") + row->shown);
  }
}

const char* GemmTablePolicy::name() const { return PolicyName(spec_.kind); }

PolicySource GemmTablePolicy::source() const {
  return spec_.table == nullptr ? PolicySource{} : spec_.table->source();
}

}  // namespace batchvar
