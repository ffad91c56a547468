// A Plan says how one op of one step is cut on a device: tiles, grid, waves, and the map from
// output tiles to Orders. Plain printable values. Made by gemm_policy.h and attention_policy.h;
// read by reports, `explain`, and whatever runs the op (kernels).
//
// The class of a plan is the digest of its map from output ELEMENTS to orders (order_digest.h), so
// plans that differ only in tiles share a class.
#ifndef BATCHVAR_SIM_PLAN_PLAN_H_
#define BATCHVAR_SIM_PLAN_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/digest.h"
#include "sim/numerics/dtype.h"
#include "sim/numerics/order.h"

namespace batchvar {

struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  DType dtype = DType::kBf16;
};

struct Tile {
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  friend bool operator==(const Tile&, const Tile&) = default;
};

// How blocks share the K range of the output tiles.
enum class Decomposition : uint8_t {
  kDataParallel,  // one block sums a tile's whole K
  kSplitK,        // every tile's K is cut alike
  kStreamK,       // blocks of about equal length walk across tiles: tiles are cut differently
};

constexpr const char* DecompositionName(Decomposition decomposition) {
  switch (decomposition) {
    case Decomposition::kDataParallel: return "data_parallel";
    case Decomposition::kSplitK: return "split_k";
    case Decomposition::kStreamK: return "stream_k";
  }
  return "?";
}

// The numbers of a decision without words: cheap enough for every M of every step.
struct GemmDecision {
  Tile tile;
  int64_t m_blocks = 0;
  int64_t n_blocks = 0;
  int64_t k_tiles = 0;
  Decomposition decomposition = Decomposition::kDataParallel;
  int32_t split_k = 1;            // pieces that exist; stream-K: of the tile that has most
  int64_t k_tiles_per_split = 0;  // of a full piece; others may be shorter
  int64_t sk_tiles = 0;           // stream-K: output tiles whose K is shared ...
  int64_t sk_units = 0;           // ... by that many blocks; tiles beyond them have a block each
  int64_t ctas = 0;               // blocks that have work, splits and stream-K units included
  int64_t waves = 0;
  int64_t last_wave_ctas = 0;        // 1..sm_count
  Combine combine = Combine::kNone;  // of the tiles that have several pieces
};

// Half-open tile ranges that share one order.
struct TileGroup {
  Range m_tiles;
  Range n_tiles;
  Order order;
};

struct RejectedCandidate {
  std::string candidate;
  std::string reason;
};

struct PolicySource {
  std::string project;
  std::string version;
  std::string date;
};

struct GemmPlan {
  std::string policy;
  std::string device;
  int32_t sm_count = 0;
  GemmShape shape;
  GemmDecision decision;
  std::vector<TileGroup> tiles;  // covers every output tile exactly once
  Digest klass;                  // `class` in JSON
  std::vector<std::string> explain;
  std::vector<RejectedCandidate> rejected;
  PolicySource source;
};

// Columns that share one order.
struct OrderStrip {
  Range columns;
  Order order;
};

// One request's share of a step's attention.
struct AttentionRequest {
  int64_t q_len = 1;
  int64_t kv_len = 1;         // after this step: num_computed + q_len
  int64_t shared_prefix = 0;  // leading KV positions that every request of the step shares
  int64_t NumComputed() const { return kv_len - q_len; }
  friend bool operator==(const AttentionRequest&, const AttentionRequest&) = default;
};

struct AttentionRequestPlan {
  AttentionRequest request;
  int32_t num_splits = 1;
  Order order;   // KV pieces of the request's last query row, in combine order
  Digest klass;  // of that order
};

// What a whole step has in common: two steps with equal rules cut any (q_len, kv_len) alike.
// Fields behind split_size enter a rule's digest only where they are not 0.
struct AttentionRule {
  int32_t tile_kv = 128;
  int32_t split_factor = 1;     // most splits of a request
  int64_t split_size = 0;       // > 0: KV positions of a split, counted from token 0
  int64_t growth = 0;           // > 0: one split for each so many KV positions, up to split_factor
  int32_t prefill_tile_kv = 0;  // > 0: requests with more than one query token are cut by
  int64_t prefill_split_size = 0;  // these two instead
  int64_t shared_prefix = 0;       // > 0: these leading KV positions are a piece of their own
  friend auto operator<=>(const AttentionRule&, const AttentionRule&) = default;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_PLAN_H_
