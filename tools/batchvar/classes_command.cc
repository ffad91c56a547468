// batchvar classes: which M share a summation order, op by op; and the gates of a CI on it.
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sim/config/config_files.h"
#include "sim/config/load_experiment.h"
#include "sim/config/load_sweep.h"
#include "sim/io/gemm_table.h"
#include "sim/report/classes_json.h"
#include "sim/report/classes_reader.h"
#include "sim/report/classes_text.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/m_list.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

// Where a message points that is about the flags themselves.
constexpr char kFlagsName[] = "flags";

struct ClassesOptions {
  std::string model;
  std::string device;
  std::string policies = "textbook";
  std::string m = "1..256";
  std::string kv_len;
  int64_t q_len = 1;
  int32_t tp = 1;
  std::string dtype = "bf16";
  std::string padding = "exact";
  std::vector<std::string> overrides;
  std::string baseline;
  std::string require;
  std::vector<int64_t> compare;
  bool json = false;
};

// A YAML scalar that means `text` and nothing else.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

// A mistake in a flag has no line and column in a file.
absl::Status WithoutPlace(const absl::Status& status) {
  const Location where = LocationOf(status);
  if (where.file != kFlagsName) return status;
  const std::string place = absl::StrCat(kFlagsName, ":", where.line, ":", where.column, ": ");
  std::string message(status.message());
  if (message.starts_with(place)) message.erase(0, place.size());
  const std::string field = where.field + ": ";
  if (message.starts_with(field)) message.erase(0, field.size());
  return FlagError(where.field, message);
}

// The same path as an experiment file, so that names, --set and messages work as everywhere. The
// workload is never run. Plans need no KV cache, so whether one fits beside the weights must not
// matter: the cache is given more blocks than any sequence can fill.
absl::StatusOr<ExperimentSpec> SpecOf(const ClassesOptions& options) {
  const std::string yaml =
      absl::StrCat("model: ", Quoted(options.model), "\ndevice: ", Quoted(options.device),
                   "\npolicies: ", Quoted(options.policies), "\ntp: ", options.tp,
                   "\ndtype: ", Quoted(options.dtype), "\nscheduler: {padding: ", options.padding,
                   ", num_gpu_blocks: 1000000000}\n",
                   "workload: {arrivals: {process: all_at_once}, prompt_len: {fixed: 1}, "
                   "output_len: {fixed: 1}, num_requests: 1}\n");
  absl::StatusOr<ExperimentSpec> spec =
      LoadExperimentText(yaml, kFlagsName, /*folder=*/"", options.overrides);
  if (!spec.ok()) return WithoutPlace(spec.status());
  return spec;
}

absl::StatusOr<ClassQuery> QueryOf(const ClassesOptions& options) {
  ClassQuery query;
  absl::StatusOr<std::vector<int64_t>> m = ParseMList("--m", options.m, kMaxClassValues);
  if (!m.ok()) return m.status();
  query.m = *std::move(m);
  query.q_len = options.q_len;
  if (options.kv_len.empty()) {
    if (options.q_len != 1) return FlagError("--q-len", "is of use only with --kv-len");
    return query;
  }
  absl::StatusOr<std::vector<int64_t>> kv_lens = ParseMList("--kv-len", options.kv_len, kMaxKvLens);
  if (!kv_lens.ok()) return kv_lens.status();
  query.kv_lens = *std::move(kv_lens);
  if (query.q_len < 1 || query.q_len > query.kv_lens.front()) {
    return FlagError("--q-len", absl::StrCat("must be from 1 to the shortest --kv-len, ",
                                             query.kv_lens.front(), ", not ", query.q_len));
  }
  if (query.m.back() > kMaxAttentionBatch) {
    return FlagError("--m", absl::StrCat("is at most ", kMaxAttentionBatch,
                                         " with --kv-len: M is then a "
                                         "number of requests"));
  }
  return query;
}

absl::Status CheckCompare(const ClassesOptions& options, const ClassQuery& query) {
  if (options.compare.empty()) return absl::OkStatus();
  const int64_t max =
      query.kv_lens.empty() ? std::numeric_limits<int32_t>::max() : kMaxAttentionBatch;
  const bool in_range = std::all_of(options.compare.begin(), options.compare.end(),
                                    [max](int64_t m) { return m >= 1 && m <= max; });
  if (options.compare.size() == 2 && in_range) return absl::OkStatus();
  return FlagError("--compare", absl::StrCat("takes two M from 1 to ", max, ", as in 8,9"));
}

// Of the same question as `now`, or an error.
absl::StatusOr<ClassTable> BaselineFor(const std::string& path, const ClassTable& now) {
  const FileText file = ReadFileText(path);
  if (!file.problem.empty()) return InputError({.file = path}, file.problem);
  absl::StatusOr<ClassTable> baseline = ReadClassesJson(file.text, path);
  if (!baseline.ok()) return baseline.status();
  const std::string reason = WhyNotComparable(*baseline, now);
  if (reason.empty()) return baseline;
  return ConfigError({.file = path}, "is a baseline of something else: " + reason);
}

// What was asked for, computed before anything is printed.
struct Answer {
  ClassTable table;
  std::optional<ClassTable> baseline;
  std::vector<MovedRange> moved;
  std::vector<PlanPair> pairs;
};

absl::Status Compute(const ClassesOptions& options, Answer* answer) {
  const absl::StatusOr<ClassQuery> query = QueryOf(options);
  if (!query.ok()) return query.status();
  if (absl::Status status = CheckCompare(options, *query); !status.ok()) return status;
  absl::StatusOr<ExperimentSpec> spec = SpecOf(options);
  if (!spec.ok()) return spec.status();
  if (absl::Status tables = LoadGemmTables(&spec->policies.gemm); !tables.ok()) return tables;
  const std::string missing = MissingPlan(*spec, *query);
  if (!missing.empty()) return ConfigError({}, missing);
  answer->table = MakeClassTable(*spec, *query);
  if (!options.compare.empty()) {
    answer->pairs = DifferingPlans(*spec, *query, options.compare[0], options.compare[1]);
  }
  if (options.baseline.empty()) return absl::OkStatus();
  absl::StatusOr<ClassTable> baseline = BaselineFor(options.baseline, answer->table);
  if (!baseline.ok()) return baseline.status();
  answer->baseline = *std::move(baseline);
  answer->moved = MovedClasses(*answer->baseline, answer->table);
  return absl::OkStatus();
}

void Print(const ClassesOptions& options, const Answer& answer) {
  if (options.json) {
    nlohmann::ordered_json json = ClassesJson(answer.table);
    if (answer.baseline.has_value()) json["moved"] = MovedJson(answer.table, answer.moved);
    if (!options.compare.empty()) {
      json["compare"] = ComparisonJson(options.compare[0], options.compare[1], answer.pairs);
    }
    PrintData(ClassesJsonText(json));
  } else if (!options.compare.empty()) {
    PrintData(ComparisonText(options.compare[0], options.compare[1], answer.pairs));
  } else {
    PrintData(ClassesText(answer.table, TerminalColumns()));
  }
}

// Not OK when a gate that was asked for fails; the message says why.
absl::Status Gate(const ClassesOptions& options, const Answer& answer) {
  std::string words;
  const OpPartition* variant = FirstVariant(answer.table);
  if (!options.require.empty() && variant != nullptr) {
    absl::StrAppend(&words, "not invariant: ", VariantWords(*variant), "\n");
  }
  if (!answer.moved.empty()) {
    absl::StrAppend(&words, "classes differ from the baseline ", options.baseline, "\n",
                    MovedText(*answer.baseline, answer.table, answer.moved));
  }
  if (words.empty()) return absl::OkStatus();
  words.pop_back();
  return absl::FailedPreconditionError(words);
}

ExitCode Classes(const ClassesOptions& options) {
  Answer answer;
  if (absl::Status status = Compute(options, &answer); !status.ok()) {
    return ReportError(status, options.json);
  }
  Print(options, answer);
  const absl::Status gate = Gate(options, answer);
  return gate.ok() ? ExitCode::kDone : ReportError(gate, options.json);
}

}  // namespace

void AddClassesCommand(CLI::App* app, ExitCode* exit_code) {
  auto options = std::make_shared<ClassesOptions>();
  CLI::App* verb = app->add_subcommand(
      "classes", "Which M share a summation order, op by op; gates for a CI on it");
  verb->add_option("--model", options->model, "model: a name in configs/models or a file")
      ->required();
  verb->add_option("--device", options->device, "device: a name in configs/devices or a file")
      ->required();
  verb->add_option("--policies", options->policies, "a name in configs/policies or a file")
      ->capture_default_str();
  verb->add_option("--m", options->m, "M to sort into classes: 1..256 or 1,2,4,8 or both")
      ->capture_default_str();
  verb->add_option("--kv-len", options->kv_len,
                   "attention, too: steps of M requests that all have this KV length; a list");
  verb->add_option("--q-len", options->q_len, "query tokens of each of these requests")
      ->capture_default_str();
  verb->add_option("--tp", options->tp, "tensor-parallel ranks")->capture_default_str();
  verb->add_option("--dtype", options->dtype, "bf16 or fp16")->capture_default_str();
  verb->add_option("--padding", options->padding,
                   "exact, or capture: the body sees M padded to a CUDA-graph size")
      ->check(CLI::IsMember({"exact", "capture"}))
      ->capture_default_str();
  verb->add_option("--set", options->overrides, "KEY=VALUE as in an experiment, dots in KEY")
      ->allow_extra_args(false);
  verb->add_option("--baseline", options->baseline,
                   "an earlier --json output: exit code 1 when a class has moved");
  verb->add_option("--require", options->require, "invariant: exit code 1 when an op has 2 classes")
      ->check(CLI::IsMember({"invariant"}));
  verb->add_option("--compare", options->compare, "two M, 8,9: say how the ops differ that do")
      ->delimiter(',');
  verb->add_flag("--json", options->json, "print one JSON object");
  verb->callback([options, exit_code] { *exit_code = Classes(*options); });
}

}  // namespace batchvar
