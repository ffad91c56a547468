#include "kernels/experiment/trace_execution.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/experiment/divergence_search.h"
#include "kernels/experiment/executed_weights.h"
#include "kernels/experiment/served_request.h"
#include "kernels/experiment/trace_prompt.h"
#include "sim/replay/lone_request.h"
#include "sim/replay/replay.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

Op FirstOtherOp(const RowPlan& a, const RowPlan& b) {
  for (size_t op = 0; op < kNumOps; ++op) {
    const bool in_a = a.ops[op] != nullptr;
    if (in_a != (b.ops[op] != nullptr)) return static_cast<Op>(op);
    if (in_a && a.ops[op]->klass != b.ops[op]->klass) return static_cast<Op>(op);
  }
  return Op::kArgmax;
}

OrderComparison CompareOrders(const std::vector<RowEvent>& alone,
                              const std::vector<RowEvent>& served) {
  std::map<int64_t, const RowEvent*> at;
  for (const RowEvent& event : alone) at[event.position] = &event;
  OrderComparison orders;
  for (const RowEvent& event : served) {
    ++orders.rows;
    const RowEvent& base = *at.at(event.position);
    if (base.plan->row_classes == event.plan->row_classes) continue;
    const Op op = FirstOtherOp(*base.plan, *event.plan);
    // A row that is computed again after a preemption need not pass through the head once more.
    if (op == Op::kLmHead && base.samples != event.samples) continue;
    ++orders.differ;
    if (orders.first_row >= 0) continue;
    orders.first_row = event.position;
    orders.first_op = op;
    orders.m_a = base.padded_m;
    orders.m_b = event.padded_m;
  }
  return orders;
}

class TraceExecution {
 public:
  TraceExecution(const ReplaySpec& spec, const TraceExecutionOptions& options)
      : spec_(spec),
        execute_(*spec.execute),
        options_(options),
        pool_(options.threads),
        weights_(options.weights_folder, execute_.synthetic, &pool_) {}

  absl::StatusOr<ExecutedTrace> Run(const PrefixSources& sources);

 private:
  const ExperimentSpec& experiment() const { return spec_.experiment; }
  bool IsChosen(const std::string& id) const {
    return std::find(execute_.requests.begin(), execute_.requests.end(), id) !=
           execute_.requests.end();
  }
  absl::Status ReplayAgain(const PrefixSources& sources);
  absl::Status CheckLengths() const;
  absl::Status CheckPlans(const RequestHistory& history) const;
  // The request as `history` says that it was served, without its rows from `end` on.
  ServedRequest Serve(const RequestHistory& history, int64_t end, EventPlanner* planner) const;
  absl::Status ServeAll();
  absl::StatusOr<ExecutedRequest> Compare(const RequestHistory& history, Decoder* decoder) const;

  const ReplaySpec& spec_;
  const ExecutionSpec& execute_;
  const TraceExecutionOptions& options_;
  WorkerPool pool_;
  ExecutedWeights weights_;
  const DecoderWeights* loaded_ = nullptr;
  ReplayResult replay_;
  std::map<int32_t, ServedRequest> served_;  // by run index: the chosen and their producers
  std::map<int32_t, ServedRequest> alone_;   // of the chosen
};

absl::Status TraceExecution::ReplayAgain(const PrefixSources& sources) {
  ReplayOptions options;
  options.threads = options_.threads;
  options.requests = sources.WithProducers(execute_.requests);
  for (const std::string& id : execute_.requests) {  // unknown ones: the replay says so
    const auto known = std::find(options.requests.begin(), options.requests.end(), id);
    if (known == options.requests.end()) options.requests.push_back(id);
  }
  absl::StatusOr<ReplayResult> replayed = Replay(experiment(), options);
  if (!replayed.ok()) return replayed.status();
  replay_ = *std::move(replayed);
  return absl::OkStatus();
}

absl::Status TraceExecution::CheckLengths() const {
  const ModelSpec& executed = loaded_->config.model;
  for (const auto& history : replay_.histories) {
    if (!IsChosen(history->id())) continue;
    const int64_t prompt = history->prompt_tokens();
    const int64_t output = replay_.simulation.requests[history->index()].output_tokens;
    if (history->entries().empty() || output == 0) {
      return ConfigError({.field = "execute.requests"},
                         absl::StrCat("request '", history->id(), "' was never answered: its ",
                                      prompt, " tokens reach scheduler.max_model_len"));
    }
    if (prompt + output <= executed.max_positions) continue;
    return ConfigError(
        {.field = "execute.requests"},
        absl::StrCat("request '", history->id(), "' has ", prompt, " + ", output, " tokens, and '",
                     execute_.weights, "' has ", executed.max_positions, " positions"));
  }
  return absl::OkStatus();
}

absl::Status TraceExecution::CheckPlans(const RequestHistory& history) const {
  for (const HistoryEntry& entry : history.entries()) {
    const std::string missing = replay_.book->FirstMissing({entry.padded_m}, {entry.num_requests});
    if (!missing.empty()) return ConfigError({.field = "policies.gemm"}, missing);
  }
  return absl::OkStatus();
}

ServedRequest TraceExecution::Serve(const RequestHistory& history, int64_t end,
                                    EventPlanner* planner) const {
  const ModelSpec& executed = loaded_->config.model;
  ServedRequest request;
  request.tokens = TracePrompt(history.request(), executed.vocab_size, experiment().seed);
  request.prompt_tokens = history.prompt_tokens();
  const size_t passes = history.preempted_at().size() + 1;
  for (size_t pass = 0; pass < passes; ++pass) request.passes.emplace_back(executed);
  for (const PrefixHit& hit : history.hits()) request.passes[hit.pass].hits.push_back(hit);
  for (const HistoryEntry& entry : history.entries()) {
    planner->Add(entry, 0, end, &request.passes[history.PassOf(entry)].events);
  }
  return request;
}

absl::Status TraceExecution::ServeAll() {
  EventPlanner planner(replay_.book.get(), loaded_->config.model, experiment().tp);
  if (const std::string why = planner.WhyNot(); !why.empty()) {
    return ConfigError({.field = "execute.weights"}, why);
  }
  int64_t longest_prompt = 0;  // nobody takes over more
  for (const auto& history : replay_.histories) {
    if (!IsChosen(history->id())) continue;
    longest_prompt = std::max<int64_t>(longest_prompt, history->prompt_tokens());
  }
  for (const auto& history : replay_.histories) {
    const bool chosen = IsChosen(history->id());
    const int32_t index = history->index();
    const int64_t output = replay_.simulation.requests[index].output_tokens;
    // A step that runs past the last token (asynchronous scheduling) answers nobody.
    const int64_t end = history->prompt_tokens() + output - 1;
    served_[index] = Serve(*history, chosen ? end : longest_prompt, &planner);
    served_[index].runs_through = chosen;
    if (!chosen) continue;
    Request lone = history->request();
    lone.output_tokens = static_cast<int32_t>(output);
    const RequestHistory alone = ServeAlone(experiment(), *replay_.book, lone);
    if (absl::Status status = CheckPlans(alone); !status.ok()) return status;
    alone_[index] = Serve(alone, end, &planner);
    alone_[index].tokens = served_[index].tokens;  // the shared text, too
    alone_[index].runs_through = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<ExecutedRequest> TraceExecution::Compare(const RequestHistory& history,
                                                        Decoder* decoder) const {
  const int32_t index = history.index();
  const ServedRequest& served = served_.at(index);
  const ServedRequest& alone = alone_.at(index);
  std::map<int32_t, const ServedRequest*> by_index;
  for (const auto& [other, request] : served_) by_index[other] = &request;
  const auto begin = served.tokens.begin();
  const std::vector<int64_t> prompt(begin, begin + served.prompt_tokens);

  ExecutedRequest result;
  result.id = history.id();
  Sha256 sha;
  for (const int64_t token : prompt) sha.UpdateI64(token);
  result.prompt_digest = sha.FinishDigest();
  result.prompt_tokens = served.prompt_tokens;
  result.tokens.assign(begin + served.prompt_tokens, served.tokens.end());
  result.tokens_alone.assign(alone.tokens.begin() + alone.prompt_tokens, alone.tokens.end());
  result.output_tokens = std::ssize(result.tokens);
  result.cached_tokens = history.entries().front().num_computed;
  result.preemptions = std::ssize(history.preempted_at());
  std::set<int32_t> producers;
  for (const PrefixHit& hit : history.hits()) producers.insert(hit.producer.request);
  producers.erase(index);
  result.producers = std::ssize(producers);
  TrialHistory base, met;
  base.events = AllRows(alone, {}, index);
  met.events = AllRows(served, by_index, index);
  result.orders = CompareOrders(base.events, met.events);
  result.differs = result.tokens != result.tokens_alone;
  if (!result.differs) return result;
  const TrialText base_text = {result.tokens_alone, alone.top_twos};
  DivergenceSearch search(decoder, prompt, base, base_text, execute_.logits);
  const auto found = search.Find(met, {result.tokens, served.top_twos}, /*may_execute=*/true);
  if (!found.ok()) return found.status();
  result.divergence = *found;
  return result;
}

absl::StatusOr<ExecutedTrace> TraceExecution::Run(const PrefixSources& sources) {
  if (absl::Status status = ReplayAgain(sources); !status.ok()) return status;
  const auto weights = weights_.Of(experiment().dtype, experiment().tp);
  if (!weights.ok()) return weights.status();
  loaded_ = *weights;
  if (absl::Status status = CheckLengths(); !status.ok()) return status;
  if (absl::Status status = ServeAll(); !status.ok()) return status;

  Decoder decoder(*loaded_, options_.isa, &pool_);
  ServedRun run(&decoder, execute_.logits);
  for (auto& [index, request] : served_) run.Add(index, &request);
  for (auto& [index, request] : alone_) run.Add(-1, &request);
  if (absl::Status status = run.Go(options_.progress); !status.ok()) return status;

  ExecutedTrace trace;
  trace.model = execute_.weights;
  const int32_t tp = experiment().tp;
  const bool own_plans = StepOps(experiment().model, tp) == StepOps(loaded_->config.model, tp);
  trace.plan_model = own_plans ? "" : experiment().model.name;
  trace.synthetic = execute_.synthetic.has_value();
  trace.dtype = DTypeName(experiment().dtype);
  trace.logits = DTypeName(execute_.logits);
  trace.seed = experiment().seed;
  trace.rows_computed = run.rows_computed();
  for (const std::string& id : execute_.requests) {
    const auto history = std::find_if(replay_.histories.begin(), replay_.histories.end(),
                                      [&id](const auto& one) { return one->id() == id; });
    auto compared = Compare(**history, &decoder);
    if (!compared.ok()) return compared.status();
    trace.requests.push_back(*std::move(compared));
  }
  return trace;
}

}  // namespace

absl::StatusOr<ExecutedTrace> ExecuteTrace(const ReplaySpec& spec, const PrefixSources& sources,
                                           const TraceExecutionOptions& options) {
  return TraceExecution(spec, options).Run(sources);
}

}  // namespace batchvar
