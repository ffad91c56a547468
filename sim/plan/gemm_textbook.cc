#include "sim/plan/gemm_textbook.h"

#include <algorithm>
#include <string>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

// Splits that are wanted before K tiles are shared out. The limits other than `fits` keep pieces
// from becoming too short or too many; the smallest of all wins.
struct SplitLimits {
  int64_t fits = 1;  // copies of the output grid that fit on the SMs at once
  int64_t by_k_min = 1;
  int64_t by_max_split = 1;
  int64_t by_k_tiles = 1;
  int64_t Wanted() const { return std::min({fits, by_max_split, by_k_min, by_k_tiles}); }
};

SplitLimits LimitsOf(const GemmPolicySpec& spec, int64_t k, int64_t blocks, int64_t k_tiles,
                     int32_t sm_count) {
  SplitLimits limits;
  limits.fits = blocks >= sm_count ? 1 : sm_count / blocks;
  limits.by_k_min = std::max<int64_t>(1, k / spec.k_min);
  limits.by_max_split = spec.max_split;
  limits.by_k_tiles = k_tiles;
  return limits;
}

// Numbers that the words below need again and again.
struct Facts {
  int64_t blocks = 0;
  int64_t sm_count = 0;
  SplitLimits limits;
  const GemmPlan* plan = nullptr;
  int64_t split() const { return plan->decision.split_k; }
  int64_t k() const { return plan->shape.k; }
};

std::string Str(int64_t value) { return std::to_string(value); }

// Which limit other than the SMs stops at `split`, and why `split + 1` would break it.
std::string LimitWords(const Facts& facts, const GemmPolicySpec& spec, int64_t candidate) {
  if (candidate > facts.limits.by_max_split) return "max_split = " + Str(spec.max_split);
  if (candidate > facts.limits.by_k_tiles) {
    return "K = " + Str(facts.k()) + " has only " + CountWords(facts.limits.by_k_tiles, "tile") +
           " of " + Str(facts.plan->decision.tile.k);
  }
  if (candidate > facts.limits.by_k_min) {
    return "K = " + Str(facts.k()) + " in " + Str(candidate) +
           " pieces would go below k_min = " + Str(spec.k_min) + " a piece";
  }
  return "";
}

std::string WhyNotMore(const Facts& facts, const GemmPolicySpec& spec, int64_t candidate) {
  const int64_t ctas = candidate * facts.blocks;
  const std::string product =
      Str(candidate) + " x " + Str(facts.blocks) + " = " + Str(ctas) + " blocks";
  if (facts.blocks >= facts.sm_count) {
    return product + ", but " + Str(facts.blocks) + " already fill all " + Str(facts.sm_count) +
           " SMs";
  }
  if (ctas > facts.sm_count) {
    return product + " do not fit on " + Str(facts.sm_count) + " SMs at once: a second wave";
  }
  const std::string limit = LimitWords(facts, spec, candidate);
  if (!limit.empty()) return limit;
  // Sharing whole K tiles out evenly left fewer pieces than were wanted.
  const int64_t k_tiles = facts.plan->decision.k_tiles;
  const int64_t per_piece = CeilDiv(k_tiles, candidate);
  return CountWords(k_tiles, "K tile") + " in " + Str(candidate) + " pieces are " + Str(per_piece) +
         " a piece, and " + CountWords(CeilDiv(k_tiles, per_piece), "piece") + " of them cover K";
}

std::string WhyNotFewer(const Facts& facts, int64_t candidate) {
  const int64_t ctas = candidate * facts.blocks;
  return CountWords(ctas, "block") + (ctas == 1 ? " leaves " : " leave ") +
         CountWords(facts.sm_count - ctas, "SM") + " idle";
}

void ExplainSplit(const Facts& facts, const GemmPolicySpec& spec, std::vector<std::string>* words) {
  words->push_back(IdleWords(facts.blocks, facts.sm_count));
  if (facts.limits.Wanted() < facts.limits.fits) {
    words->push_back(Str(facts.limits.fits) + " pieces would fit; " +
                     LimitWords(facts, spec, facts.limits.Wanted() + 1) + ", so at most " +
                     Str(facts.limits.Wanted()));
  }
  const std::string k = "K = " + Str(facts.k());
  if (facts.split() == 1) {
    if (facts.limits.fits == 1)
      words->push_back("a second copy of the grid does not fit: no split");
    words->push_back(k + " is summed in one pass");
    return;
  }
  words->push_back("split " + k + " into " + PiecesWords(facts.plan->tiles[0].order.pieces));
  words->push_back(Str(facts.blocks) + " x " + Str(facts.split()) + " = " +
                   WavesWords(facts.plan->decision, static_cast<int32_t>(facts.sm_count)));
  words->push_back("the fp32 partial sums are added in ascending order of K, rounded once");
}

}  // namespace

GemmTextbook::GemmTextbook(const GemmPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.k_min >= 1 && spec.max_split >= 1);
}

GemmDecision GemmTextbook::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  GemmDecision decision = OnePassDecision(shape, TileOf(spec_, shape.dtype), device);
  const int64_t wanted = LimitsOf(spec_, shape.k, decision.m_blocks * decision.n_blocks,
                                  decision.k_tiles, device.sm_count)
                             .Wanted();
  SplitEvenly(CeilDiv(decision.k_tiles, wanted), Combine::kSerialFp32, device, &decision);
  return decision;
}

void GemmTextbook::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const GemmDecision& decision = plan->decision;
  Facts facts;
  facts.blocks = decision.m_blocks * decision.n_blocks;
  facts.sm_count = device.sm_count;
  facts.limits = LimitsOf(spec_, plan->shape.k, facts.blocks, decision.k_tiles, device.sm_count);
  facts.plan = plan;
  plan->explain = GridWords(plan->shape, decision);
  if (facts.blocks >= facts.sm_count) {
    plan->explain.push_back(WavesWords(decision, device.sm_count));
    plan->explain.push_back("the device is full, no split");
    plan->explain.push_back("K = " + Str(plan->shape.k) + " is summed in one pass");
  } else {
    ExplainSplit(facts, spec_, &plan->explain);
  }
  const int64_t split = decision.split_k;
  if (split > 1) {
    plan->rejected.push_back({"split_k = " + Str(split - 1), WhyNotFewer(facts, split - 1)});
  }
  plan->rejected.push_back({"split_k = " + Str(split + 1), WhyNotMore(facts, spec_, split + 1)});
}

const char* GemmTextbook::name() const { return PolicyName(GemmPolicyKind::kTextbook); }

PolicySource GemmTextbook::source() const { return {"batchvar", "textbook 1", "2026-11-29"}; }

}  // namespace batchvar
