// Executes requests as a simulated server served them: each with its own KV cache, row after row,
// and where a request took KV out of the prefix cache, with the very words that its producer had
// computed there. A pass is the request's life between two preemptions and has a cache of its own.
#ifndef BATCHVAR_KERNELS_EXPERIMENT_SERVED_REQUEST_H_
#define BATCHVAR_KERNELS_EXPERIMENT_SERVED_REQUEST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "kernels/decoder/decoder.h"
#include "kernels/experiment/row_events.h"
#include "sim/divergence/near_tie.h"
#include "sim/serving/prefix_hit.h"

namespace batchvar {

struct ServedPass {
  explicit ServedPass(const ModelSpec& model) : cache(model) {}

  std::vector<PrefixHit> hits;   // KV that it begins with; producers by run index
  std::vector<RowEvent> events;  // behind it, consecutive positions
  size_t next = 0;
  bool has_begun = false;
  KvCache cache;
  bool IsDone() const { return has_begun && next == events.size(); }
};

struct ServedRequest {
  std::vector<int64_t> tokens;  // prompt, then what was generated
  int64_t prompt_tokens = 0;
  std::vector<TopTwo> top_twos;  // of the generated ones
  // Whether it runs to its end. One that does not is a producer only: it computes what others take
  // over, all of it prompt.
  bool runs_through = false;
  std::vector<ServedPass> passes;
};

class ServedRun {
 public:
  // The decoder and the requests outlive the run. `logits` is the type in which logits are
  // compared.
  ServedRun(Decoder* decoder, DType logits) : decoder_(decoder), logits_(logits) {}

  // `index` is the run's; -1 for a request that nobody takes anything from.
  void Add(int32_t index, ServedRequest* request);

  // Runs every request that runs through, all of them side by side, and of the others what is
  // needed. Errors are those of Decoder::Forward.
  absl::Status Go(const std::function<void(int64_t done)>& progress);
  int64_t rows_computed() const { return rows_computed_; }

 private:
  // Fills the cache of a pass with what it takes over.
  absl::Status Begin(ServedRequest* request, size_t pass);
  // Makes the first `end` positions of a pass's cache.
  absl::Status Ensure(ServedRequest* request, size_t pass, int64_t end);
  absl::Status Finish(ServedRequest* request, size_t pass);
  // Adds the next rows of the pass for positions below `end` whose tokens are known.
  int64_t AddRows(ServedRequest* request, ServedPass* pass, int64_t end,
                  std::vector<DecoderRow>* rows);
  void TakeOutput(ServedRequest* request, ServedPass* pass, RowOutput* output);
  absl::Status RunPass(ServedRequest* request, ServedPass* pass, int64_t end);

  Decoder* decoder_;
  DType logits_;
  std::vector<ServedRequest*> requests_;
  std::map<int32_t, ServedRequest*> by_index_;
  int64_t rows_computed_ = 0;
};

// Every row that made the KV and the tokens of `request`, in the order in which they ran; rows of a
// producer stand where its KV was taken over, and sample nothing.
std::vector<RowEvent> AllRows(const ServedRequest& request,
                              const std::map<int32_t, const ServedRequest*>& by_index,
                              int32_t own_index);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_SERVED_REQUEST_H_
