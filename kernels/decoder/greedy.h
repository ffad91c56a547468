// Greedy decoding of one request: the prompt, then one token after another, each the largest logit,
// the lowest id on ties (near_tie.h). Which orders each row is summed in is the caller's business.
// Used by tests and by whoever asks for one request alone; batches call Decoder themselves.
#ifndef BATCHVAR_KERNELS_DECODER_GREEDY_H_
#define BATCHVAR_KERNELS_DECODER_GREEDY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/decoder/decoder.h"
#include "kernels/decoder/row_plan.h"
#include "sim/divergence/near_tie.h"

namespace batchvar {

// The plan of the row at `position`; with lm_head if `samples`.
using RowPlanSource = std::function<RowPlan(int64_t position, bool samples)>;

struct GreedyOptions {
  int64_t max_new_tokens = 0;
  std::optional<int64_t> stop_token;  // ends the text, and is its last token
  int64_t rows_per_call = 0;          // of the prompt; 0: all of it. Never changes a bit
  // fp32: the head's sums as they are. bf16, fp16: rounded first, as a 16-bit head hands them on;
  // then equal logits are common, and the lowest id wins.
  DType logits = DType::kFp32;
};

struct GreedyStep {
  int64_t token = 0;
  TopTwo top_two;  // of the logits that were compared
};

// `prompt` is not empty. Errors are those of Decoder::Forward; a text that would leave the model's
// positions is one.
absl::StatusOr<std::vector<GreedyStep>> DecodeGreedily(Decoder* decoder,
                                                       std::span<const int64_t> prompt,
                                                       const RowPlanSource& plans,
                                                       const GreedyOptions& options);

// logits rounded to `dtype` where it is not fp32.
void RoundLogits(DType dtype, std::span<float> logits);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_GREEDY_H_
