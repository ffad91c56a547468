// `batchvar plan gemm|attention`: how one op would be cut on a device, and why.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/gemm_policy.h"
#include "sim/report/plan_json.h"
#include "sim/report/plan_text.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/plan_flags.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

absl::Status RunGemm(const GemmFlags& flags, int64_t m) {
  for (const auto& [flag, value] :
       {std::pair("--m", m), std::pair("--n", flags.n), std::pair("--k", flags.k)}) {
    if (absl::Status status = InRange(flag, value); !status.ok()) return status;
  }
  const auto spec = GemmSpecOf(flags);
  if (!spec.ok()) return spec.status();
  const auto dtype = DTypeNamed(flags.target.dtype);
  if (!dtype.ok()) return dtype.status();
  const auto device = DeviceOf(flags.target);
  if (!device.ok()) return device.status();
  const std::unique_ptr<GemmPolicy> policy = MakeGemmPolicy(*spec);
  const GemmShape shape{m, flags.n, flags.k, *dtype};
  const std::string missing = policy->Missing(shape, *device);
  if (!missing.empty()) return FlagError("--policy", missing);
  const GemmPlan plan = policy->PlanWithWords(shape, *device);
  PrintData(flags.target.json ? JsonLine(GemmPlanJson(plan)) : GemmPlanText(plan));
  return absl::OkStatus();
}

absl::Status RunAttention(const AttentionFlags& flags) {
  const auto step = StepOf(flags);
  if (!step.ok()) return step.status();
  const auto heads = HeadsOf(flags);
  if (!heads.ok()) return heads.status();
  const auto spec = AttentionSpecOf(flags);
  if (!spec.ok()) return spec.status();
  const auto device = DeviceOf(flags.target);
  if (!device.ok()) return device.status();
  const auto policy = MakeAttentionPolicy(*spec);
  PrintData(flags.target.json ? JsonLine(AttentionPlanJson(*policy, *step, *heads, *device))
                              : AttentionPlanText(*policy, *step, *heads, *device));
  return absl::OkStatus();
}

void AddGemm(CLI::App* plan, ExitCode* exit_code) {
  CLI::App* verb = plan->add_subcommand("gemm", "Y[M,N] = X[M,K] W[K,N]: tiles, split-K, class");
  const auto flags = std::make_shared<GemmFlags>();
  const auto m = std::make_shared<int64_t>(0);
  verb->add_option("--m", *m, "Rows: the step's tokens after padding")->required();
  AddGemmFlags(verb, flags.get());
  AddTargetFlags(verb, DeviceFlag::kRequired, &flags->target);
  verb->callback([flags, m, exit_code] {
    const absl::Status status = RunGemm(*flags, *m);
    if (!status.ok()) *exit_code = ReportError(status, flags->target.json);
  });
}

void AddAttention(CLI::App* plan, ExitCode* exit_code) {
  CLI::App* verb = plan->add_subcommand("attention", "KV splits of every request of one step");
  const auto flags = std::make_shared<AttentionFlags>();
  AddAttentionFlags(verb, flags.get());
  AddTargetFlags(verb, DeviceFlag::kRequired, &flags->target);
  verb->callback([flags, exit_code] {
    const absl::Status status = RunAttention(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->target.json);
  });
}

}  // namespace

void AddPlanCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* plan = app->add_subcommand("plan", "How one op is cut on a device, and why");
  plan->require_subcommand(1);
  AddGemm(plan, exit_code);
  AddAttention(plan, exit_code);
}

}  // namespace batchvar
