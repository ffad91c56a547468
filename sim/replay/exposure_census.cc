#include "sim/replay/exposure_census.h"

#include <algorithm>

#include "sim/base/check.h"

namespace batchvar {

void ExposureCensus::OnRequest(int32_t index, const Request& request) {
  BV_CHECK(index == static_cast<int32_t>(lives_.size()));
  Life& life = lives_.emplace_back();
  life.exposure.arrival_ns = request.arrival_ns;
  life.prompt_tokens = request.prompt_tokens;
  life.output_tokens = request.output_tokens;
  life.shares = !request.prefix.empty();
}

const AttentionRule& ExposureCensus::RuleAt(const StepSpan& span, int32_t step) {
  if (!book_->attention().RuleUsesKvLengths()) step = 0;
  while (std::ssize(rules_) <= step) {
    rules_.push_back(book_->RuleOf(span.batch, static_cast<int32_t>(rules_.size())));
  }
  return rules_[static_cast<size_t>(step)];
}

void ExposureCensus::TakeOver(const PrefixHit& hit) {
  Life& life = lives_[hit.request];
  if (life.exposed || hit.producer.request == hit.request) return;
  for (const PromptStep& step : lives_[hit.producer.request].prompt_steps) {
    const int64_t begin = std::max<int64_t>(hit.begin, step.entry.begin());
    const int64_t end = std::min<int64_t>(hit.end, step.entry.end());
    if (step.pass != hit.producer.pass || begin >= end) continue;
    if (lone_.PromptDiffers(life.prompt_tokens, step.entry, begin, end, /*head=*/false)) {
      life.exposed = true;
      return;
    }
  }
}

void ExposureCensus::CountPrompt(const HistoryEntry& entry, Life* life) {
  if (life->shares) life->prompt_steps.push_back({life->pass, entry});
  if (!life->exposed) {
    life->exposed = lone_.PromptDiffers(life->prompt_tokens, entry, entry.begin(), entry.end(),
                                        /*head=*/true);
  }
  if (entry.phase != Phase::kLastChunk) return;
  ++life->exposure.tokens;
  if (life->exposed) ++life->exposure.exposed;
}

void ExposureCensus::CountDecode(const HistoryEntry& entry, const StepSpan& span, Life* life) {
  // A step that runs past the last token (asynchronous scheduling) answers nobody.
  const int64_t last = int64_t{life->prompt_tokens} + life->output_tokens - 1;
  const int64_t steps = std::clamp<int64_t>(last - entry.num_computed, 0, entry.num_steps);
  life->exposure.tokens += steps;
  int64_t first = 0;
  if (!life->exposed) {
    first = lone_.FirstOtherDecode(
        entry, [&](int32_t step) -> const AttentionRule& { return RuleAt(span, step); });
    life->exposed = first < steps;
  }
  life->exposure.exposed += std::max<int64_t>(steps - first, 0);
}

void ExposureCensus::OnSpan(const StepSpan& span) {
  rules_.clear();
  for (const int32_t request : span.preempted) ++lives_[request].pass;
  for (const PrefixHit& hit : span.hits) TakeOver(hit);
  int64_t first_row = 0;
  HistoryEntry entry;
  entry.num_steps = span.num_steps;
  entry.num_requests = static_cast<int32_t>(span.batch.rows.size());
  entry.padded_m = span.padded_m;
  for (size_t i = 0; i < span.batch.rows.size(); ++i) {
    const ScheduledRow& row = span.batch.rows[i];
    Life& life = lives_[row.request];
    entry.first_row = first_row;
    entry.sequence = static_cast<int32_t>(i);
    entry.num_computed = row.num_computed;
    entry.num_scheduled = row.num_scheduled;
    entry.phase = row.phase;
    first_row += row.num_scheduled;
    if (row.phase == Phase::kDecode) {
      CountDecode(entry, span, &life);
    } else {
      entry.rule = RuleAt(span, 0);
      CountPrompt(entry, &life);
    }
  }
}

std::vector<RequestExposure> ExposureCensus::Exposures() const {
  std::vector<RequestExposure> exposures;
  for (const Life& life : lives_) exposures.push_back(life.exposure);
  return exposures;
}

}  // namespace batchvar
