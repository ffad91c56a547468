#include "kernels/experiment/run_experiment.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/experiment/divergence_search.h"
#include "kernels/experiment/executed_weights.h"
#include "kernels/experiment/lineages.h"
#include "kernels/experiment/trial_history.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

// As a server would name what it runs.
std::string PoliciesOf(const PolicySpec& policies) {
  return absl::StrCat(PolicyName(policies.gemm.kind), "/", PolicyName(policies.attention.kind));
}

// Without borrowed plans the planned shapes have to be the executed model's own.
absl::Status CheckShapes(const TrialsSpec& trials, const ArmSpec& arm, const ModelSpec& executed) {
  if (!trials.plan_model.empty()) return absl::OkStatus();
  if (StepOps(arm.spec.model, arm.spec.tp) == StepOps(executed, arm.spec.tp)) {
    return absl::OkStatus();
  }
  return ConfigError(
      {.field = "model"},
      absl::StrCat("'", arm.spec.model.name, "' is planned, but the weights in '", trials.weights,
                   "' have other shapes; name the model they "
                   "belong to, or give plan_model to borrow plans"));
}

// Every event summed as the reference sums the same position, as far as `ops` go.
void Pin(const std::vector<Op>& ops, const TrialHistory& reference, TrialHistory* trial) {
  if (ops.empty()) return;
  std::map<int64_t, const RowPlan*> of_position;
  for (const RowEvent& event : reference.events) {
    of_position.try_emplace(event.position, event.plan.get());
  }
  std::map<std::pair<const RowPlan*, const RowPlan*>, std::shared_ptr<const RowPlan>> pinned;
  for (RowEvent& event : trial->events) {
    const auto found = of_position.find(event.position);
    if (found == of_position.end()) continue;
    auto& shared = pinned[{event.plan.get(), found->second}];
    if (shared == nullptr) {
      RowPlan plan = *event.plan;
      for (const Op op : ops) {
        if (plan.Has(op) && found->second->Has(op)) {
          plan.Set(op, found->second->ops[static_cast<size_t>(op)]);
        }
      }
      plan.Finish();
      shared = std::make_shared<const RowPlan>(std::move(plan));
    }
    event.plan = shared;
  }
}

int64_t CommonestText(const std::vector<TrialText>& texts, int64_t* distinct) {
  std::map<std::vector<int64_t>, int64_t> counts;
  for (const TrialText& text : texts) ++counts[text.tokens];
  *distinct = static_cast<int64_t>(counts.size());
  int64_t top = 0;
  for (const auto& [text, count] : counts) top = std::max(top, count);
  return top;
}

int32_t MedianOf(std::vector<int32_t> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

class Experiment {
 public:
  Experiment(const TrialsSpec& trials, const ExperimentOptions& options)
      : trials_(trials),
        options_(options),
        pool_(options.threads),
        weights_(options.weights_folder, trials.synthetic, &pool_) {}

  absl::StatusOr<ExperimentResult> Run();

 private:
  absl::StatusOr<std::vector<TrialHistory>> SimulateArm(const ArmSpec& arm,
                                                        const DecoderWeights& weights);
  absl::StatusOr<LineageRun> ExecuteArm(const ArmSpec& arm, const DecoderWeights& weights,
                                        const std::vector<TrialHistory>& histories);
  absl::StatusOr<ArmResult> RunArm(const ArmSpec& arm);
  absl::Status FindDivergences(const std::vector<TrialHistory>& histories, const LineageRun& run,
                               Decoder* decoder, ArmResult* result);

  const TrialsSpec& trials_;
  const ExperimentOptions& options_;
  WorkerPool pool_;
  ExecutedWeights weights_;
  // Every arm's first trial, by arm.
  struct Reference {
    TrialHistory history;
    TrialText text;
    int32_t tp = 1;
    DType dtype = DType::kBf16;
  };
  std::map<std::string, Reference> references_;
};

absl::StatusOr<std::vector<TrialHistory>> Experiment::SimulateArm(const ArmSpec& arm,
                                                                  const DecoderWeights& weights) {
  const ModelSpec& executed = weights.config.model;
  if (absl::Status status = CheckShapes(trials_, arm, executed); !status.ok()) return status;
  auto planner = ArmPlanner::Make(trials_, arm, executed);
  if (!planner.ok()) return planner.status();
  std::vector<TrialHistory> histories;
  for (int64_t trial = 0; trial < trials_.trials; ++trial) {
    auto history = (*planner)->Simulate(trial, std::ssize(options_.prompt));
    if (!history.ok()) return history.status();
    const auto reference = references_.find(arm.against);
    if (reference != references_.end()) {
      Pin(options_.pinned, reference->second.history, &*history);
    }
    histories.push_back(*std::move(history));
  }
  return histories;
}

absl::StatusOr<LineageRun> Experiment::ExecuteArm(const ArmSpec& arm, const DecoderWeights& weights,
                                                  const std::vector<TrialHistory>& histories) {
  LineageOptions options;
  options.max_tokens = trials_.max_tokens;
  options.logits = trials_.logits;
  if (arm.kv_placement != 0) {
    options.placement = {arm.spec.scheduler.block_size, arm.kv_placement};
  }
  options.progress = [&](int64_t done, int64_t of) { options_.progress(arm.name, done, of); };
  std::vector<const TrialHistory*> pointers;
  for (const TrialHistory& history : histories) pointers.push_back(&history);
  Decoder decoder(weights, options_.isa, &pool_);
  return RunLineages(&decoder, options_.prompt, pointers, options);
}

absl::Status Experiment::FindDivergences(const std::vector<TrialHistory>& histories,
                                         const LineageRun& run, Decoder* decoder,
                                         ArmResult* result) {
  const Reference& reference = references_.at(result->against);
  DivergenceSearch search(decoder, options_.prompt, reference.history, reference.text,
                          trials_.logits);
  for (size_t trial = 0; trial < histories.size(); ++trial) {
    if (run.texts[trial].tokens == reference.text.tokens) continue;
    auto divergence =
        search.Find(histories[trial], run.texts[trial],
                    reference.tp == decoder->weights().tp && reference.dtype == result->dtype);
    if (!divergence.ok()) return divergence.status();
    divergence->trial = static_cast<int64_t>(trial);
    result->divergences.push_back(*divergence);
  }
  return absl::OkStatus();
}

absl::StatusOr<ArmResult> Experiment::RunArm(const ArmSpec& arm) {
  const auto weights = weights_.Of(arm.spec.dtype, arm.spec.tp);
  if (!weights.ok()) return weights.status();
  const auto histories = SimulateArm(arm, **weights);
  if (!histories.ok()) return histories.status();
  const auto run = ExecuteArm(arm, **weights, *histories);
  if (!run.ok()) return run.status();
  ArmResult result;
  result.name = arm.name;
  result.against = arm.against;
  result.fillers = arm.fillers;
  result.trials = trials_.trials;
  result.device = arm.spec.device.name;
  result.tp = arm.spec.tp;
  result.dtype = arm.spec.dtype;
  result.policies = PoliciesOf(arm.spec.policies);
  result.sampling_seed = arm.seed;
  result.rows_needed = run->rows_needed;
  result.rows_computed = run->rows_computed;
  result.top = CommonestText(run->texts, &result.distinct);
  for (const TrialText& text : run->texts) result.texts.push_back(text.tokens);
  if (options_.repeat) {
    const auto again = SimulateArm(arm, **weights);
    if (!again.ok()) return again.status();
    const auto rerun = ExecuteArm(arm, **weights, *again);
    if (!rerun.ok()) return rerun.status();
    for (size_t i = 0; i < run->texts.size(); ++i) {
      if (rerun->texts[i].tokens != run->texts[i].tokens) result.repeat_identical = false;
    }
  }
  references_[arm.name] = {(*histories)[0], run->texts[0], arm.spec.tp, arm.spec.dtype};
  std::vector<int32_t> medians;
  result.min_batch = (*histories)[0].min_batch;
  for (const TrialHistory& history : *histories) {
    result.met.push_back({history.min_batch, history.median_batch, history.max_batch,
                          history.cached_tokens, history.preemptions});
    medians.push_back(history.median_batch);
    result.min_batch = std::min(result.min_batch, history.min_batch);
    result.max_batch = std::max(result.max_batch, history.max_batch);
  }
  result.median_batch = MedianOf(std::move(medians));
  // The company that was asked for never came together: a story about it would be about nothing.
  result.inconclusive = 2 * result.median_batch < arm.fillers + 1;
  Decoder decoder(**weights, options_.isa, &pool_);
  if (absl::Status status = FindDivergences(*histories, *run, &decoder, &result); !status.ok()) {
    return status;
  }
  result.differ = std::ssize(result.divergences);
  result.reference = references_.at(arm.against).text.top_twos;
  for (const TrialText& text : run->texts) result.decisions.push_back(text.top_twos);
  result.noise = NoiseBandOf(result.reference, result.decisions);
  return result;
}

std::string Joined(const std::vector<std::string>& names) { return absl::StrJoin(names, ", "); }

// In the words of the chapter: one arm supports a story, two arms support a claim.
std::string VerdictOf(const std::vector<ArmResult>& arms) {
  std::vector<std::string> moved, same;
  for (const ArmResult& arm : arms) {
    if (arm.name == arm.against && arm.distinct != 1) {
      return absl::StrCat("'", arm.name, "' itself gives ", arm.distinct,
                          " texts: its trials are not one experiment, or something leaks");
    }
    if (arm.name == arm.against || arm.inconclusive) continue;
    (arm.differ > 0 ? moved : same).push_back(absl::StrCat(arm.name, " against ", arm.against));
  }
  const std::string rest = same.empty() ? "" : absl::StrCat("; no trial differs: ", Joined(same));
  if (moved.empty()) return absl::StrCat("no arm gives another text", rest);
  if (moved.size() == 1) return absl::StrCat("one arm supports a story: ", moved[0], rest);
  return absl::StrCat(moved.size(), " arms support a claim: ", Joined(moved), rest);
}

absl::StatusOr<ExperimentResult> Experiment::Run() {
  ExperimentResult result;
  result.model = trials_.weights;
  result.plan_model = trials_.plan_model;
  result.synthetic = trials_.synthetic.has_value();
  result.dtype = DTypeName(trials_.arms[0].spec.dtype);
  result.logits = DTypeName(trials_.logits);
  result.isa = IsaName(options_.isa);
  result.seed = trials_.arms[0].spec.seed;
  result.prompt_tokens = std::ssize(options_.prompt);
  Sha256 prompt;
  for (const int64_t token : options_.prompt) prompt.UpdateI64(token);
  result.prompt_digest = prompt.FinishDigest();
  result.max_tokens = trials_.max_tokens;
  for (const ArmSpec& arm : trials_.arms) {
    auto one = RunArm(arm);
    if (!one.ok()) return one.status();
    result.arms.push_back(*std::move(one));
  }
  result.reference = references_.at(trials_.arms[0].name).text.top_twos;
  result.verdict = VerdictOf(result.arms);
  return result;
}

}  // namespace

absl::StatusOr<ExperimentResult> RunExperiment(const TrialsSpec& trials,
                                               const ExperimentOptions& options) {
  return Experiment(trials, options).Run();
}

}  // namespace batchvar
