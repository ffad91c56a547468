#include "sim/plan/attention_textbook.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

// Query heads that share a KV head are packed as rows of one tile, so a decode of 4 heads a group
// fills 4 rows of tile_q.
int64_t QueryTiles(const AttentionRequest& request, const AttentionHeads& heads, int32_t tile_q) {
  return CeilDiv(request.q_len * (heads.q_heads / heads.kv_heads), tile_q);
}

int64_t BlocksOf(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                 int32_t tile_q) {
  int64_t q_tiles = 0;
  for (const AttentionRequest& request : step) q_tiles += QueryTiles(request, heads, tile_q);
  return q_tiles * heads.kv_heads;
}

int64_t TilesPerPiece(const AttentionRule& rule, int64_t kv_len) {
  return CeilDiv(CeilDiv(kv_len, rule.tile_kv), rule.split_factor);
}

std::string RequestWords(const AttentionRule& rule, const AttentionRequest& request,
                         const Order& order) {
  const int64_t tiles = CeilDiv(request.kv_len, rule.tile_kv);
  return "kv_len " + std::to_string(request.kv_len) + ": " + CountWords(tiles, "KV tile") + ", " +
         std::to_string(TilesPerPiece(rule, request.kv_len)) +
         " a piece: " + PiecesWords(order.pieces);
}

}  // namespace

AttentionTextbook::AttentionTextbook(const AttentionPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.tile_q >= 1 && spec.tile_kv >= 1 && spec.max_split >= 1);
}

AttentionRule AttentionTextbook::Rule(const std::vector<AttentionRequest>& step,
                                      const AttentionHeads& heads, const DeviceSpec& device) const {
  BV_CHECK(heads.kv_heads >= 1 && heads.q_heads % heads.kv_heads == 0);
  AttentionRule rule;
  rule.tile_kv = spec_.tile_kv;
  const int64_t blocks = BlocksOf(step, heads, spec_.tile_q);
  if (blocks > 0 && blocks < device.sm_count) {
    rule.split_factor =
        static_cast<int32_t>(std::min<int64_t>(device.sm_count / blocks, spec_.max_split));
  }
  return rule;
}

Order AttentionTextbook::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                                  const AttentionHeads& heads, const DeviceSpec& device) const {
  return OrderOfPieces(request.kv_len, TilesPerPiece(rule, request.kv_len) * rule.tile_kv,
                       rule.tile_kv, heads, device);
}

std::vector<std::string> AttentionTextbook::Explain(const std::vector<AttentionRequest>& step,
                                                    const AttentionHeads& heads,
                                                    const DeviceSpec& device) const {
  const AttentionRule rule = Rule(step, heads, device);
  const int64_t blocks = BlocksOf(step, heads, spec_.tile_q);
  std::vector<std::string> words;
  words.push_back(CountWords(blocks / heads.kv_heads, "query tile") + " x " +
                  CountWords(heads.kv_heads, "KV head") + " = " + CountWords(blocks, "block"));
  if (blocks >= device.sm_count) {
    words.push_back(CountWords(blocks, "block") + " fill all " + std::to_string(device.sm_count) +
                    " SMs: no split");
  } else {
    const int64_t fits = device.sm_count / std::max<int64_t>(blocks, 1);
    words.push_back(IdleWords(blocks, device.sm_count) + ": " +
                    (rule.split_factor == 1
                         ? "a second copy does not fit, no split"
                         : "every request is split by up to " + std::to_string(rule.split_factor)));
    if (fits > spec_.max_split) {
      words.push_back(std::to_string(fits) +
                      " would fit, max_split = " + std::to_string(spec_.max_split));
    }
  }
  for (const AttentionRequest& request : step) {
    words.push_back(RequestWords(rule, request, OrderFor(rule, request, heads, device)));
  }
  return words;
}

const char* AttentionTextbook::name() const { return PolicyName(AttentionPolicyKind::kTextbook); }

PolicySource AttentionTextbook::source() const { return {"batchvar", "textbook 1", "2026-11-29"}; }

}  // namespace batchvar
