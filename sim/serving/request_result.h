// What became of one request. Times are simulated nanoseconds since the run's origin.
#ifndef BATCHVAR_SIM_SERVING_REQUEST_RESULT_H_
#define BATCHVAR_SIM_SERVING_REQUEST_RESULT_H_

#include <cstdint>
#include <string>

#include "sim/base/time.h"

namespace batchvar {

enum class RequestStatus : uint8_t {
  kUnfinished,  // the run was interrupted, or the server died
  kFinished,
  kModelLimit,  // ended at the engine's limit before its own output length: counted as finished,
                // too
  kRejected,    // its prompt alone reaches PromptLimit()
};

constexpr const char* StatusName(RequestStatus status) {
  switch (status) {
    case RequestStatus::kUnfinished: return "unfinished";
    case RequestStatus::kFinished: return "finished";
    case RequestStatus::kModelLimit: return "model_limit";
    case RequestStatus::kRejected: return "rejected";
  }
  return "?";
}

inline constexpr TimeNs kNever = -1;

struct RequestResult {
  std::string id;
  TimeNs arrival_ns = 0;
  TimeNs first_scheduled_ns = kNever;
  TimeNs first_token_ns = kNever;  // end of the step that sampled it
  TimeNs last_token_ns = kNever;
  TimeNs finish_ns = kNever;
  int32_t prompt_tokens = 0;
  int32_t output_tokens = 0;  // generated so far
  int32_t preemptions = 0;
  int32_t cached_tokens = 0;  // prefix-cache hit of the first admission
  RequestStatus status = RequestStatus::kUnfinished;

  bool Done() const {
    return status == RequestStatus::kFinished || status == RequestStatus::kModelLimit;
  }
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_REQUEST_RESULT_H_
