// One small parser per trace format behind one interface: a line in, a row out. What all formats
// share (order, window, counts, drops) is in trace_reader.cc and not here.
#ifndef BATCHVAR_SIM_IO_TRACE_FORMAT_H_
#define BATCHVAR_SIM_IO_TRACE_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sim/io/trace_fields.h"
#include "sim/serving/request.h"

namespace batchvar {

// A row as its file has it. arrival_ns counts from the format's own origin, token counts may be 0,
// and the id is empty where the format has none.
struct TraceRow {
  Request request;
  int line = 0;
};

class TraceFormat {
 public:
  virtual ~TraceFormat() = default;

  // The first line, for formats whose HasHeader() says that it is no row.
  virtual bool HasHeader() const { return false; }
  virtual absl::Status ReadHeader(const RowPlace& place, std::string_view line);

  // Fills a fresh *row, except its line.
  virtual absl::Status ReadRow(const RowPlace& place, std::string_view line, TraceRow* row) = 0;

  // The field that holds a request's own id; empty where the format has none.
  virtual const char* IdField() const { return ""; }

  // Once, after the last row: what needs all of them. `rows` are in file order, their ids differ.
  virtual absl::Status Finish(const std::string& file, std::vector<TraceRow>* rows);
};

// Comma-separated: trace_csv_formats.cc.
std::unique_ptr<TraceFormat> MakeAzureFormat();
std::unique_ptr<TraceFormat> MakeBurstGptFormat();
std::unique_ptr<TraceFormat> MakeVidurFormat();
// JSON lines with block hashes: trace_block_formats.cc. block_size >= 1.
std::unique_ptr<TraceFormat> MakeMooncakeFormat(int32_t block_size);
std::unique_ptr<TraceFormat> MakeBailianFormat(int32_t block_size);
// Other JSON lines: trace_log_formats.cc.
std::unique_ptr<TraceFormat> MakeLlmServingSimFormat();
std::unique_ptr<TraceFormat> MakeJsonlFormat();

// block_size 0: the format's own. Null for an unknown name; the names are TraceFormats().
std::unique_ptr<TraceFormat> MakeTraceFormat(std::string_view name, int32_t block_size);

// The format that a file with this first line has beyond doubt, or "". Only for messages: a format
// is never guessed.
std::string FormatOfFirstLine(std::string_view line);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_TRACE_FORMAT_H_
