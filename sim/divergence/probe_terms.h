// The numbers that reveal.h needs, for sums in fp32, in tensor cores and rounded to 16 bits on the
// way. Every program that adds a list of terms can be asked through RevealTerms().
//
// M = 2^10 and the unit 2^-24 are exact in bf16, fp16 and fp32, and so are 256 units. 256 units are
// 2^-26 of M: less than half of the fp32 spacing below M, and below what any fused sum keeps beside
// M (2^-24 of it on Ampere, 2^-25 on Hopper).
#ifndef BATCHVAR_SIM_DIVERGENCE_PROBE_TERMS_H_
#define BATCHVAR_SIM_DIVERGENCE_PROBE_TERMS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/divergence/reveal.h"

namespace batchvar {

inline constexpr float kProbeLarge = 0x1p10f;
inline constexpr float kProbeUnit = 0x1p-24f;
inline constexpr int64_t kMaxProbeTerms = 256;  // more are not exact in bf16

// What a program makes of a list of terms. Every term is 0, a unit, or plus or minus kProbeLarge.
using TermSum = std::function<double(const std::vector<float>& terms)>;

// The places of [0, extent) that get a number: all of them up to `count`, else runs of up to four
// neighbours spread evenly. Neighbours show what an instruction fuses and the spread what is cut
// apart; runs begin at other places modulo 16 in turn, so that some lie across the edges of an
// instruction of any width. The first and the last place are among them; a piece that lies between
// two runs is not seen. Ascending; at most `count`, which is from 1 to kMaxProbeTerms.
std::vector<int64_t> ProbePlaces(int64_t extent, int64_t count);

// The tree of `sum` over terms at `places` of [0, extent), zeros elsewhere; leaf i is places[i].
RevealedSum RevealTerms(int64_t extent, const std::vector<int64_t>& places, const TermSum& sum);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_PROBE_TERMS_H_
