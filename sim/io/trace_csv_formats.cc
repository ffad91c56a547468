// azure, burstgpt and vidur: tables that differ in the names of three columns and in how a time is
// written.
#include <string>
#include <utility>

#include "sim/io/csv_table.h"
#include "sim/io/decimal_text.h"
#include "sim/io/trace_format.h"

namespace batchvar {
namespace {

constexpr int kSeconds = 0;  // see ReadTimeNs

// The columns that every row needs.
struct ColumnNames {
  std::string time;
  std::string prompt;
  std::string output;
};

class CsvFormat : public TraceFormat {
 public:
  explicit CsvFormat(ColumnNames names) : names_(std::move(names)) {}

  bool HasHeader() const override { return true; }

  absl::Status ReadHeader(const RowPlace& place, std::string_view line) override {
    if (line.starts_with('{') || line.starts_with('[')) {
      return place.Error("", "is JSON, this format is a comma-separated table");
    }
    absl::Status status = table_.ReadHeader(place, line);
    if (status.ok()) status = table_.Require(place, names_.time, &time_, WhyNoTime());
    if (status.ok()) status = table_.Require(place, names_.prompt, &prompt_);
    if (status.ok()) status = table_.Require(place, names_.output, &output_);
    return status;
  }

  absl::Status ReadRow(const RowPlace& place, std::string_view line, TraceRow* row) override {
    Request& request = row->request;
    absl::Status status = table_.ReadRow(place, line);
    if (status.ok()) status = ReadTime(place, table_.field(time_), &request.arrival_ns);
    if (status.ok()) {
      status = ReadTokens(place, names_.prompt, table_.field(prompt_), &request.prompt_tokens);
    }
    if (status.ok()) {
      status = ReadTokens(place, names_.output, table_.field(output_), &request.output_tokens);
    }
    return status;
  }

 protected:
  virtual absl::Status ReadTime(const RowPlace& place, std::string_view text, int64_t* time_ns) {
    return ReadTimeNs(place, names_.time, text, kSeconds, time_ns);
  }
  // What to add when there is no time column.
  virtual std::string WhyNoTime() const { return ""; }

  const CsvTable& table() const { return table_; }
  const ColumnNames& names() const { return names_; }

 private:
  ColumnNames names_;
  CsvTable table_;
  int time_ = -1;
  int prompt_ = -1;
  int output_ = -1;
};

class AzureFormat : public CsvFormat {
 public:
  AzureFormat() : CsvFormat({"TIMESTAMP", "ContextTokens", "GeneratedTokens"}) {}

 protected:
  absl::Status ReadTime(const RowPlace& place, std::string_view text, int64_t* time_ns) override {
    if (text.empty()) return place.Error(names().time, "missing");
    const std::string fault = ParseUtcTime(text, time_ns);
    if (fault.empty()) return absl::OkStatus();
    return place.Error(names().time, fault + ": " + Quoted(text));
  }
};

// Part 3 has a session column, parts 1 and 2 do not.
class BurstGptFormat : public CsvFormat {
 public:
  BurstGptFormat() : CsvFormat({"Timestamp", "Request tokens", "Response tokens"}) {}

  absl::Status ReadHeader(const RowPlace& place, std::string_view line) override {
    absl::Status status = CsvFormat::ReadHeader(place, line);
    if (status.ok()) session_ = table().Find("Session ID");
    return status;
  }

  absl::Status ReadRow(const RowPlace& place, std::string_view line, TraceRow* row) override {
    absl::Status status = CsvFormat::ReadRow(place, line, row);
    if (status.ok() && session_ >= 0) row->request.session = table().field(session_);
    return status;
  }

 private:
  int session_ = -1;
};

class VidurFormat : public CsvFormat {
 public:
  VidurFormat() : CsvFormat({"arrived_at", "num_prefill_tokens", "num_decode_tokens"}) {}

 protected:
  std::string WhyNoTime() const override {
    if (table().Find(names().prompt) < 0) return "";
    return " (the file has lengths only, and no request knows when to arrive)";
  }
};

}  // namespace

std::unique_ptr<TraceFormat> MakeAzureFormat() { return std::make_unique<AzureFormat>(); }
std::unique_ptr<TraceFormat> MakeBurstGptFormat() { return std::make_unique<BurstGptFormat>(); }
std::unique_ptr<TraceFormat> MakeVidurFormat() { return std::make_unique<VidurFormat>(); }

}  // namespace batchvar
