// run.binpb: the history of a run, written while it happens and read back by `explain`. The form is
// sim/proto/run.proto; protobuf stays inside run_file.cc.
#ifndef BATCHVAR_SIM_IO_RUN_FILE_H_
#define BATCHVAR_SIM_IO_RUN_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/base/digest.h"
#include "sim/numerics/order.h"
#include "sim/plan/plan.h"
#include "sim/serving/step_span.h"

namespace batchvar {

// How one op was cut at one M; see proto Plan.
struct PlanRecord {
  std::string op;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  std::string policy;
  Tile tile;
  int32_t split_k = 0;
  int64_t ctas = 0;
  int64_t waves = 0;
  std::string combine;
  std::vector<Range> pieces;
  Digest klass;
  friend bool operator==(const PlanRecord&, const PlanRecord&) = default;
};

struct RunFooter {
  bool interrupted = false;
  int64_t num_steps = 0;
  int64_t num_requests = 0;
  int64_t end_ns = 0;
  std::string server_failure;  // in words; empty: the server lived
};

// Streams to PATH.partial; Finish() renames it to PATH, so a file of that name is whole.
class RunFileWriter final : public RunSink {
 public:
  static absl::StatusOr<std::unique_ptr<RunFileWriter>> Open(const std::string& path,
                                                             const std::string& producer,
                                                             const std::string& config_yaml);
  ~RunFileWriter() override;

  void OnRequest(int32_t index, const Request& request) override;
  void OnSpan(const StepSpan& span) override;
  // Write errors of the calls above are reported here.
  absl::Status Finish(const std::vector<PlanRecord>& plans, const RunFooter& footer);

 private:
  class Stream;
  explicit RunFileWriter(std::unique_ptr<Stream> stream, std::string path);
  bool FollowsPrevious(const StepSpan& span) const;

  std::unique_ptr<Stream> stream_;
  std::string path_;
  std::vector<ScheduledRow> previous_;  // rows one step after the last span
};

struct RunRequest {
  std::string id;
  TimeNs arrival_ns = 0;
  int32_t prompt_tokens = 0;
  int32_t output_tokens = 0;
};

struct RunFile {
  std::string producer;
  std::string config_yaml;
  std::vector<RunRequest> requests;
  std::vector<StepSpan> spans;
  std::vector<PlanRecord> plans;
  RunFooter footer;
};

// `path` may be the file or the folder that --out made. A file that was cut short, or is none of
// ours, is an InputError.
absl::StatusOr<RunFile> ReadRunFile(const std::string& path);

// Of the libraries that read and write files here, for run.json.
std::vector<std::pair<std::string, std::string>> FileLibraryVersions();

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_RUN_FILE_H_
