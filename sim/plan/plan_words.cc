#include "sim/plan/plan_words.h"

#include <algorithm>

#include "sim/base/time.h"

namespace batchvar {

std::string DivisionWords(int64_t numerator, int64_t denominator) {
  const std::string division = std::to_string(numerator) + " / " + std::to_string(denominator);
  const std::string quotient = std::to_string(CeilDiv(numerator, denominator));
  if (numerator % denominator == 0) return division + " = " + quotient;
  return "ceil(" + division + ") = " + quotient;
}

std::string PiecesWords(const std::vector<Range>& pieces) {
  std::string words;
  for (size_t i = 0; i < pieces.size();) {
    const int64_t length = pieces[i].end - pieces[i].begin;
    size_t next = i + 1;
    while (next < pieces.size() && pieces[next].end - pieces[next].begin == length) ++next;
    if (!words.empty()) words += " + ";
    words += std::to_string(next - i) + " x " + std::to_string(length);
    i = next;
  }
  return words;
}

std::string CountWords(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string IdleWords(int64_t blocks, int64_t sm_count) {
  return CountWords(blocks, "block") + (blocks == 1 ? " leaves " : " leave ") +
         std::to_string(sm_count - blocks) + " of " + std::to_string(sm_count) + " SMs idle";
}

std::vector<std::string> GridWords(const GemmShape& shape, const GemmDecision& decision) {
  const std::string columns = DivisionWords(shape.n, decision.tile.n);
  if (decision.m_blocks == 1) {
    const std::string noun = decision.n_blocks == 1 ? " block" : " blocks";
    return {"M = " + std::to_string(shape.m) + " fits into one tile of " +
            std::to_string(decision.tile.m) + " rows: " + columns + noun};
  }
  const int64_t blocks = decision.m_blocks * decision.n_blocks;
  return {DivisionWords(shape.m, decision.tile.m) + " tile rows, " + columns +
          " tile columns: " + std::to_string(decision.m_blocks) + " x " +
          std::to_string(decision.n_blocks) + " = " + CountWords(blocks, "block")};
}

std::string WavesWords(const GemmDecision& decision, int32_t sm_count) {
  if (decision.waves == 1) {
    const int64_t idle = sm_count - decision.ctas;
    if (idle == 0) {
      return CountWords(decision.ctas, "block") + " fill all " + std::to_string(sm_count) +
             " SMs: 1 wave";
    }
    return CountWords(decision.ctas, "block") + (decision.ctas == 1 ? " runs" : " run") +
           " in 1 wave on " + std::to_string(sm_count) + " SMs; " + std::to_string(idle) +
           (idle == 1 ? " stays idle" : " stay idle");
  }
  std::string words = DivisionWords(decision.ctas, sm_count) + " waves";
  if (decision.last_wave_ctas != sm_count) {
    words += "; the last one uses " + std::to_string(decision.last_wave_ctas) + " of " +
             std::to_string(sm_count) + " SMs";
  }
  return words;
}

std::string PieceCountWords(const GemmPlan& plan) {
  const std::vector<Range>& first = plan.tiles.front().order.pieces;
  size_t fewest = first.size();
  size_t most = first.size();
  bool alike = true;
  for (const TileGroup& group : plan.tiles) {
    alike = alike && group.order.pieces == first;
    fewest = std::min(fewest, group.order.pieces.size());
    most = std::max(most, group.order.pieces.size());
  }
  const std::string k = "K = " + std::to_string(plan.shape.k);
  if (alike && most == 1) return k + " is summed in one pass";
  if (alike) return k + " is cut into " + PiecesWords(first);
  std::string counts = std::to_string(most);
  if (fewest != most) counts = std::to_string(fewest) + " to " + counts;
  return "a tile's K is cut into " + counts + (most == 1 ? " piece" : " pieces") +
         ", not the same from tile to tile";
}

std::string TurnstileWords() {
  return "a tile's partial sums pass through a turnstile: added in ascending order of K in fp32, "
         "rounded once";
}

}  // namespace batchvar
