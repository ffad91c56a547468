#include "sim/report/cell_result.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/io/gemm_table.h"
#include "sim/plan/gemm_policy.h"
#include "sim/plan/order_digest.h"
#include "sim/replay/class_table.h"
#include "sim/replay/plan_book.h"
#include "sim/replay/replay.h"
#include "sim/report/classes_json.h"
#include "sim/report/plan_json.h"
#include "sim/report/summary_json.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

Json PiecesJson(const std::vector<Range>& pieces) {
  Json json = Json::array();
  for (const Range& piece : pieces) json.push_back({piece.begin, piece.end});
  return json;
}

// The plan of an op that is not a GEMM: its order is all there is to say.
Json OrderJson(const OpShape& shape, const OpPlan& plan) {
  return {{"op", OpName(shape.op)},
          {"policy", plan.policy},
          {"m", plan.rows},
          {"k", shape.k},
          {"split_k", plan.order.pieces.size()},
          {"pieces", PiecesJson(plan.order.pieces)},
          {"combine", CombineName(plan.order.combine)},
          {"class", plan.klass.Hex()}};
}

// The experiment with its tables read and M taken as it is given.
absl::StatusOr<ExperimentSpec> Planned(const CellInput& input) {
  ExperimentSpec spec = *input.spec;
  spec.padding.mode = PaddingMode::kExact;
  if (absl::Status tables = LoadGemmTables(&spec.policies.gemm); !tables.ok()) return tables;
  return spec;
}

// Of M requests of the cell's lengths, which share one plan.
Json AttentionJson(const PlanBook& book, const SweepCell& cell) {
  AttentionRequest request;
  request.q_len = cell.q_len;
  request.kv_len = cell.kv_lens.front();
  const std::vector<AttentionRequest> step(static_cast<size_t>(cell.rows.front()), request);
  const AttentionRule rule = book.attention().Rule(step, book.heads(), book.device());
  const Order order = book.AttentionOrder(rule, request);
  return {{"op", OpName(Op::kAttention)},       {"policy", book.attention().name()},
          {"batch", cell.rows.front()},         {"q_len", request.q_len},
          {"kv_len", request.kv_len},           {"num_splits", order.pieces.size()},
          {"pieces", PiecesJson(order.pieces)}, {"combine", CombineName(order.combine)},
          {"class", ClassOfOrder(order).Hex()}};
}

// Every op at one M; attention where the cell says how long its requests are.
absl::StatusOr<Json> PlanResult(const CellInput& input) {
  const int64_t m = input.cell->rows.front();
  absl::StatusOr<ExperimentSpec> planned = Planned(input);
  if (!planned.ok()) return planned.status();
  const ExperimentSpec& spec = *planned;
  const std::unique_ptr<GemmPolicy> gemm = MakeGemmPolicy(spec.policies.gemm);
  PlanBook book(spec);
  const std::string missing = book.FirstMissing({m}, {m});
  if (!missing.empty()) return ConfigError({}, missing);
  Json result = {{"schema_version", 1}, {"kind", "plans"}, {"m", m}};
  for (size_t op = 0; op < book.ops().size(); ++op) {
    const OpShape& shape = book.ops()[op];
    if (shape.op == Op::kAttention) {
      if (!input.cell->kv_lens.empty()) {
        result[OpName(shape.op)] = AttentionJson(book, *input.cell);
      }
      continue;
    }
    const int64_t rows = book.RowsOfOp(op, m, m);
    result[OpName(shape.op)] =
        KindOf(shape.op) == OpKind::kGemm
            ? GemmPlanJson(gemm->PlanWithWords({rows, shape.n, shape.k, spec.dtype}, spec.device))
            : OrderJson(shape, book.Lookup(op, rows));
  }
  return result;
}

// The classes of every op over the given M; of attention at the cell's KV lengths.
absl::StatusOr<Json> ClassesResult(const CellInput& input) {
  absl::StatusOr<ExperimentSpec> spec = Planned(input);
  if (!spec.ok()) return spec.status();
  ClassQuery query;
  query.m = input.cell->rows;
  query.kv_lens = input.cell->kv_lens;
  query.q_len = input.cell->q_len;
  const std::string missing = MissingPlan(*spec, query);
  if (!missing.empty()) return ConfigError({}, missing);
  return ClassesJson(MakeClassTable(*spec, query));
}

absl::StatusOr<Json> SimulateResult(const CellInput& input) {
  ReplayOptions options;
  options.threads = input.threads;
  if (!input.request.empty()) options.requests = {input.request};
  const absl::StatusOr<ReplayResult> result = Replay(*input.spec, options);
  if (!result.ok()) return result.status();
  if (result->simulation.server_failure.has_value()) {
    return ConfigError({}, result->simulation.server_failure->Words());
  }
  return Json::parse(SummaryJson(*result));
}

void AddPaths(const Json& json, const std::string& path, GateValues* values) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      AddPaths(value, path.empty() ? key : path + "." + key, values);
    }
  } else if (json.is_array()) {
    values->emplace(path, static_cast<double>(json.size()));
  } else if (json.is_number()) {
    values->emplace(path, json.get<double>());
  } else if (json.is_boolean()) {
    values->emplace(path, json.get<bool>());
  } else if (json.is_string()) {
    values->emplace(path, json.get<std::string>());
  }
}

void AddPlanValues(const Json& result, GateValues* values) { AddPaths(result, "", values); }

void AddClassesValues(const Json& result, GateValues* values) {
  for (const Json& op : result.at("ops")) {
    // Attention stands there once for each KV length.
    const auto count = static_cast<double>(op.at("classes").size());
    GateValue& most = (*values)["classes." + op.at("op").get<std::string>()];
    most = std::max(std::get<double>(most), count);
  }
}

void AddSimulateValues(const Json& result, GateValues* values) {
  AddPaths(result, "", values);
  if (result.contains("request_lives")) {
    const Json& chunks = result.at("request_lives").at(0).at("chunks");
    values->emplace("request.chunks", CutsInWords(chunks.get<std::vector<int32_t>>()));
  }
  for (const auto& [op, classes] : result.at("classes").items()) {
    int64_t all = 0;
    int64_t most = 0;
    for (const Json& entry : classes) {
      all += entry.at("steps").get<int64_t>();
      most = std::max(most, entry.at("steps").get<int64_t>());
    }
    if (all == 0) continue;
    values->emplace("other_class_share." + op,
                    static_cast<double>(all - most) / static_cast<double>(all));
  }
}

// Arms by their names; lists by their lengths.
void AddExperimentValues(const Json& result, GateValues* values) {
  for (const auto& [key, value] : result.items()) {
    if (key != "arms") AddPaths(value, key, values);
  }
  for (const Json& arm : result.at("arms")) {
    AddPaths(arm, "arms." + arm.at("name").get<std::string>(), values);
  }
}

// Its cells are executed by whoever runs the sweep.
absl::StatusOr<Json> ExperimentResultOf(const CellInput&) { BV_CHECK(false); }

struct CommandEntry {
  SweepCommand command;
  absl::StatusOr<Json> (*result)(const CellInput&);
  void (*add_values)(const Json&, GateValues*);
};

const CommandEntry& EntryOf(SweepCommand command) {
  static const CommandEntry entries[] = {
      {SweepCommand::kPlan, PlanResult, AddPlanValues},
      {SweepCommand::kClasses, ClassesResult, AddClassesValues},
      {SweepCommand::kSimulate, SimulateResult, AddSimulateValues},
      {SweepCommand::kExperiment, ExperimentResultOf, AddExperimentValues},
  };
  return entries[static_cast<size_t>(command)];
}

}  // namespace

absl::StatusOr<Json> CellResult(SweepCommand command, const CellInput& input) {
  return EntryOf(command).result(input);
}

GateValues ValuesOf(SweepCommand command, const Json& result) {
  GateValues values;
  EntryOf(command).add_values(result, &values);
  return values;
}

ExperimentSpec SampleOf(const ExperimentSpec& spec) {
  ExperimentSpec sample = spec;
  sample.workload = WorkloadSpec();
  SyntheticWorkload& workload = sample.workload.synthetic;
  workload.arrivals.process = ArrivalProcess::kAllAtOnce;
  workload.num_requests = 1;
  for (LengthSpec* length : {&workload.prompt_len, &workload.output_len}) {
    length->distribution = LengthDistribution::kFixed;
    length->fixed = 2;  // two output tokens: one has no time per output token
  }
  return sample;
}

}  // namespace batchvar
