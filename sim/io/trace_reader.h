// Production traces -> Requests. Formats: docs/traces.md. Rules that hold for all of them:
//   - columns by name; CRLF, BOM, missing final newline, blank lines, quoted fields, .gz are read;
//   - arrivals are whole nanoseconds, parsed from the text without going through a double; the
//     origin is the earliest arrival among the emitted requests;
//   - output order is a stable sort by arrival: equal arrivals keep file order, descents are
//   counted;
//   - a row with zero prompt or zero output tokens is a failed request: dropped and counted by
//     reason; rows_read == emitted + sum of dropped, always;
//   - anything else wrong is an error with file, 1-based line and field, and nothing is returned;
//   - `strict` makes descents and rows with zero tokens errors;
//   - a request's id is the trace's own where it has one (all different, else an error), and else
//     "r<index of its data row in the file, from 0>".
// Called by the verbs that take a trace (tools/batchvar) and by sim/config's users.
#ifndef BATCHVAR_SIM_IO_TRACE_READER_H_
#define BATCHVAR_SIM_IO_TRACE_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/serving/request.h"

namespace batchvar {

struct TraceOptions {
  std::string format;      // see TraceFormats(); never guessed
  int32_t block_size = 0;  // 0: the format's own; only mooncake and bailian have blocks
  bool strict = false;
  double time_scale = 1.0;   // arrival * time_scale, rounded half up to a nanosecond; 2: slower
  double start_s = 0;        // window [start_s, end_s) of trace time since the earliest row,
  double end_s = 0;          //   before time_scale; end_s 0: no end
  int64_t max_requests = 0;  // 0: all; else the first that many usable rows in file order
};

struct TraceCounts {
  int64_t rows_read = 0;
  int64_t emitted = 0;
  std::map<std::string, int64_t> dropped;  // zero_prompt, zero_output, zero_both,
                                           // outside_window, over_max_requests; never a 0
  int64_t descents = 0;                    // rows earlier than the row before them
  int64_t sessions = 0;                    // distinct non-empty sessions among the emitted
  int64_t block_refs = 0;       // prefix segments among the emitted, as the trace has them
  int64_t distinct_blocks = 0;  // distinct names among those
};

struct Trace {
  std::vector<Request> requests;  // at least one; ascending arrival_ns, first one 0
  TraceCounts counts;
  std::string sha256;  // of the file as stored (compressed if it is)
};

const std::vector<std::string>& TraceFormats();
std::string TraceFormatList();  // "azure, burstgpt, ...", for messages and help

// Bad options are a ConfigError, anything about the file is an InputError.
absl::StatusOr<Trace> ReadTrace(const std::string& path, const TraceOptions& options);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_TRACE_READER_H_
