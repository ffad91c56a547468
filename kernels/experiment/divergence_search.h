// Why two texts parted: the first row whose orders differ, and by execution of that row under both
// plans the first op whose bits do.
#ifndef BATCHVAR_KERNELS_EXPERIMENT_DIVERGENCE_SEARCH_H_
#define BATCHVAR_KERNELS_EXPERIMENT_DIVERGENCE_SEARCH_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/decoder/decoder.h"
#include "kernels/experiment/lineages.h"
#include "kernels/experiment/trial_history.h"
#include "sim/divergence/experiment_result.h"

namespace batchvar {

class DivergenceSearch {
 public:
  // All arguments outlive the search. `logits` is the type in which they were compared.
  DivergenceSearch(Decoder* decoder, std::span<const int64_t> prompt, const TrialHistory& reference,
                   const TrialText& reference_text, DType logits)
      : decoder_(decoder),
        prompt_(prompt),
        reference_(reference),
        text_(reference_text),
        logits_(logits) {}

  // The texts differ. Rows are executed only where `may_execute`: another tensor-parallel degree
  // has other weights in the decoder. `trial` is left to the caller.
  absl::StatusOr<TextDivergence> Find(const TrialHistory& history, const TrialText& text,
                                      bool may_execute);

 private:
  // Executes the reference up to event `event`, then that row under both plans.
  absl::Status ExecuteRow(size_t event, const RowPlan& other, TextDivergence* divergence);

  Decoder* decoder_;
  std::span<const int64_t> prompt_;
  const TrialHistory& reference_;
  const TrialText& text_;
  DType logits_;
  std::map<std::pair<size_t, Digest>, TextDivergence> executed_;  // trials often part alike
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_DIVERGENCE_SEARCH_H_
