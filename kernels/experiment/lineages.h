// Executes many trials of one request, computing what they share once. Trials whose rows had the
// same orders and tokens so far are one lineage: they have one KV cache, and each of their rows is
// one row of work. Where the orders part, the lineage splits, and the cache is copied. All
// lineages' rows run in one call, so a loaded weight serves every one of them.
//
// What comes out is what each trial alone would have computed: a row's bits depend on its own
// tokens, orders and KV only (decoder.h).
#ifndef BATCHVAR_KERNELS_EXPERIMENT_LINEAGES_H_
#define BATCHVAR_KERNELS_EXPERIMENT_LINEAGES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/decoder/decoder.h"
#include "kernels/experiment/trial_history.h"
#include "sim/divergence/near_tie.h"

namespace batchvar {

struct TrialText {
  std::vector<int64_t> tokens;   // generated ones, max_tokens of them
  std::vector<TopTwo> top_twos;  // of each
};

struct LineageOptions {
  int64_t max_tokens = 256;
  DType logits = DType::kFp32;
  KvPlacement placement;
  std::function<void(int64_t done, int64_t of)> progress = [](int64_t, int64_t) {};
};

struct LineageRun {
  std::vector<TrialText> texts;  // by trial
  int64_t rows_needed = 0;       // rows that the trials have
  int64_t rows_computed = 0;     // rows that were executed
  int64_t lineages = 0;          // at the end
};

// Every history belongs to one trial of the same prompt.
absl::StatusOr<LineageRun> RunLineages(Decoder* decoder, std::span<const int64_t> prompt,
                                       std::span<const TrialHistory* const> trials,
                                       const LineageOptions& options);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_LINEAGES_H_
