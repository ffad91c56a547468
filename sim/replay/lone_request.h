// One request served alone on a fresh server, nothing cached: the base against which its company is
// measured.
#ifndef BATCHVAR_SIM_REPLAY_LONE_REQUEST_H_
#define BATCHVAR_SIM_REPLAY_LONE_REQUEST_H_

#include "sim/config/experiment_spec.h"
#include "sim/replay/plan_book.h"
#include "sim/replay/request_history.h"

namespace batchvar {

// `book` is the spec's and outlives the history. The request's arrival, segments and session are
// not used. A prompt that max_model_len rejects gives a history without entries.
RequestHistory ServeAlone(const ExperimentSpec& spec, const PlanBook& book, const Request& request);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_LONE_REQUEST_H_
