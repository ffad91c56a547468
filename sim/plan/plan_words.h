// Small sentences that policies build their explanations from, so that all of them speak alike.
#ifndef BATCHVAR_SIM_PLAN_PLAN_WORDS_H_
#define BATCHVAR_SIM_PLAN_PLAN_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace batchvar {

// "152064 / 128 = 1188", or "ceil(1000 / 128) = 8" where it does not divide.
std::string DivisionWords(int64_t numerator, int64_t denominator);
// "64 x 128" for equal parts, "3 x 1408 + 1 x 128" else; in list order.
std::string PiecesWords(const std::vector<Range>& pieces);
// "1 block", "2 blocks".
std::string CountWords(int64_t count, const std::string& noun);
// "32 blocks leave 100 of 132 SMs idle".
std::string IdleWords(int64_t blocks, int64_t sm_count);
// How a GEMM's output is cut: "152064 / 128 = 1188 blocks", with the tile rows where there are more
// than one of them.
std::vector<std::string> GridWords(const GemmShape& shape, const GemmDecision& decision);
// "1188 / 132 = 9 waves", and how full the last wave is.
std::string WavesWords(const GemmDecision& decision, int32_t sm_count);
// "K = 4096 is summed in one pass" or "K = 4096 is cut into 4 x 1024" where all tiles are alike;
// else how many pieces tiles have: "a tile's K is cut into 1 to 6 pieces, ...".
std::string PieceCountWords(const GemmPlan& plan);
// How stream-K adds the pieces of a tile.
std::string TurnstileWords();

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_PLAN_WORDS_H_
