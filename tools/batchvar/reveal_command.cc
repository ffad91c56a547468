// `batchvar reveal gemm|attention|norm|allreduce`: which terms meet where, found by running the
// sum, and whether that is what its plan says.
#include "tools/batchvar/reveal_command.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/divergence/order_tree.h"
#include "sim/divergence/probe_terms.h"
#include "sim/divergence/scalar_probe.h"
#include "sim/plan/allreduce_policy.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/row_policy.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/plan_flags.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

constexpr char kScalar[] = "scalar";

struct RevealAttentionFlags {
  AttentionFlags attention;
  int64_t request = 0;
  int64_t leaves = 64;
};

struct RevealRowFlags {
  TargetFlags target;
  int64_t rows = 1;
  int64_t width = 0;
  int64_t ranks = 0;    // all-reduce
  int64_t element = 0;  // all-reduce: of the flattened message
  int64_t leaves = 64;  // norm
};

absl::Status RunAttention(const RevealAttentionFlags& flags) {
  const auto step = StepOf(flags.attention);
  if (!step.ok()) return step.status();
  const auto heads = HeadsOf(flags.attention);
  if (!heads.ok()) return heads.status();
  const auto spec = AttentionSpecOf(flags.attention);
  if (!spec.ok()) return spec.status();
  const auto device = DeviceOf(flags.attention.target);
  if (!device.ok()) return device.status();
  if (absl::Status status = CheckLeaves(flags.leaves); !status.ok()) return status;
  if (flags.request < 0 || flags.request >= std::ssize(*step)) {
    return FlagError("--request", absl::StrCat("counts the step's requests from 0 to ",
                                               step->size() - 1, ", not ", flags.request));
  }
  const int64_t kv_len = (*step)[flags.request].kv_len;
  if (absl::Status status = InRange("--kv-len", kv_len, kMaxTerms); !status.ok()) return status;
  const auto policy = MakeAttentionPolicy(*spec);
  const Order order = policy->Plan(*step, *heads, *device)[flags.request].order;

  TreeReport report;
  report.op = "attention";
  report.implementation = kScalar;
  report.policy = policy->name();
  report.device = device->name;
  report.element = absl::StrCat("last query row of request ", flags.request, ", kv_len ", kv_len,
                                ", ", DTypeName(heads->dtype));
  report.summed = "KV position";
  report.extent = kv_len;
  report.places = ProbePlaces(kv_len, flags.leaves);
  const std::string why = WhyAttentionHasNoProbe(order, std::ssize(report.places));
  if (!why.empty()) return FlagError("--kv-len", why);
  TreeCase one;
  one.planned = TreeOfAttention(order, report.places);
  one.revealed = RevealTerms(kv_len, report.places, AttentionOfTerms(order, heads->dtype));
  report.cases.push_back(std::move(one));
  return PrintTrees(report, flags.attention.target.json, /*must_match=*/true);
}

absl::Status CheckMessage(const RevealRowFlags& flags) {
  if (absl::Status status = InRange("--rows", flags.rows); !status.ok()) return status;
  return InRange("--width", flags.width, kMaxTerms);
}

absl::Status RunNorm(const RevealRowFlags& flags) {
  if (absl::Status status = CheckMessage(flags); !status.ok()) return status;
  if (absl::Status status = CheckLeaves(flags.leaves); !status.ok()) return status;
  const auto kind = PolicyNamed<NormPolicyKind>(
      flags.target.policy, {NormPolicyKind::kNormInvariant, NormPolicyKind::kNormVllm});
  if (!kind.ok()) return kind.status();
  const auto dtype = DTypeNamed(flags.target.dtype);
  if (!dtype.ok()) return dtype.status();
  const Order order = NormOrder({*kind}, flags.rows, flags.width, *dtype);

  TreeReport report;
  report.op = "norm";
  report.implementation = kScalar;
  report.policy = PolicyName(*kind);
  report.element = absl::StrCat("a row of ", flags.width, " among ", flags.rows, ", ",
                                DTypeName(*dtype), ", ", order.block, " threads");
  report.summed = "place in the row";
  report.extent = flags.width;
  report.places = ProbePlaces(flags.width, flags.leaves);
  TreeCase one;
  one.planned = TreeOfRow(order, flags.width, *dtype, report.places);
  one.revealed = RevealTerms(flags.width, report.places, RowOfTerms(order, flags.width, *dtype));
  report.cases.push_back(std::move(one));
  return PrintTrees(report, flags.target.json, /*must_match=*/true);
}

absl::Status RunAllReduce(const RevealRowFlags& flags) {
  if (absl::Status status = CheckMessage(flags); !status.ok()) return status;
  if (absl::Status status = InRange("--ranks", flags.ranks, kMaxProbeTerms); !status.ok()) {
    return status;
  }
  const auto kind = PolicyNamed(flags.target.policy, AllAllReducePolicies());
  if (!kind.ok()) return kind.status();
  const auto dtype = DTypeNamed(flags.target.dtype);
  if (!dtype.ok()) return dtype.status();
  const auto device = DeviceOf(flags.target);
  if (!device.ok()) return device.status();
  const AllReduceMessage message{flags.rows, flags.width, *dtype,
                                 static_cast<int32_t>(flags.ranks)};
  if (flags.element < 0 || flags.element >= message.Elements()) {
    return FlagError("--element", absl::StrCat("must be from 0 to ", message.Elements() - 1,
                                               ", not ", flags.element));
  }
  AllReducePolicySpec spec;
  spec.kind = *kind;
  const AllReducePlan plan = PlanAllReduce(spec, message, *device);
  size_t slice = 0;
  while (plan.slices[slice].columns.end <= flags.element) ++slice;
  const Order& order = plan.slices[slice].order;

  TreeReport report;
  report.op = "allreduce";
  report.implementation = kScalar;
  report.policy = PolicyName(*kind);
  report.device = device->name;
  report.element =
      absl::StrCat("element ", flags.element, " of ", flags.rows, " x ", flags.width, " over ",
                   flags.ranks, " ranks, ", DTypeName(*dtype), ", ", PolicyName(plan.algorithm));
  report.summed = "rank";
  report.extent = flags.ranks;
  report.places = ProbePlaces(flags.ranks, flags.ranks);
  TreeCase one;
  one.planned = TreeOfRanks(order);
  one.revealed = RevealTerms(flags.ranks, report.places, RanksOfTerms(order));
  report.cases.push_back(std::move(one));
  return PrintTrees(report, flags.target.json, /*must_match=*/true);
}

void AddRevealAttention(CLI::App* reveal, ExitCode* exit_code) {
  CLI::App* verb = reveal->add_subcommand(
      "attention",
      "One request's output. Where pieces of KV are merged its KV length has to be a power of two: "
      "the merge divides by it, and a probe needs that exact");
  const auto flags = std::make_shared<RevealAttentionFlags>();
  verb->add_option("--request", flags->request, "Which request of the step, from 0")
      ->capture_default_str();
  AddLeavesFlag(verb, &flags->leaves);
  AddAttentionFlags(verb, &flags->attention);
  AddTargetFlags(verb, DeviceFlag::kRequired, &flags->attention.target);
  verb->callback([flags, exit_code] {
    const absl::Status status = RunAttention(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->attention.target.json);
  });
}

void AddRevealNorm(CLI::App* reveal, ExitCode* exit_code) {
  CLI::App* verb = reveal->add_subcommand("norm", "The sum over one row of an RMSNorm");
  const auto flags = std::make_shared<RevealRowFlags>();
  flags->target.policy = PolicyName(NormPolicyKind::kNormInvariant);
  verb->add_option("--rows", flags->rows, "Rows of the step: its tokens")->capture_default_str();
  verb->add_option("--width", flags->width, "Elements of a row")->required();
  AddLeavesFlag(verb, &flags->leaves);
  verb->add_option("--policy", flags->target.policy, "norm_invariant or norm_vllm")
      ->capture_default_str();
  verb->add_option("--dtype", flags->target.dtype, "bf16 or fp16")->capture_default_str();
  verb->add_flag("--json", flags->target.json, "Print one JSON object");
  verb->callback([flags, exit_code] {
    const absl::Status status = RunNorm(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->target.json);
  });
}

void AddRevealAllReduce(CLI::App* reveal, ExitCode* exit_code) {
  CLI::App* verb = reveal->add_subcommand("allreduce", "One element of a sum over ranks");
  const auto flags = std::make_shared<RevealRowFlags>();
  flags->target.policy = PolicyName(AllReducePolicyKind::kOneShot);
  verb->add_option("--rows", flags->rows, "Rows of the message: the step's tokens")
      ->capture_default_str();
  verb->add_option("--width", flags->width, "Elements of a row")->required();
  verb->add_option("--ranks", flags->ranks, "Ranks, each a term of the sum")->required();
  verb->add_option("--element", flags->element, "Its place in the message, row after row")
      ->capture_default_str();
  AddTargetFlags(verb, DeviceFlag::kRequired, &flags->target);
  verb->callback([flags, exit_code] {
    const absl::Status status = RunAllReduce(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->target.json);
  });
}

}  // namespace

void AddLeavesFlag(CLI::App* verb, int64_t* leaves) {
  verb->add_option("--leaves", *leaves, "Most terms to probe; of a longer sum some are chosen")
      ->capture_default_str();
}

absl::Status CheckLeaves(int64_t leaves) { return InRange("--leaves", leaves, kMaxProbeTerms); }

absl::Status PrintTrees(const TreeReport& report, bool json, bool must_match) {
  PrintData(json ? JsonLine(TreeReportJson(report)) : TreeReportText(report));
  if (!must_match) return absl::OkStatus();
  for (const TreeCase& one : report.cases) {
    if (one.MatchesPlan()) continue;
    return absl::InternalError(absl::StrCat(
        report.implementation, " does not add ", report.element,
        one.m > 0 ? absl::StrCat(" at M = ", one.m) : "",
        " as its plan says; please report this with the command and the output above"));
  }
  return absl::OkStatus();
}

void AddRevealCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* reveal =
      app->add_subcommand("reveal", "The summation tree of a sum, found by running it");
  reveal->require_subcommand(1);
  AddRevealGemm(reveal, exit_code);
  AddRevealAttention(reveal, exit_code);
  AddRevealNorm(reveal, exit_code);
  AddRevealAllReduce(reveal, exit_code);
}

}  // namespace batchvar
