#include "tools/batchvar/execute_flags.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/report/execution_json.h"
#include "sim/report/execution_text.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxDataRows = 4096;
constexpr int64_t kMaxThreads = 1024;

void AddSide(CLI::App* verb, const std::string& prefix, const std::string& side, const SideUse& use,
             SideFlags* flags) {
  if (use.device) {
    CLI::Option* device = verb->add_option(prefix + "device", flags->device,
                                           side + "a name in configs/devices or a file");
    if (prefix == "--") device->required();
    verb->add_option(prefix + "sm-count", flags->sm_count,
                     side + "this many SMs instead of the device's");
  }
  verb->add_option(prefix + "policy", flags->policy,
                   side + "decomposition policy, or a map such as {name: stream_k, generation: 2}");
  if (use.m) {
    CLI::Option* m = verb->add_option(prefix + "m", flags->m, side + use.m_words);
    if (prefix == "--") m->required();
  }
  if (use.row) {
    verb->add_option(prefix + "row", flags->row, side + "place of the executed row in it (0)");
  }
}

}  // namespace

void AddExecuteFlags(CLI::App* verb, const char* default_policy, const SideUse& use,
                     ExecuteFlags* flags) {
  flags->a.policy = default_policy;
  AddSide(verb, "--", "", use, &flags->a);
  AddSide(verb, "--b-", "Side b, if not as side a: ", use, &flags->b);
  verb->add_option("--dtype", flags->dtype, "bf16 or fp16")->capture_default_str();
  verb->add_option("--data", flags->data,
                   "normal, or outliers: one column in 128 is 32 times larger")
      ->capture_default_str();
  verb->add_option("--seed", flags->seed, "Of the data")->capture_default_str();
  verb->add_option("--rows", flags->rows, "Rows of data, each in the same place of the batch")
      ->capture_default_str();
  verb->add_option("--isa", flags->isa, "scalar, avx2, avx512, or best: equal bits all of them")
      ->capture_default_str();
  verb->add_option("--threads", flags->threads, "Threads; never changes a bit")
      ->capture_default_str();
  verb->add_flag("--json", flags->json, "Print one JSON object");
}

void FillSideB(ExecuteFlags* flags) {
  const SideFlags& a = flags->a;
  SideFlags& b = flags->b;
  if (!b.sm_count && b.device.empty()) b.sm_count = a.sm_count;
  if (b.device.empty()) b.device = a.device;
  if (b.policy.empty()) b.policy = a.policy;
  if (!b.m) b.m = a.m;
  if (!b.row) b.row = a.row;
}

absl::Status CheckRows(const SideFlags& side, const std::string& prefix) {
  if (absl::Status status = InRange(prefix + "m", *side.m); !status.ok()) return status;
  return InRange(prefix + "row", side.row.value_or(0), *side.m - 1, 0);
}

absl::StatusOr<DataFamily> DataFamilyOf(const ExecuteFlags& flags) {
  if (absl::Status status = InRange("--rows", flags.rows, kMaxDataRows); !status.ok()) {
    return status;
  }
  std::vector<std::string> known;
  for (const DataFamily family : {DataFamily::kNormal, DataFamily::kOutliers}) {
    if (flags.data == DataFamilyName(family)) return family;
    known.emplace_back(DataFamilyName(family));
  }
  return UnknownName("--data", flags.data, known);
}

absl::StatusOr<Executor> ExecutorOf(const ExecuteFlags& flags) {
  if (absl::Status status = InRange("--threads", flags.threads, kMaxThreads); !status.ok()) {
    return status;
  }
  Executor executor;
  executor.isa = BestIsa();
  if (flags.isa != "best" && !ParseIsa(flags.isa, &executor.isa)) {
    return UnknownName("--isa", flags.isa, {"best", "scalar", "avx2", "avx512"});
  }
  if (!HasIsa(executor.isa)) {
    return FlagError("--isa", absl::StrCat("this CPU has no ", IsaName(executor.isa),
                                           "; the best it has is ", IsaName(BestIsa())));
  }
  executor.pool = std::make_unique<WorkerPool>(static_cast<int32_t>(flags.threads));
  return executor;
}

absl::Status FaultStatus(FloatFault fault) {
  if (fault == FloatFault::kNone) return absl::OkStatus();
  return absl::InternalError(FloatFaultMessage(fault));
}

void PrintExecution(const ExecuteFlags& flags, const Execution& execution,
                    const std::string& words_a, const std::string& words_b,
                    const nlohmann::ordered_json& plan_a, const nlohmann::ordered_json& plan_b) {
  PrintData(flags.json ? JsonLine(ExecutionJson(execution, plan_a, plan_b))
                       : ExecutionText(execution, words_a, words_b));
}

}  // namespace batchvar
