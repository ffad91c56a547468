// `batchvar execute attention`: one request's last query row in two steps.
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
#include "sim/plan/attention_policy.h"
#include "sim/report/plan_json.h"
#include "tools/batchvar/execute_flags.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/plan_flags.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

struct AttentionExecuteFlags {
  ExecuteFlags common;
  std::vector<int64_t> kv_lens;
  std::vector<int64_t> b_kv_lens;
  std::vector<int64_t> q_lens = {1};
  std::vector<int64_t> b_q_lens;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};

struct AttentionSide {
  Order order;
  int64_t kv_len = 0;
  std::string words;
  nlohmann::ordered_json plan;
};

absl::StatusOr<std::vector<AttentionRequest>> StepOf(const std::string& prefix,
                                                     const std::vector<int64_t>& kv_lens,
                                                     const std::vector<int64_t>& q_lens) {
  if (q_lens.size() != 1 && q_lens.size() != kv_lens.size()) {
    return FlagError(prefix + "q-len", "give one value or as many as there are KV lengths");
  }
  std::vector<AttentionRequest> step;
  for (size_t i = 0; i < kv_lens.size(); ++i) {
    const int64_t q_len = q_lens[q_lens.size() == 1 ? 0 : i];
    if (absl::Status status = InRange(prefix + "kv-len", kv_lens[i]); !status.ok()) return status;
    if (absl::Status status = InRange(prefix + "q-len", q_len, kv_lens[i]); !status.ok()) {
      return status;
    }
    step.push_back({q_len, kv_lens[i]});
  }
  return step;
}

absl::StatusOr<AttentionSide> AttentionSideOf(const SideFlags& side, const std::string& prefix,
                                              const std::vector<AttentionRequest>& step,
                                              const AttentionHeads& heads) {
  const auto device = DeviceNamed(side.device, side.sm_count);
  if (!device.ok()) return device.status();
  const auto spec = LoadOpPolicy("attention", side.policy, prefix + "policy");
  if (!spec.ok()) return spec.status();
  const auto count = static_cast<int64_t>(step.size());
  const int64_t request = side.row.value_or(0);
  if (absl::Status status = InRange(prefix + "request", request, count - 1, 0); !status.ok()) {
    return status;
  }
  const auto policy = MakeAttentionPolicy(spec->attention);
  const AttentionRequest& target = step[request];
  const AttentionRule rule = policy->Rule(step, heads, *device);
  AttentionSide result;
  result.order = RowOrder(policy->OrderOfRow(rule, target, target.kv_len - 1, heads, *device),
                          target.kv_len - 1);
  result.kv_len = target.kv_len;
  result.words = absl::StrCat(policy->name(), ", ", device->name, " (", device->sm_count,
                              " SMs), request ", request, " of ", count, ", KV ", target.kv_len);
  result.plan = AttentionPlanJson(*policy, step, heads, *device);
  return result;
}

absl::StatusOr<AttentionData> AttentionDataOf(const AttentionExecuteFlags& flags, DType dtype,
                                              int64_t kv_len) {
  const auto family = DataFamilyOf(flags.common);
  if (!family.ok()) return family.status();
  AttentionData data;
  data.dtype = dtype;
  data.rows = flags.common.rows;
  data.kv_len = kv_len;
  data.q_heads = static_cast<int32_t>(flags.q_heads);
  data.kv_heads = static_cast<int32_t>(flags.kv_heads);
  data.head_dim = static_cast<int32_t>(flags.head_dim);
  const uint64_t seed = flags.common.seed;
  const int64_t kv_width = flags.kv_heads * flags.head_dim;
  data.q = SeededRows(seed, "execute.q", data.rows, flags.q_heads * flags.head_dim, dtype, 1.0f,
                      *family);
  data.k = SeededRows(seed, "execute.k", kv_len, kv_width, dtype, 1.0f, *family);
  data.v = SeededRows(seed, "execute.v", kv_len, kv_width, dtype, 1.0f, *family);
  return data;
}

// The flags that `plan attention` has too, checked as it checks them.
AttentionFlags ShapeOf(const AttentionExecuteFlags& flags) {
  AttentionFlags shape;
  shape.target.dtype = flags.common.dtype;
  shape.q_heads = flags.q_heads;
  shape.kv_heads = flags.kv_heads;
  shape.head_dim = flags.head_dim;
  return shape;
}

absl::Status RunAttention(AttentionExecuteFlags flags) {
  FillSideB(&flags.common);
  if (flags.b_kv_lens.empty()) flags.b_kv_lens = flags.kv_lens;
  if (flags.b_q_lens.empty()) flags.b_q_lens = flags.q_lens;
  const auto dtype = DTypeNamed(flags.common.dtype);
  if (!dtype.ok()) return dtype.status();
  const auto heads = HeadsOf(ShapeOf(flags));
  if (!heads.ok()) return heads.status();
  const auto step_a = StepOf("--", flags.kv_lens, flags.q_lens);
  if (!step_a.ok()) return step_a.status();
  const auto step_b = StepOf("--b-", flags.b_kv_lens, flags.b_q_lens);
  if (!step_b.ok()) return step_b.status();
  const auto a = AttentionSideOf(flags.common.a, "--", *step_a, *heads);
  if (!a.ok()) return a.status();
  const auto b = AttentionSideOf(flags.common.b, "--b-", *step_b, *heads);
  if (!b.ok()) return b.status();
  if (a->kv_len != b->kv_len) {
    return FlagError("--b-kv-len", absl::StrCat("the executed request has KV length ", b->kv_len,
                                                " in side b and ", a->kv_len,
                                                " in side a; it must be the same request"));
  }
  const auto executor = ExecutorOf(flags.common);
  if (!executor.ok()) return executor.status();
  const auto data = AttentionDataOf(flags, *dtype, a->kv_len);
  if (!data.ok()) return data.status();
  Execution execution;
  const FloatFault fault =
      ExecuteAttentionTwice(*data, a->order, b->order, executor->Choice(), &execution);
  if (absl::Status status = FaultStatus(fault); !status.ok()) return status;
  PrintExecution(flags.common, execution, a->words, b->words, a->plan, b->plan);
  return absl::OkStatus();
}

}  // namespace

void AddExecuteAttention(CLI::App* execute, ExitCode* exit_code) {
  CLI::App* verb = execute->add_subcommand("attention", "A request's last query row in two steps");
  const auto flags = std::make_shared<AttentionExecuteFlags>();
  const auto lengths = [verb](const char* name, std::vector<int64_t>* values, const char* words) {
    return verb->add_option(name, *values, words)->delimiter(',');
  };
  lengths("--kv-len", &flags->kv_lens, "KV length of each request of the step")->required();
  lengths("--b-kv-len", &flags->b_kv_lens, "Side b, if not as side a");
  lengths("--q-len", &flags->q_lens, "Query tokens, one for all or one a request (1)");
  lengths("--b-q-len", &flags->b_q_lens, "Side b, if not as side a");
  verb->add_option("--request", flags->common.a.row, "Which request of the list is executed (0)");
  verb->add_option("--b-request", flags->common.b.row, "Side b, if not as side a");
  verb->add_option("--q-heads", flags->q_heads, "Query heads on this rank")->required();
  verb->add_option("--kv-heads", flags->kv_heads, "KV heads on this rank")->required();
  verb->add_option("--head-dim", flags->head_dim, "Elements of a head")->required();
  SideUse use;
  use.row = false;
  use.m = false;
  AddExecuteFlags(verb, "textbook", use, &flags->common);
  verb->callback([flags, exit_code] {
    const absl::Status status = RunAttention(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->common.json);
  });
}

}  // namespace batchvar
