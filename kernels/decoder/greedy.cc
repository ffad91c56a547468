#include "kernels/decoder/greedy.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {

void RoundLogits(DType dtype, std::span<float> logits) {
  if (dtype == DType::kFp32) return;
  for (float& logit : logits) logit = RoundTo(logit, dtype);
}

absl::StatusOr<std::vector<GreedyStep>> DecodeGreedily(Decoder* decoder,
                                                       std::span<const int64_t> prompt,
                                                       const RowPlanSource& plans,
                                                       const GreedyOptions& options) {
  BV_CHECK(!prompt.empty());
  std::vector<GreedyStep> steps;
  KvCache cache(decoder->weights().config.model);
  std::vector<int64_t> tokens(prompt.begin(), prompt.end());  // not yet run
  std::vector<RowOutput> outputs;
  while (std::ssize(steps) < options.max_new_tokens) {
    const int64_t most = options.rows_per_call > 0 ? options.rows_per_call : std::ssize(tokens);
    const int64_t count = std::min(most, std::ssize(tokens));
    const bool samples = count == std::ssize(tokens);
    std::vector<RowPlan> row_plans;
    for (int64_t i = 0; i < count; ++i) {
      row_plans.push_back(plans(cache.length() + i, samples && i + 1 == count));
    }
    std::vector<DecoderRow> rows;
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back({tokens[i], cache.length() + i, &cache, &row_plans[i],
                      /*wants_logits=*/samples && i + 1 == count, /*wants_records=*/false});
    }
    if (absl::Status status = decoder->Forward(rows, &outputs); !status.ok()) return status;
    tokens.erase(tokens.begin(), tokens.begin() + count);
    if (!samples) continue;
    RoundLogits(options.logits, outputs.back().logits);
    GreedyStep& step = steps.emplace_back();
    step.top_two = FindTopTwo(outputs.back().logits);
    step.token = step.top_two.top;
    if (step.token == options.stop_token) break;
    tokens.push_back(step.token);
  }
  return steps;
}

}  // namespace batchvar
