#include "sim/io/trace_reader.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sim/base/check.h"
#include "sim/io/text_source.h"
#include "sim/io/trace_finish.h"
#include "sim/io/trace_format.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

absl::Status OptionError(const std::string& field, const std::string& message) {
  return ConfigError({"", 0, 0, field}, message);
}

absl::Status CheckOptions(const TraceOptions& options) {
  const auto& formats = TraceFormats();
  if (std::find(formats.begin(), formats.end(), options.format) == formats.end()) {
    if (options.format.empty()) {
      return OptionError("format", "missing; it is one of " + TraceFormatList());
    }
    const std::string nearest = NearestName(options.format, formats);
    return OptionError("format", "unknown trace format '" + options.format + "'; " +
                                     (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") +
                                     "formats: " + TraceFormatList());
  }
  if (options.block_size < 0) return OptionError("block_size", "must not be negative");
  if (options.max_requests < 0) return OptionError("max_requests", "must not be negative");
  if (!std::isfinite(options.time_scale) || options.time_scale <= 0) {
    return OptionError("time_scale", "must be a number greater than 0");
  }
  constexpr double kMaxSeconds = 9e9;  // int64_t nanoseconds hold a little more
  if (!(options.start_s >= 0 && options.start_s <= kMaxSeconds)) {
    return OptionError("start_s", "must be a number of seconds from 0 to 9e9");
  }
  if (!(options.end_s >= 0 && options.end_s <= kMaxSeconds)) {
    return OptionError("end_s", "must be a number of seconds from 0 to 9e9");
  }
  if (options.end_s > 0 && options.end_s <= options.start_s) {
    return OptionError("end_s", "must be greater than start_s");
  }
  return absl::OkStatus();
}

// Reads every row of a file, in file order, and checks what can be checked row by row.
class RowReader {
 public:
  RowReader(TextSource* source, TraceFormat* format, const TraceOptions& options)
      : source_(source), format_(format), options_(options) {
    place_.file = source->path();
  }

  absl::Status ReadAll(TraceCounts* counts) {
    std::string_view line;
    bool more = source_->NextLine(&line);
    if (more) LookAtFirstLine(line);
    place_.line = source_->line_number();
    if (more && format_->HasHeader()) {
      if (absl::Status status = format_->ReadHeader(place_, line); !status.ok()) return status;
      more = source_->NextLine(&line);
    }
    for (; more; more = source_->NextLine(&line)) {
      place_.line = source_->line_number();
      TraceRow& row = rows_.emplace_back();
      row.line = place_.line;
      absl::Status status = format_->ReadRow(place_, line, &row);
      if (status.ok()) status = CheckOrder(counts);
      if (!status.ok()) return status;
      place_.hint.clear();  // whoever could read one row has the right format
    }
    counts->rows_read = static_cast<int64_t>(rows_.size());
    if (absl::Status status = NameRows(); !status.ok()) return status;
    return format_->Finish(place_.file, &rows_);
  }

  std::vector<TraceRow>& rows() { return rows_; }

 private:
  void LookAtFirstLine(std::string_view line) {
    const std::string likely = FormatOfFirstLine(line);
    if (likely.empty() || likely == options_.format) return;
    place_.hint = "; the file looks like format '" + likely + "', not '" + options_.format + "'";
  }

  // Names the rows that have no name, and refuses two of one name.
  absl::Status NameRows() {
    bool any_own = false;
    for (size_t i = 0; i < rows_.size(); ++i) {
      std::string& id = rows_[i].request.id;
      any_own = any_own || !id.empty();
      if (id.empty()) id = 'r' + std::to_string(i);
    }
    if (!any_own) return absl::OkStatus();
    std::unordered_map<std::string_view, int> lines;
    for (const TraceRow& row : rows_) {
      const auto [entry, is_new] = lines.emplace(row.request.id, row.line);
      if (is_new) continue;
      place_.line = row.line;
      return place_.Error(format_->IdField(), Quoted(row.request.id) + " is the id of line " +
                                                  std::to_string(entry->second) + " already");
    }
    return absl::OkStatus();
  }

  absl::Status CheckOrder(TraceCounts* counts) {
    const Request& request = rows_.back().request;
    const char* zero = ZeroTokens(request);
    if (options_.strict && zero != nullptr) {
      return place_.Error("", std::string("a failed request (") + zero + "), refused by strict");
    }
    if (rows_.size() < 2 || rows_[rows_.size() - 2].request.arrival_ns <= request.arrival_ns) {
      return absl::OkStatus();
    }
    ++counts->descents;
    if (!options_.strict) return absl::OkStatus();
    return place_.Error("", "arrives before the row above it, refused by strict");
  }

  TextSource* source_;
  TraceFormat* format_;
  const TraceOptions& options_;
  RowPlace place_;
  std::vector<TraceRow> rows_;
};

absl::Status NoRequests(const std::string& path, const TraceCounts& counts) {
  std::string message = "no requests";
  const char* separator = ": ";
  for (const auto& [reason, count] : counts.dropped) {
    message += separator + std::to_string(count) + " rows dropped as " + reason;
    separator = ", ";
  }
  return InputError({path, 0, 0, ""}, message);
}

}  // namespace

std::string TraceFormatList() {
  std::string list;
  for (const std::string& name : TraceFormats()) list += (list.empty() ? "" : ", ") + name;
  return list;
}

absl::StatusOr<Trace> ReadTrace(const std::string& path, const TraceOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  absl::StatusOr<TextSource> source = TextSource::Open(path);
  if (!source.ok()) return source.status();
  const std::unique_ptr<TraceFormat> format = MakeTraceFormat(options.format, options.block_size);
  BV_CHECK(format != nullptr);

  Trace trace;
  TraceCounts& counts = trace.counts;
  trace.sha256 = source->sha256();
  RowReader reader(&*source, format.get(), options);
  if (absl::Status status = reader.ReadAll(&counts); !status.ok()) return status;
  trace.requests = SelectRows(options, &reader.rows(), &counts);
  if (trace.requests.empty()) return NoRequests(path, counts);
  if (absl::Status status = PlaceInTime(path, options, &trace.requests); !status.ok())
    return status;
  CountWhatIsEmitted(trace.requests, &counts);

  int64_t dropped = 0;
  for (const auto& [reason, count] : counts.dropped) dropped += count;
  BV_CHECK(counts.rows_read == counts.emitted + dropped);
  return trace;
}

}  // namespace batchvar
