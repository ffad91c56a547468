#include "kernels/experiment/margin_noise.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/decoder/greedy.h"
#include "kernels/experiment/executed_weights.h"
#include "kernels/experiment/row_events.h"
#include "kernels/experiment/served_request.h"
#include "kernels/experiment/trace_prompt.h"
#include "sim/io/gemm_table.h"
#include "sim/replay/lone_request.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr double kNearZero = 0.25;    // margins below it give the density: it is flat there
constexpr int64_t kRowsPerCall = 64;  // of one text

class Measurement {
 public:
  Measurement(const ExperimentSpec& spec, const MarginNoiseOptions& options, PlanBook* book,
              const DecoderWeights& weights, WorkerPool* pool)
      : spec_(spec),
        options_(options),
        book_(book),
        model_(weights.config.model),
        decoder_(weights, options.isa, pool),
        planner_(book, weights.config.model, spec.tp) {}

  absl::StatusOr<MarginNoise> Run();

 private:
  absl::Status Check() const;
  void AddTexts(ServedRun* run);
  // The row of a decode step of options_.m tokens, as many requests as the server takes at once.
  HistoryEntry CompanyEntry(int64_t position) const;
  absl::Status CompareText(const ServedRequest& text, MarginNoise* noise);
  void Compare(const TopTwo& alone, RowOutput* output, MarginNoise* noise);

  const ExperimentSpec& spec_;
  const MarginNoiseOptions& options_;
  PlanBook* book_;
  const ModelSpec& model_;
  Decoder decoder_;
  EventPlanner planner_;
  std::vector<ServedRequest> texts_;
  int64_t near_zero_ = 0;
  double squares_ = 0.0;
  double decreases_ = 0.0;
};

absl::Status Measurement::Check() const {
  if (const std::string why = planner_.WhyNot(); !why.empty()) {
    return ConfigError({.field = "weights"}, why);
  }
  if (options_.prompt_tokens + options_.output_tokens > model_.max_positions) {
    return ConfigError({.field = "weights"},
                       absl::StrCat("'", options_.weights, "' has ", model_.max_positions,
                                    " positions, the measurement takes ",
                                    options_.prompt_tokens + options_.output_tokens));
  }
  const std::string missing = book_->FirstMissing({options_.m}, {options_.m});
  if (!missing.empty()) return ConfigError({.field = "policies.gemm"}, missing);
  return absl::OkStatus();
}

void Measurement::AddTexts(ServedRun* run) {
  texts_.resize(options_.prompts);
  for (int32_t i = 0; i < options_.prompts; ++i) {
    Request request;
    request.id = absl::StrCat("hazard.", i);
    request.prompt_tokens = options_.prompt_tokens;
    request.output_tokens = options_.output_tokens;
    const RequestHistory history = ServeAlone(spec_, *book_, request);
    ServedRequest& text = texts_[i];
    text.tokens = TracePrompt(request, model_.vocab_size, spec_.seed);
    text.prompt_tokens = request.prompt_tokens;
    text.runs_through = true;
    text.passes.emplace_back(model_);
    planner_.Add(history, 0, request.prompt_tokens + request.output_tokens - 1,
                 &text.passes[0].events);
    run->Add(-1, &text);
  }
}

HistoryEntry Measurement::CompanyEntry(int64_t position) const {
  StepBatch batch;
  const int64_t requests = std::min<int64_t>(options_.m, spec_.scheduler.max_num_seqs);
  for (int64_t i = 0; i < requests; ++i) {
    batch.rows.push_back(
        {static_cast<int32_t>(i), 1, static_cast<int32_t>(position), Phase::kDecode});
  }
  batch.num_tokens = requests;
  HistoryEntry entry;
  entry.num_steps = 1;
  entry.num_requests = static_cast<int32_t>(requests);
  entry.m = options_.m;
  entry.padded_m = options_.m;
  entry.num_computed = static_cast<int32_t>(position);
  entry.num_scheduled = 1;
  entry.rule = book_->RuleOf(batch, 0);
  return entry;
}

void Measurement::Compare(const TopTwo& alone, RowOutput* output, MarginNoise* noise) {
  RoundLogits(options_.logits, output->logits);
  ++noise->tokens;
  if (alone.Margin() < kNearZero) ++near_zero_;
  if (FindTopTwo(output->logits).top != alone.top) ++noise->flips;
  if (alone.runner_up < 0) return;
  const double margin = double{output->logits[alone.top]} - output->logits[alone.runner_up];
  const double change = margin - (double{alone.top_logit} - alone.runner_up_logit);
  squares_ += change * change;
  decreases_ += std::max(0.0, -change);
}

absl::Status Measurement::CompareText(const ServedRequest& text, MarginNoise* noise) {
  std::vector<RowEvent> events;
  const int64_t count = std::ssize(text.tokens) - 1;  // nothing reads the last token
  for (int64_t p = 0; p < count; ++p) planner_.Add(CompanyEntry(p), 0, count, &events);
  KvCache cache(model_);
  for (int64_t begin = 0; begin < count; begin += kRowsPerCall) {
    const int64_t end = std::min(begin + kRowsPerCall, count);
    std::vector<DecoderRow> rows;
    for (int64_t p = begin; p < end; ++p) {
      DecoderRow row;
      row.token = text.tokens[p];
      row.position = p;
      row.cache = &cache;
      row.plan = events[p].plan.get();
      row.wants_logits = p + 1 >= text.prompt_tokens;
      rows.push_back(row);
    }
    std::vector<RowOutput> outputs;
    if (absl::Status status = decoder_.Forward(rows, &outputs); !status.ok()) return status;
    for (int64_t p = begin; p < end; ++p) {
      if (!rows[p - begin].wants_logits) continue;
      Compare(text.top_twos[p + 1 - text.prompt_tokens], &outputs[p - begin], noise);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<MarginNoise> Measurement::Run() {
  if (absl::Status status = Check(); !status.ok()) return status;
  ServedRun run(&decoder_, options_.logits);
  AddTexts(&run);
  if (absl::Status status = run.Go([](int64_t) {}); !status.ok()) return status;
  MarginNoise noise;
  noise.model = options_.weights;
  noise.synthetic = options_.synthetic.has_value();
  const bool own = StepOps(spec_.model, spec_.tp) == StepOps(model_, spec_.tp);
  noise.plan_model = own ? "" : spec_.model.name;
  noise.m = options_.m;
  for (const ServedRequest& text : texts_) {
    if (absl::Status status = CompareText(text, &noise); !status.ok()) return status;
  }
  const auto tokens = static_cast<double>(noise.tokens);
  noise.density = static_cast<double>(near_zero_) / (kNearZero * tokens);
  noise.rms = std::sqrt(squares_ / tokens);
  noise.decrease = decreases_ / tokens;
  return noise;
}

}  // namespace

absl::StatusOr<MarginNoise> MeasureMarginNoise(const ExperimentSpec& spec,
                                               const MarginNoiseOptions& options) {
  ExperimentSpec planned = spec;
  if (absl::Status tables = LoadGemmTables(&planned.policies.gemm); !tables.ok()) return tables;
  PlanBook book(planned);
  WorkerPool pool(options.threads);
  ExecutedWeights weights(options.weights_folder, options.synthetic, &pool);
  const auto loaded = weights.Of(spec.dtype, spec.tp);
  if (!loaded.ok()) return loaded.status();
  return Measurement(planned, options, &book, **loaded, &pool).Run();
}

}  // namespace batchvar
