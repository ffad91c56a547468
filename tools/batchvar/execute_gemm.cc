// `batchvar execute gemm`: one row of a linear layer under two plans.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/op_execution.h"
#include "sim/config/load_experiment.h"
#include "sim/io/gemm_table.h"
#include "sim/plan/gemm_policy.h"
#include "sim/report/plan_json.h"
#include "tools/batchvar/execute_flags.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/operand_file.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

// Weights of a linear layer are small; activations are about 1.
constexpr float kWeightScale = 0.03f;
constexpr int64_t kDefaultColumns = 1024;

struct GemmExecuteFlags {
  ExecuteFlags common;
  int64_t n = 0;
  int64_t k = 0;
  int64_t columns = 0;
  std::string x_file;
  std::string w_file;
};

absl::StatusOr<GemmPlan> GemmPlanOf(const SideFlags& side, const std::string& prefix, int64_t n,
                                    int64_t k, DType dtype) {
  if (absl::Status status = CheckRows(side, prefix); !status.ok()) return status;
  auto spec = LoadGemmPolicy(side.policy, {}, prefix + "policy");
  if (!spec.ok()) return spec.status();
  if (absl::Status tables = LoadGemmTables(&*spec); !tables.ok()) return tables;
  const auto device = DeviceNamed(side.device, side.sm_count);
  if (!device.ok()) return device.status();
  const auto policy = MakeGemmPolicy(*spec);
  const GemmShape shape{*side.m, n, k, dtype};
  if (const std::string missing = policy->Missing(shape, *device); !missing.empty()) {
    return FlagError(prefix + "policy", missing);
  }
  return policy->PlanWithWords(shape, *device);
}

absl::StatusOr<GemmData> GemmDataOf(const GemmExecuteFlags& flags, DType dtype) {
  const auto family = DataFamilyOf(flags.common);
  if (!family.ok()) return family.status();
  GemmData data;
  data.dtype = dtype;
  data.k = flags.k;
  data.rows = flags.common.rows;
  data.columns =
      flags.columns > 0 ? std::min(flags.columns, flags.n) : std::min(flags.n, kDefaultColumns);
  const uint64_t seed = flags.common.seed;
  if (flags.x_file.empty()) {
    data.x = SeededRows(seed, "execute.x", data.rows, data.k, dtype, 1.0f, *family);
  } else {
    auto rows = ReadOperandFile(flags.x_file, data.k);
    if (!rows.ok()) return rows.status();
    data.x = std::move(*rows);
    data.rows = std::ssize(data.x) / data.k;
  }
  if (flags.w_file.empty()) {
    data.w = SeededRows(seed, "execute.w", data.columns, data.k, dtype, kWeightScale,
                        DataFamily::kNormal);
    return data;
  }
  auto weights = ReadOperandFile(flags.w_file, data.k);
  if (!weights.ok()) return weights.status();
  if (std::ssize(*weights) != flags.n * data.k) {
    return FlagError("--w",
                     absl::StrCat("'", flags.w_file, "' holds ", std::ssize(*weights) / data.k,
                                  " rows of ", data.k, " words, not --n ", flags.n));
  }
  data.w = std::move(*weights);
  data.w.resize(data.columns * data.k);
  return data;
}

std::string GemmWords(const GemmPlan& plan, int64_t row) {
  return absl::StrCat(plan.policy, ", ", plan.device, " (", plan.sm_count,
                      " SMs), M = ", plan.shape.m, ", row ", row);
}

absl::Status RunGemm(GemmExecuteFlags flags) {
  FillSideB(&flags.common);
  for (const auto& [flag, value] : {std::pair("--n", flags.n), std::pair("--k", flags.k)}) {
    if (absl::Status status = InRange(flag, value); !status.ok()) return status;
  }
  const auto dtype = DTypeNamed(flags.common.dtype);
  if (!dtype.ok()) return dtype.status();
  const auto a = GemmPlanOf(flags.common.a, "--", flags.n, flags.k, *dtype);
  if (!a.ok()) return a.status();
  const auto b = GemmPlanOf(flags.common.b, "--b-", flags.n, flags.k, *dtype);
  if (!b.ok()) return b.status();
  const auto executor = ExecutorOf(flags.common);
  if (!executor.ok()) return executor.status();
  const auto data = GemmDataOf(flags, *dtype);
  if (!data.ok()) return data.status();
  const int64_t row_a = flags.common.a.row.value_or(0), row_b = flags.common.b.row.value_or(0);
  Execution execution;
  const FloatFault fault = ExecuteGemmTwice(*data, OrdersOfRow(*a, row_a), OrdersOfRow(*b, row_b),
                                            executor->Choice(), &execution);
  if (absl::Status status = FaultStatus(fault); !status.ok()) return status;
  PrintExecution(flags.common, execution, GemmWords(*a, row_a), GemmWords(*b, row_b),
                 GemmPlanJson(*a), GemmPlanJson(*b));
  return absl::OkStatus();
}

}  // namespace

void AddExecuteGemm(CLI::App* execute, ExitCode* exit_code) {
  CLI::App* verb = execute->add_subcommand("gemm", "One row of Y = X W^T under two plans");
  const auto flags = std::make_shared<GemmExecuteFlags>();
  verb->add_option("--n", flags->n, "Output features")->required();
  verb->add_option("--k", flags->k, "Summed features")->required();
  verb->add_option("--columns", flags->columns,
                   "Execute this many output features, from the first on (1024, or all)");
  verb->add_option("--x", flags->x_file, "Rows of data instead of seeded ones: raw 16-bit words");
  verb->add_option("--w", flags->w_file, "Weights [n][k] instead of seeded ones: raw 16-bit words");
  AddExecuteFlags(verb, "textbook", {}, &flags->common);
  verb->callback([flags, exit_code] {
    const absl::Status status = RunGemm(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->common.json);
  });
}

}  // namespace batchvar
