// The life of one request in a run: in which steps it took part, in what company, and how its
// tokens were cut. A sink of the simulator, or filled from a run file.
#ifndef BATCHVAR_SIM_REPLAY_REQUEST_HISTORY_H_
#define BATCHVAR_SIM_REPLAY_REQUEST_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/replay/plan_book.h"
#include "sim/serving/step_span.h"

namespace batchvar {

// The request's part in num_steps equal steps. In step i of a decode its num_computed is i larger.
struct HistoryEntry {
  int64_t first_step = 0;
  int32_t num_steps = 0;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  int32_t num_requests = 0;  // sequences in the batch: M of lm_head
  int64_t m = 0;             // tokens in the batch
  int64_t padded_m = 0;      // M of the body's GEMMs
  int64_t first_row = 0;     // of this request in the batch matrix
  int32_t sequence = 0;      // its place among the sequences: its row of the head
  int32_t num_computed = 0;
  int32_t num_scheduled = 0;
  Phase phase = Phase::kDecode;
  AttentionRule rule;

  // Tokens [begin, end) of the request that these steps compute.
  int64_t begin() const { return num_computed; }
  int64_t end() const { return num_computed + int64_t{num_scheduled} * num_steps; }
};

class RequestHistory final : public RunSink {
 public:
  // The book gives attention rules; it must outlive the history.
  RequestHistory(std::string request_id, const PlanBook* book)
      : id_(std::move(request_id)), book_(book) {}

  void OnRequest(int32_t index, const Request& request) override;
  void OnSpan(const StepSpan& span) override;

  bool found() const { return index_ >= 0; }
  const std::string& id() const { return id_; }
  int32_t index() const { return index_; }  // in the run; -1 before it arrives
  int32_t prompt_tokens() const { return request_.prompt_tokens; }
  const Request& request() const { return request_; }
  const std::vector<HistoryEntry>& entries() const { return entries_; }
  const std::vector<int64_t>& preempted_at() const { return preempted_at_; }  // steps
  // Preemptions before the entry: which of its computings of a token this is.
  int32_t PassOf(const HistoryEntry& entry) const;
  // What it found in the prefix cache, pass after pass.
  const std::vector<PrefixHit>& hits() const { return hits_; }

  // Lengths of the prefill chunks in order, decodes left out.
  std::vector<int32_t> ChunkCuts() const;

 private:
  std::string id_;
  const PlanBook* book_;
  int32_t index_ = -1;
  Request request_;
  std::vector<HistoryEntry> entries_;
  std::vector<int64_t> preempted_at_;
  std::vector<PrefixHit> hits_;
};

// "512 x5 + 440"
std::string CutsInWords(const std::vector<int32_t>& cuts);

// Sizes of the request's batches over time, equal neighbours joined: 4, 51, 12.
std::vector<int32_t> BatchSizes(const RequestHistory& history);

// Where the class of one op changed along the request's life.
struct ClassChange {
  int64_t step = 0;
  int64_t position = 0;  // first token computed under the new class
  int64_t rows = 0;      // M
  Digest klass;
  int32_t split = 1;
};

// The first class and every change of `op` (not attention: its class follows the KV length, so
// every token has its own; there the changes of its rule are listed).
std::vector<ClassChange> ClassChanges(const RequestHistory& history, size_t op, PlanBook* book);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_REQUEST_HISTORY_H_
