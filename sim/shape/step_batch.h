// What a scheduler decides in one step, and the only thing that shapes, plans and step time see of
// it. Plain values; made by sim/serving, used by sim/shape, sim/plan, sim/io and sim/report.
#ifndef BATCHVAR_SIM_SHAPE_STEP_BATCH_H_
#define BATCHVAR_SIM_SHAPE_STEP_BATCH_H_

#include <cstdint>
#include <vector>

namespace batchvar {

// A row's part in the step. The numbers are those of the golden schedules.
enum class Phase : uint8_t {
  kDecode = 0,     // one known token, samples the next
  kChunk = 1,      // prefill that does not reach the end: nothing is sampled
  kLastChunk = 2,  // prefill that reaches the end: samples one token
};

// One scheduled sequence. Its query rows are tokens [num_computed, num_computed + num_scheduled);
// attention reads KV [0, num_computed + num_scheduled).
struct ScheduledRow {
  int32_t request = 0;        // index of the request in the run, in order of arrival
  int32_t num_scheduled = 0;  // tokens in this step (q_len)
  int32_t num_computed = 0;   // tokens computed before it (prefix-cache hits included)
  Phase phase = Phase::kDecode;
  friend bool operator==(const ScheduledRow&, const ScheduledRow&) = default;
};

// Rows stand in batch order, the engine's own: vLLM puts running requests first, SGLang prompts. A
// request's first row in the batch matrix is the sum of num_scheduled before it.
struct StepBatch {
  std::vector<ScheduledRow> rows;
  int64_t num_tokens = 0;      // sum of num_scheduled: M of every token-wise GEMM before padding
  int32_t padding_tokens = 0;  // dead rows that the engine computes all the same (static batching)
  // Leading tokens whose KV blocks every running sequence holds, whole blocks; a row may not have
  // computed them all. 0 where nobody asked (SchedulerConfig::report_shared_prefix).
  int32_t shared_prefix = 0;

  void Clear() {
    rows.clear();
    num_tokens = 0;
    padding_tokens = 0;
    shared_prefix = 0;
  }
  int64_t M() const { return num_tokens + padding_tokens; }
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SHAPE_STEP_BATCH_H_
