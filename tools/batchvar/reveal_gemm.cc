// `batchvar reveal gemm`: the summation tree of one output element, M after M.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sim/divergence/order_tree.h"
#include "sim/divergence/probe_terms.h"
#include "sim/plan/gemm_policy.h"
#include "tools/batchvar/gemm_implementation.h"
#include "tools/batchvar/m_list.h"
#include "tools/batchvar/plan_flags.h"
#include "tools/batchvar/reveal_command.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

constexpr int64_t kMostM = 64;
// Of a library, which computes every element for each answer: floats of X, W and Y, and products.
constexpr int64_t kMostFloats = int64_t{1} << 26;
constexpr int64_t kMostProducts = int64_t{1} << 31;

struct RevealGemmFlags {
  GemmFlags gemm;
  std::string m;
  std::string implementation = "scalar";
  int64_t leaves = 64;
  int64_t row = 0;
  int64_t column = 0;
  std::vector<std::string> plan_flags;  // those given that only a plan reads
};

absl::StatusOr<GemmImplementation> ImplementationNamed(const std::string& name) {
  std::vector<std::string> known;
  for (const GemmImplementation& implementation : GemmImplementations()) {
    if (name == implementation.name) return implementation;
    known.emplace_back(implementation.name);
  }
  return UnknownName("--implementation", name, known);
}

absl::Status CheckElement(const RevealGemmFlags& flags, int64_t smallest_m) {
  if (absl::Status status = InRange("--n", flags.gemm.n); !status.ok()) return status;
  if (absl::Status status = InRange("--k", flags.gemm.k, kMaxTerms); !status.ok()) return status;
  if (flags.row < 0 || flags.row >= smallest_m) {
    return FlagError("--row", absl::StrCat("is a row of every M, so from 0 to ", smallest_m - 1,
                                           ", not ", flags.row));
  }
  if (flags.column < 0 || flags.column >= flags.gemm.n) {
    return FlagError("--column",
                     absl::StrCat("must be from 0 to ", flags.gemm.n - 1, ", not ", flags.column));
  }
  return CheckLeaves(flags.leaves);
}

absl::Status CheckLibrarySize(const std::string& name, int64_t m, int64_t n, int64_t k) {
  // k is at most 2^20 and m, n below 2^31, so only the product of all three could overflow.
  const bool fits = m <= kMostFloats / k && n <= kMostFloats / k && m <= kMostFloats / n &&
                    m * n <= kMostProducts / k;
  if (fits) return absl::OkStatus();
  return FlagError("--n", absl::StrCat(name, " computes all of M ", m, " x N ", n, " x K ", k,
                                       " for every answer: at most 2^26 numbers a matrix and 2^31 "
                                       "products; its tree seldom depends on a large N"));
}

// What plans the element; none where no device is named.
struct Planner {
  std::unique_ptr<GemmPolicy> policy;
  DeviceSpec device;
};

absl::StatusOr<std::optional<Planner>> PlannerOf(const RevealGemmFlags& flags,
                                                 const GemmImplementation& implementation) {
  const TargetFlags& target = flags.gemm.target;
  if (target.device.empty()) {
    if (implementation.executes_plans) {
      return FlagError("--device", absl::StrCat("is required: ", implementation.name,
                                                " executes the plan for a device"));
    }
    if (!flags.plan_flags.empty()) {
      return FlagError(flags.plan_flags[0],
                       absl::StrCat("is of use only with --device, for a plan to compare with: ",
                                    implementation.name, " multiplies fp32 in its own way"));
    }
    return std::nullopt;
  }
  auto device = DeviceOf(target);
  if (!device.ok()) return device.status();
  const auto spec = GemmSpecOf(flags.gemm);
  if (!spec.ok()) return spec.status();
  return Planner{MakeGemmPolicy(*spec), *std::move(device)};
}

// The order of the element in its plan.
absl::StatusOr<Order> PlannedOrder(const Planner& planner, const GemmElement& element) {
  const std::string missing = planner.policy->Missing(element.shape, planner.device);
  if (!missing.empty()) return FlagError("--policy", missing);
  const GemmPlan plan = planner.policy->Plan(element.shape, planner.device);
  const int64_t m_tile = element.row / plan.decision.tile.m;
  const int64_t n_tile = element.column / plan.decision.tile.n;
  for (const TileGroup& group : plan.tiles) {
    if (m_tile >= group.m_tiles.begin && m_tile < group.m_tiles.end &&
        n_tile >= group.n_tiles.begin && n_tile < group.n_tiles.end) {
      return group.order;
    }
  }
  return absl::InternalError("a plan leaves a tile without an order");
}

absl::Status RunRevealGemm(const RevealGemmFlags& flags) {
  const auto ms = ParseMList("--m", flags.m, kMostM);
  if (!ms.ok()) return ms.status();
  if (absl::Status status = CheckElement(flags, ms->front()); !status.ok()) return status;
  const auto implementation = ImplementationNamed(flags.implementation);
  if (!implementation.ok()) return implementation.status();
  const auto dtype = DTypeNamed(flags.gemm.target.dtype);
  if (!dtype.ok()) return dtype.status();
  const auto planner = PlannerOf(flags, *implementation);
  if (!planner.ok()) return planner.status();

  TreeReport report;
  report.op = "gemm";
  report.implementation = implementation->name;
  report.summed = "place in K";
  report.extent = flags.gemm.k;
  report.places = ProbePlaces(flags.gemm.k, flags.leaves);
  report.element =
      absl::StrCat("row ", flags.row, ", column ", flags.column, " of N ", flags.gemm.n, ", K ",
                   flags.gemm.k, ", ", implementation->executes_plans ? DTypeName(*dtype) : "fp32");
  if (planner->has_value()) {
    report.policy = (*planner)->policy->name();
    report.device = (*planner)->device.name;
  }
  for (const int64_t m : *ms) {
    GemmElement element{{m, flags.gemm.n, flags.gemm.k, *dtype}, flags.row, flags.column, {}};
    TreeCase one;
    one.m = m;
    if (planner->has_value()) {
      auto order = PlannedOrder(**planner, element);
      if (!order.ok()) return order.status();
      one.planned = TreeOfDot(*order, report.places);
      element.order = *std::move(order);
    }
    if (!implementation->executes_plans) {
      const absl::Status status =
          CheckLibrarySize(implementation->name, m, flags.gemm.n, flags.gemm.k);
      if (!status.ok()) return status;
    }
    const auto sum = implementation->sum_of(element);
    if (!sum.ok()) return sum.status();
    report.library = sum->library;
    one.revealed = RevealTerms(report.extent, report.places, sum->sum);
    report.cases.push_back(std::move(one));
  }
  return PrintTrees(report, flags.gemm.target.json, implementation->executes_plans);
}

}  // namespace

void AddRevealGemm(CLI::App* reveal, ExitCode* exit_code) {
  CLI::App* verb = reveal->add_subcommand("gemm", "One output element of Y[M,N] = X[M,K] W[K,N]");
  const auto flags = std::make_shared<RevealGemmFlags>();
  verb->add_option("--m", flags->m, "Rows; a list such as 1,2,64 compares the trees")->required();
  std::string names;
  for (const GemmImplementation& implementation : GemmImplementations()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", implementation.name);
  }
  verb->add_option("--implementation", flags->implementation, "What adds: " + names)
      ->capture_default_str();
  AddLeavesFlag(verb, &flags->leaves);
  verb->add_option("--row", flags->row, "The element's row")->capture_default_str();
  verb->add_option("--column", flags->column, "The element's column")->capture_default_str();
  AddGemmFlags(verb, &flags->gemm);
  AddTargetFlags(verb, DeviceFlag::kOptional, &flags->gemm.target);
  verb->callback([flags, verb, exit_code] {
    for (const char* flag : {"--policy", "--dtype", "--sm-count", "--tile-m", "--tile-n",
                             "--tile-k", "--max-split", "--k-min"}) {
      if (verb->count(flag) > 0) flags->plan_flags.emplace_back(flag);
    }
    const absl::Status status = RunRevealGemm(*flags);
    if (!status.ok()) *exit_code = ReportError(status, flags->gemm.target.json);
  });
}

}  // namespace batchvar
