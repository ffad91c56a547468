#include "sim/report/summary_json.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "sim/report/config_json.h"
#include "sim/report/csv_field.h"
#include "sim/report/executed_report.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

std::string Dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json QuantilesJson(const Quantiles& q) {
  if (q.count == 0) return {{"count", 0}};
  return {{"mean", q.mean_ms},
          {"p50", q.p50_ms},
          {"p90", q.p90_ms},
          {"p99", q.p99_ms},
          {"count", q.count}};
}

Json RequestsJson(const ReplayResult& result) {
  const ServingMetrics& m = result.metrics;
  Json dropped = Json::object();
  for (const auto& [reason, count] : result.trace.dropped) dropped[reason] = count;
  return {{"read", result.trace.rows_read},
          {"emitted", result.trace.emitted},
          {"dropped", dropped},
          {"descents", result.trace.descents},
          {"finished", m.finished},
          {"model_limit", m.model_limit},
          {"rejected", m.rejected},
          {"preempted", m.preempted},
          {"interrupted", m.unfinished}};
}

Json StepsJson(const ReplayResult& result) {
  Json histogram = Json::array();
  Json padded = Json::array();
  int64_t steps = 0;
  for (const auto& [m, count] : result.census->by_m()) {
    histogram.push_back({m, count.steps});
    steps += count.steps;
  }
  for (const auto& [m, count] : result.census->by_padded_m()) padded.push_back({m, count.steps});
  Json m = Json::object();
  if (steps > 0) {
    m = {{"min", result.census->by_m().begin()->first},
         {"p50", result.census->MedianM()},
         {"max", result.census->by_m().rbegin()->first}};
  }
  return {{"count", steps},
          {"tokens", result.simulation.num_tokens_scheduled},
          {"preemptions", result.simulation.num_preemptions},
          {"m", m},
          {"m_histogram", histogram},
          {"padded_m_histogram", padded}};
}

Json ClassesJson(const ReplayResult& result) {
  Json ops = Json::object();
  for (const OpClasses& op : result.classes) {
    Json classes = Json::array();
    for (const VisitedClass& c : op.classes) {
      Json entry = {{"class", c.klass.Hex()}, {"steps", c.steps}, {"tokens", c.tokens}};
      if (op.op == Op::kAttention) {
        entry["split_factor"] = c.split;
      } else {
        entry["pieces"] = c.split;
        entry["m"] = c.rows;
      }
      classes.push_back(std::move(entry));
    }
    ops[OpName(op.op)] = std::move(classes);
  }
  return ops;
}

Json CurveJson(const ReplayResult& result) {
  Json curve = Json::array();
  for (const auto& [batch, point] : result.census->decode_curve()) {
    curve.push_back({{"batch", batch},
                     {"steps", point.steps},
                     {"duration_ns", point.duration_ns},
                     {"kv_tokens", point.kv_tokens},
                     {"kv_traffic_ns", point.kv_traffic_ps / kPsPerNs}});
  }
  const StepTimeModel& model = result.timer->model();
  return {{"decode_steps", curve},
          {"knee_m", model.KneeM()},
          {"kv_tokens_matching_weights", model.KvTokensMatchingWeights()},
          {"streamed_weight_bytes", model.streamed_bytes()},
          {"kv_bytes_per_token", model.kv_bytes_per_token()}};
}

Json LifeJson(const RequestHistory& history, const ReplayResult& result) {
  Json ops = Json::object();
  for (size_t op = 0; op < result.book->ops().size(); ++op) {
    Json changes = Json::array();
    for (const ClassChange& change : ClassChanges(history, op, result.book.get())) {
      changes.push_back({{"step", change.step},
                         {"token", change.position},
                         {"m", change.rows},
                         {"class", change.klass.Hex()},
                         {"pieces", change.split}});
    }
    ops[OpName(result.book->ops()[op].op)] = std::move(changes);
  }
  return {{"request_id", history.id()},
          {"prompt_tokens", history.prompt_tokens()},
          {"chunks", history.ChunkCuts()},
          {"batch", BatchSizes(history)},
          {"preempted_at_steps", history.preempted_at()},
          {"class_changes", ops}};
}

Json FailureJson(const ServerFailure& failure) {
  return {{"step", failure.step}, {"at_ns", failure.at_ns}, {"reason", failure.reason}};
}

std::string TimeField(TimeNs ns) { return ns == kNever ? "" : std::to_string(ns); }

}  // namespace

std::string SummaryJson(const ReplayResult& result, const ExecutedTrace* executed) {
  const ServingMetrics& m = result.metrics;
  Json summary = {
      {"schema_version", kSchemaVersion},
      {"kind", "summary"},
      {"interrupted", result.simulation.interrupted},
      {"requests", RequestsJson(result)},
      {"latency_ms",
       {{"ttft", QuantilesJson(m.ttft)},
        {"tpot", QuantilesJson(m.tpot)},
        {"itl", QuantilesJson(m.itl)},
        {"e2el", QuantilesJson(m.e2el)},
        {"queueing", QuantilesJson(m.queueing)}}},
      {"throughput",
       {{"requests_per_s", m.requests_per_s},
        {"output_tokens_per_s", m.output_tokens_per_s},
        {"total_tokens_per_s", m.total_tokens_per_s},
        {"goodput_requests", m.good},
        {"goodput_per_s", m.goodput_per_s}}},
      {"tokens",
       {{"prompt", m.prompt_tokens}, {"output", m.output_tokens}, {"cached", m.cached_tokens}}},
      {"steps", StepsJson(result)},
      {"classes", ClassesJson(result)},
      {"step_time", CurveJson(result)},
      {"duration_ns", m.duration_ns}};
  if (result.simulation.server_failure.has_value()) {
    summary["server_failure"] = FailureJson(*result.simulation.server_failure);
  }
  if (!result.histories.empty()) {
    Json lives = Json::array();
    for (const auto& history : result.histories) lives.push_back(LifeJson(*history, result));
    summary["request_lives"] = std::move(lives);
  }
  if (executed != nullptr) {
    summary["execution"] = ExecutionJson(*executed);
    summary["executed"] = ExecutedJson(*executed);
  }
  return Dump(summary);
}

std::string RequestsCsv(const SimulationResult& simulation) {
  std::string text =
      "request_id,arrival_ns,first_scheduled_ns,first_token_ns,finish_ns,prompt_tokens,"
      "output_tokens,preemptions,cached_tokens,replica,status\n";
  for (const RequestResult& r : simulation.requests) {
    absl::StrAppend(&text, CsvField(r.id), ",", r.arrival_ns, ",", TimeField(r.first_scheduled_ns),
                    ",", TimeField(r.first_token_ns), ",");
    absl::StrAppend(&text, TimeField(r.finish_ns), ",", r.prompt_tokens, ",", r.output_tokens, ",",
                    r.preemptions, ",");
    absl::StrAppend(&text, r.cached_tokens, ",0,", StatusName(r.status), "\n");
  }
  return text;
}

std::string RunJson(const ExperimentSpec& spec, const RunInfo& info,
                    const SimulationResult& simulation) {
  Json inputs = Json::array();
  if (!info.trace_name.empty()) {
    const std::string name = info.trace_name.substr(info.trace_name.rfind('/') + 1);
    inputs.push_back({{"kind", "trace"}, {"name", name}, {"sha256", info.trace_sha256}});
  }
  Json libraries = Json::object();
  for (const auto& [name, version] : info.libraries) libraries[name] = version;
  Json run = {{"schema_version", kSchemaVersion},
              {"kind", "run"},
              {"batchvar", info.version},
              {"interrupted", simulation.interrupted},
              {"seed", spec.seed},
              {"config", ConfigJson(spec)},
              {"inputs", inputs},
              {"environment", {{"command", info.command}, {"libraries", libraries}}}};
  if (simulation.server_failure.has_value()) {
    run["server_failure"] = FailureJson(*simulation.server_failure);
  }
  return Dump(run);
}

}  // namespace batchvar
