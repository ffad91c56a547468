// `batchvar execute norm|allreduce`: one row of a step under two plans.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/op_execution.h"
#include "sim/config/load_experiment.h"
#include "sim/plan/allreduce_policy.h"
#include "sim/plan/row_policy.h"
#include "tools/batchvar/execute_flags.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

struct NormExecuteFlags {
  ExecuteFlags common;
  int64_t width = 0;
};

struct NormSide {
  Order order;
  std::string words;
  nlohmann::ordered_json plan;
};

absl::StatusOr<NormSide> NormSideOf(const SideFlags& side, const std::string& prefix, int64_t width,
                                    DType dtype) {
  if (absl::Status status = CheckRows(side, prefix); !status.ok()) return status;
  const auto spec = LoadOpPolicy("norm", side.policy, prefix + "policy");
  if (!spec.ok()) return spec.status();
  NormSide result;
  result.order = NormOrder(spec->norm, *side.m, width, dtype);
  const char* name = PolicyName(spec->norm.kind);
  result.words = absl::StrCat(name, ", ", *side.m, " rows of ", width, ": blocks of ",
                              result.order.block, " threads");
  result.plan = {{"op", "norm"},
                 {"policy", name},
                 {"m", *side.m},
                 {"k", width},
                 {"block", result.order.block}};
  return result;
}

absl::Status RunNorm(NormExecuteFlags flags) {
  FillSideB(&flags.common);
  if (absl::Status status = InRange("--width", flags.width); !status.ok()) return status;
  const auto dtype = DTypeNamed(flags.common.dtype);
  if (!dtype.ok()) return dtype.status();
  const auto a = NormSideOf(flags.common.a, "--", flags.width, *dtype);
  if (!a.ok()) return a.status();
  const auto b = NormSideOf(flags.common.b, "--b-", flags.width, *dtype);
  if (!b.ok()) return b.status();
  const auto executor = ExecutorOf(flags.common);
  if (!executor.ok()) return executor.status();
  const auto family = DataFamilyOf(flags.common);
  if (!family.ok()) return family.status();
  NormData data;
  data.dtype = *dtype;
  data.rows = flags.common.rows;
  data.width = flags.width;
  data.x = SeededRows(flags.common.seed, "execute.x", data.rows, data.width, *dtype, 1.0f, *family);
  data.weight =
      SeededRows(flags.common.seed, "execute.w", 1, data.width, *dtype, 1.0f, DataFamily::kNormal);
  Execution execution;
  const FloatFault fault =
      ExecuteNormTwice(data, a->order, b->order, executor->Choice(), &execution);
  if (absl::Status status = FaultStatus(fault); !status.ok()) return status;
  PrintExecution(flags.common, execution, a->words, b->words, a->plan, b->plan);
  return absl::OkStatus();
}

struct AllReduceExecuteFlags {
  ExecuteFlags common;
  int64_t width = 0;
  int64_t ranks = 0;
};

struct AllReduceSide {
  RowOrders orders;
  std::string words;
  nlohmann::ordered_json plan;
};

absl::StatusOr<AllReduceSide> AllReduceSideOf(const SideFlags& side, const std::string& prefix,
                                              int64_t width, int64_t ranks, DType dtype) {
  if (absl::Status status = CheckRows(side, prefix); !status.ok()) return status;
  const auto spec = LoadOpPolicy("allreduce", side.policy, prefix + "policy");
  if (!spec.ok()) return spec.status();
  const auto device = DeviceNamed(side.device, side.sm_count);
  if (!device.ok()) return device.status();
  const AllReduceMessage message{*side.m, width, dtype, static_cast<int32_t>(ranks)};
  const AllReducePlan plan = PlanAllReduce(spec->allreduce, message, *device);
  const int64_t row = side.row.value_or(0);
  AllReduceSide result;
  result.orders = {StripsOfAllReduceRow(plan, message, row),
                   ClassOfAllReduceRow(plan, message, row)};
  const char* algorithm = PolicyName(plan.algorithm);
  result.words = absl::StrCat(PolicyName(spec->allreduce.kind), " (", plan.reason, "), ", ranks,
                              " ranks, M = ", *side.m, ", row ", row);
  result.plan = {{"op", "allreduce"},
                 {"policy", PolicyName(spec->allreduce.kind)},
                 {"algorithm", algorithm},
                 {"reason", plan.reason},
                 {"device", device->name},
                 {"ranks", ranks},
                 {"m", *side.m},
                 {"row", row},
                 {"k", width},
                 {"class", plan.klass.Hex()}};
  return result;
}

absl::Status RunAllReduce(AllReduceExecuteFlags flags) {
  constexpr int64_t kMaxRanks = 1024;
  FillSideB(&flags.common);
  if (absl::Status status = InRange("--width", flags.width); !status.ok()) return status;
  if (absl::Status status = InRange("--ranks", flags.ranks, kMaxRanks); !status.ok()) return status;
  const auto dtype = DTypeNamed(flags.common.dtype);
  if (!dtype.ok()) return dtype.status();
  const auto a = AllReduceSideOf(flags.common.a, "--", flags.width, flags.ranks, *dtype);
  if (!a.ok()) return a.status();
  const auto b = AllReduceSideOf(flags.common.b, "--b-", flags.width, flags.ranks, *dtype);
  if (!b.ok()) return b.status();
  const auto executor = ExecutorOf(flags.common);
  if (!executor.ok()) return executor.status();
  const auto family = DataFamilyOf(flags.common);
  if (!family.ok()) return family.status();
  AllReduceData data;
  data.dtype = *dtype;
  data.ranks = static_cast<int32_t>(flags.ranks);
  data.rows = flags.common.rows;
  data.width = flags.width;
  for (int64_t rank = 0; rank < flags.ranks; ++rank) {
    data.values.push_back(SeededRows(flags.common.seed, absl::StrCat("execute.rank.", rank),
                                     data.rows, data.width, *dtype, 1.0f, *family));
  }
  Execution execution;
  const FloatFault fault =
      ExecuteAllReduceTwice(data, a->orders, b->orders, executor->Choice(), &execution);
  if (absl::Status status = FaultStatus(fault); !status.ok()) return status;
  PrintExecution(flags.common, execution, a->words, b->words, a->plan, b->plan);
  return absl::OkStatus();
}

}  // namespace

void AddExecuteNorm(CLI::App* execute, ExitCode* exit_code) {
  CLI::App* verb = execute->add_subcommand("norm", "RMSNorm of a row in two steps");
  const auto flags = std::make_shared<NormExecuteFlags>();
  verb->add_option("--width", flags->width, "Elements of a row")->required();
  SideUse use;
  use.device = false;
  use.row = false;
  AddExecuteFlags(verb, "norm_vllm", use, &flags->common);
  verb->callback([flags, exit_code] {
    const absl::Status status = RunNorm(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->common.json);
  });
}

void AddExecuteAllReduce(CLI::App* execute, ExitCode* exit_code) {
  CLI::App* verb = execute->add_subcommand("allreduce", "A row of a message summed over ranks");
  const auto flags = std::make_shared<AllReduceExecuteFlags>();
  verb->add_option("--width", flags->width, "Elements of a row")->required();
  verb->add_option("--ranks", flags->ranks, "Ranks whose rows are added")->required();
  AddExecuteFlags(verb, "vllm", {}, &flags->common);
  verb->callback([flags, exit_code] {
    const absl::Status status = RunAllReduce(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->common.json);
  });
}

}  // namespace batchvar
