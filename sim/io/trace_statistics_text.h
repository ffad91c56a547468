// A trace's statistics as a table for people and as JSON for tools. Equal traces give equal bytes:
// neither holds a path or a time of day.
#ifndef BATCHVAR_SIM_IO_TRACE_STATISTICS_TEXT_H_
#define BATCHVAR_SIM_IO_TRACE_STATISTICS_TEXT_H_

#include <string>

#include "sim/io/trace_reader.h"
#include "sim/io/trace_statistics.h"

namespace batchvar {

// Lines with aligned columns; ends with a newline. A number that cannot be told is "-".
std::string StatisticsTable(const Trace& trace, const TraceStatistics& statistics);

// One object of kind "trace_statistics" (docs/formats.md) on one line; ends with a newline. A
// number that cannot be told is null.
std::string StatisticsJson(const std::string& format, const Trace& trace,
                           const TraceStatistics& statistics);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_TRACE_STATISTICS_TEXT_H_
