// From rows in file order to requests in arrival order: the steps that all formats share, in the
// order in which ReadTrace (trace_reader.cc) takes them.
#ifndef BATCHVAR_SIM_IO_TRACE_FINISH_H_
#define BATCHVAR_SIM_IO_TRACE_FINISH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sim/io/trace_format.h"
#include "sim/io/trace_reader.h"
#include "sim/serving/request.h"

namespace batchvar {

// Why a row is a failed request ("zero_prompt", "zero_output", "zero_both"), or null.
const char* ZeroTokens(const Request& request);

// Moves the rows that stay out of *rows, still with the trace's own times, and counts the others in
// counts->dropped: failed rows first, then the window, then the limit.
std::vector<Request> SelectRows(const TraceOptions& options, std::vector<TraceRow>* rows,
                                TraceCounts* counts);

// Sorts, moves the origin to the first arrival and scales. `requests` is not empty; `path` is for
// messages.
absl::Status PlaceInTime(const std::string& path, const TraceOptions& options,
                         std::vector<Request>* requests);

// Fills the counts of what is emitted.
void CountWhatIsEmitted(const std::vector<Request>& requests, TraceCounts* counts);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_TRACE_FINISH_H_
