// Requests of a replayed trace, executed under the orders that they met and once more alone. A
// plain value: made by kernels/experiment, written by sim/report/executed_report.h.
#ifndef BATCHVAR_SIM_DIVERGENCE_EXECUTED_TRACE_H_
#define BATCHVAR_SIM_DIVERGENCE_EXECUTED_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/digest.h"
#include "sim/divergence/experiment_result.h"
#include "sim/shape/op_shape.h"

namespace batchvar {

// How a request's rows compare with those that it has alone; positions that came out of the prefix
// cache count as their producers computed them.
struct OrderComparison {
  int64_t rows = 0;    // computed, again after a preemption included
  int64_t differ = 0;  // summed in another order than the same position alone
  // The first of them, in the order in which they ran: position (-1: none), the first op in layer
  // order, and M alone ("a") and in the trace.
  int64_t first_row = -1;
  Op first_op = Op::kQkvProj;
  int64_t m_a = 0;
  int64_t m_b = 0;
};

struct ExecutedRequest {
  std::string id;
  Digest prompt_digest;  // of its token ids, each as 8 little-endian bytes
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;  // generated
  int64_t cached_tokens = 0;  // of the prompt, taken over when it was first admitted
  int64_t producers = 0;      // other requests that had computed those, directly or not
  int64_t preemptions = 0;
  OrderComparison orders;
  bool differs = false;         // the text is another than alone
  TextDivergence divergence;    // if it differs; "a" is alone
  std::vector<int64_t> tokens;  // generated in the trace
  std::vector<int64_t> tokens_alone;
};

struct ExecutedTrace {
  std::string model;       // whose weights ran
  std::string plan_model;  // whose shapes were planned; empty: its own
  bool synthetic = false;
  std::string dtype;
  std::string logits;
  uint64_t seed = 0;  // of the prompts' tokens
  int64_t rows_computed = 0;
  std::vector<ExecutedRequest> requests;  // as asked for
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_EXECUTED_TRACE_H_
