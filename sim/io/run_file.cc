#include "sim/io/run_file.h"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "sim/base/check.h"
#include "sim/io/digest_bytes.h"
#include "sim/proto/run.pb.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr uint32_t kSchemaVersion = 1;

proto::RunRecord RecordOf(const PlanRecord& plan) {
  proto::RunRecord record;
  proto::Plan& out = *record.mutable_plan();
  out.set_op(plan.op);
  out.set_m(plan.m);
  out.set_n(plan.n);
  out.set_k(plan.k);
  out.set_policy(plan.policy);
  out.set_tile_m(plan.tile.m);
  out.set_tile_n(plan.tile.n);
  out.set_tile_k(plan.tile.k);
  out.set_split_k(plan.split_k);
  out.set_ctas(plan.ctas);
  out.set_waves(plan.waves);
  out.set_combine(plan.combine);
  for (const Range& piece : plan.pieces) {
    proto::KRange& range = *out.add_pieces();
    range.set_begin(piece.begin);
    range.set_end(piece.end);
  }
  out.set_class_digest(BytesOf(plan.klass));
  return record;
}

PlanRecord PlanOf(const proto::Plan& plan) {
  PlanRecord out;
  out.op = plan.op();
  out.m = plan.m();
  out.n = plan.n();
  out.k = plan.k();
  out.policy = plan.policy();
  out.tile = {static_cast<int32_t>(plan.tile_m()), static_cast<int32_t>(plan.tile_n()),
              static_cast<int32_t>(plan.tile_k())};
  out.split_k = static_cast<int32_t>(plan.split_k());
  out.ctas = plan.ctas();
  out.waves = plan.waves();
  out.combine = plan.combine();
  for (const proto::KRange& piece : plan.pieces())
    out.pieces.push_back({piece.begin(), piece.end()});
  out.klass = DigestOfBytes(plan.class_digest());
  return out;
}

// Rows as they would stand one step later if every sequence went on decoding.
std::vector<ScheduledRow> RowsAfter(const StepSpan& span) {
  std::vector<ScheduledRow> rows = span.batch.rows;
  for (ScheduledRow& row : rows) {
    row.num_computed += span.num_steps > 1 ? span.num_steps : row.num_scheduled;
    row.num_scheduled = 1;
    row.phase = Phase::kDecode;
  }
  return rows;
}

bool SameSequence(const ScheduledRow& expected, const ScheduledRow& row) {
  return expected.request == row.request && expected.num_computed == row.num_computed;
}

}  // namespace

class RunFileWriter::Stream {
 public:
  explicit Stream(const std::string& path) : out_(path, std::ios::binary | std::ios::trunc) {}
  bool ok() const { return out_.good(); }
  void Write(const proto::RunRecord& record) {
    if (out_.good()) google::protobuf::util::SerializeDelimitedToOstream(record, &out_);
  }
  bool Close() {
    out_.close();
    return !out_.fail();
  }

 private:
  std::ofstream out_;
};

RunFileWriter::RunFileWriter(std::unique_ptr<Stream> stream, std::string path)
    : stream_(std::move(stream)), path_(std::move(path)) {}

RunFileWriter::~RunFileWriter() = default;

absl::StatusOr<std::unique_ptr<RunFileWriter>> RunFileWriter::Open(const std::string& path,
                                                                   const std::string& producer,
                                                                   const std::string& config_yaml) {
  auto stream = std::make_unique<Stream>(path + ".partial");
  if (!stream->ok()) return InputError({path + ".partial"}, "cannot be written");
  proto::RunRecord record;
  record.mutable_header()->set_schema_version(kSchemaVersion);
  record.mutable_header()->set_producer(producer);
  record.mutable_header()->set_config_yaml(config_yaml);
  stream->Write(record);
  return std::unique_ptr<RunFileWriter>(new RunFileWriter(std::move(stream), path));
}

void RunFileWriter::OnRequest(int32_t index, const Request& request) {
  proto::RunRecord record;
  proto::RequestInfo& out = *record.mutable_request();
  out.set_index(static_cast<uint32_t>(index));
  out.set_id(request.id);
  out.set_arrival_ns(request.arrival_ns);
  out.set_prompt_tokens(request.prompt_tokens);
  out.set_output_tokens(request.output_tokens);
  stream_->Write(record);
}

bool RunFileWriter::FollowsPrevious(const StepSpan& span) const {
  // Rows of the previous batch that go on must stand first, in their old order.
  size_t at = 0;
  for (const ScheduledRow& expected : previous_) {
    if (at < span.batch.rows.size() && SameSequence(expected, span.batch.rows[at])) ++at;
  }
  for (size_t i = at; i < span.batch.rows.size(); ++i) {
    for (const ScheduledRow& expected : previous_) {
      if (expected.request == span.batch.rows[i].request) return false;
    }
  }
  return true;
}

void RunFileWriter::OnSpan(const StepSpan& span) {
  proto::RunRecord record;
  proto::Span& out = *record.mutable_span();
  out.set_first_step(span.first_step);
  out.set_num_steps(span.num_steps);
  out.set_start_ns(span.start_ns);
  out.set_duration_ns(span.end_ns - span.start_ns);
  out.set_padded_m(static_cast<uint32_t>(span.padded_m));
  out.set_padding_tokens(span.batch.padding_tokens);
  out.set_shared_prefix(span.batch.shared_prefix);
  const std::vector<ScheduledRow>& rows = span.batch.rows;
  size_t kept = 0;
  if (FollowsPrevious(span)) {
    for (const ScheduledRow& expected : previous_) {
      if (kept < rows.size() && SameSequence(expected, rows[kept])) {
        ++kept;
      } else {
        out.add_left(expected.request);
      }
    }
  } else {
    out.set_whole(true);
  }
  for (size_t i = kept; i < rows.size(); ++i) {
    out.add_entered(rows[i].request);
    out.add_entered_computed(rows[i].num_computed);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].phase == Phase::kDecode) continue;
    out.add_chunk_row(static_cast<uint32_t>(i));
    out.add_chunk_tokens(rows[i].num_scheduled);
    out.add_chunk_phase(static_cast<uint32_t>(rows[i].phase));
  }
  for (const int32_t request : span.preempted) out.add_preempted(request);
  stream_->Write(record);
  previous_ = RowsAfter(span);
}

absl::Status RunFileWriter::Finish(const std::vector<PlanRecord>& plans, const RunFooter& footer) {
  for (const PlanRecord& plan : plans) stream_->Write(RecordOf(plan));
  proto::RunRecord record;
  record.mutable_footer()->set_interrupted(footer.interrupted);
  record.mutable_footer()->set_num_steps(footer.num_steps);
  record.mutable_footer()->set_num_requests(footer.num_requests);
  record.mutable_footer()->set_end_ns(footer.end_ns);
  record.mutable_footer()->set_server_failure(footer.server_failure);
  stream_->Write(record);
  std::error_code error;
  const bool closed = stream_->Close();
  if (closed) std::filesystem::rename(path_ + ".partial", path_, error);
  if (!closed || error) return InputError({path_}, "cannot be written (is the disk full?)");
  return absl::OkStatus();
}

namespace {

// Rebuilds the batch that `span` encodes relative to `previous`. False when it names rows that do
// not exist.
bool DecodeSpan(const proto::Span& span, const std::vector<ScheduledRow>& previous, StepSpan* out) {
  out->first_step = static_cast<int64_t>(span.first_step());
  out->num_steps = static_cast<int32_t>(span.num_steps());
  out->start_ns = span.start_ns();
  out->end_ns = span.start_ns() + span.duration_ns();
  out->padded_m = span.padded_m();
  out->batch.padding_tokens = static_cast<int32_t>(span.padding_tokens());
  out->batch.shared_prefix = static_cast<int32_t>(span.shared_prefix());
  int left = 0;
  if (!span.whole()) {
    for (const ScheduledRow& row : previous) {
      const bool leaves =
          left < span.left_size() && span.left(left) == static_cast<uint32_t>(row.request);
      if (leaves) {
        ++left;
      } else {
        out->batch.rows.push_back(row);
      }
    }
  }
  if (left != span.left_size() || span.entered_size() != span.entered_computed_size()) return false;
  for (int i = 0; i < span.entered_size(); ++i) {
    out->batch.rows.push_back({static_cast<int32_t>(span.entered(i)), 1,
                               static_cast<int32_t>(span.entered_computed(i)), Phase::kDecode});
  }
  if (span.chunk_row_size() != span.chunk_tokens_size() ||
      span.chunk_row_size() != span.chunk_phase_size()) {
    return false;
  }
  for (int i = 0; i < span.chunk_row_size(); ++i) {
    if (span.chunk_row(i) >= out->batch.rows.size() || span.chunk_phase(i) > 2) return false;
    ScheduledRow& row = out->batch.rows[span.chunk_row(i)];
    row.num_scheduled = static_cast<int32_t>(span.chunk_tokens(i));
    row.phase = static_cast<Phase>(span.chunk_phase(i));
  }
  for (const ScheduledRow& row : out->batch.rows) out->batch.num_tokens += row.num_scheduled;
  out->preempted.assign(span.preempted().begin(), span.preempted().end());
  return true;
}

absl::Status Damaged(const std::string& path, const std::string& what) {
  return InputError({path}, "not a whole run file: " + what);
}

}  // namespace

absl::StatusOr<RunFile> ReadRunFile(const std::string& path_or_folder) {
  std::string path = path_or_folder;
  if (std::filesystem::is_directory(path)) path += "/run.binpb";
  std::ifstream in(path, std::ios::binary);
  if (!in.good()) return InputError({path}, "cannot be opened");
  google::protobuf::io::IstreamInputStream stream(&in);
  RunFile run;
  std::vector<ScheduledRow> previous;
  bool header = false;
  bool footer = false;
  bool clean_end = false;
  proto::RunRecord record;
  while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&record, &stream, &clean_end)) {
    if (!header && !record.has_header()) return Damaged(path, "it does not begin with a header");
    if (record.has_header()) {
      if (record.header().schema_version() != kSchemaVersion) {
        return Damaged(path, "schema version " + std::to_string(record.header().schema_version()) +
                                 " is not known to this batchvar");
      }
      header = true;
      run.producer = record.header().producer();
      run.config_yaml = record.header().config_yaml();
    } else if (record.has_request()) {
      const proto::RequestInfo& request = record.request();
      if (request.index() != run.requests.size()) return Damaged(path, "requests out of order");
      run.requests.push_back({request.id(), request.arrival_ns(),
                              static_cast<int32_t>(request.prompt_tokens()),
                              static_cast<int32_t>(request.output_tokens())});
    } else if (record.has_span()) {
      StepSpan& span = run.spans.emplace_back();
      if (!DecodeSpan(record.span(), previous, &span)) return Damaged(path, "a broken span");
      previous = RowsAfter(span);
    } else if (record.has_plan()) {
      run.plans.push_back(PlanOf(record.plan()));
    } else if (record.has_footer()) {
      footer = true;
      run.footer = {record.footer().interrupted(),
                    static_cast<int64_t>(record.footer().num_steps()),
                    static_cast<int64_t>(record.footer().num_requests()), record.footer().end_ns(),
                    record.footer().server_failure()};
    }
    record.Clear();
  }
  if (!clean_end || !footer) return Damaged(path, "it ends early");
  return run;
}

std::vector<std::pair<std::string, std::string>> FileLibraryVersions() {
  return {{"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)},
          {"zlib", zlibVersion()}};
}

}  // namespace batchvar
