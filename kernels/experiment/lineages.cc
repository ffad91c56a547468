#include "kernels/experiment/lineages.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "kernels/decoder/greedy.h"
#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr int64_t kRowsPerRun = 64;  // of one lineage in one call: a long prompt goes in parts

struct Lineage {
  KvCache cache;
  std::vector<int64_t> tokens;   // prompt and what was generated
  std::vector<TopTwo> top_twos;  // of the generated ones
  std::vector<size_t> trials;
  size_t next = 0;  // event of every trial of the lineage
};

// What makes two trials' next rows one row.
using RowIdentity = std::tuple<int64_t, bool, Digest>;

class Run {
 public:
  Run(Decoder* decoder, std::span<const int64_t> prompt,
      std::span<const TrialHistory* const> trials, const LineageOptions& options)
      : decoder_(decoder), trials_(trials), options_(options), prompt_(prompt.size()) {
    auto first = std::make_unique<Lineage>(
        Lineage{KvCache(decoder->weights().config.model, options.placement),
                {prompt.begin(), prompt.end()},
                {},
                {},
                0});
    for (size_t i = 0; i < trials.size(); ++i) first->trials.push_back(i);
    lineages_.push_back(std::move(first));
  }

  absl::StatusOr<LineageRun> Go();

 private:
  const std::vector<RowEvent>& EventsOf(const Lineage& lineage) const {
    return trials_[lineage.trials[0]]->events;
  }
  RowIdentity IdentityAt(size_t trial, size_t event) const;
  bool IsDone(const Lineage& lineage) const;
  void SplitAll();
  void Split(Lineage* lineage);
  // How many of the next events all trials share and whose tokens are known.
  int64_t SharedRows(const Lineage& lineage) const;
  void AddRows(Lineage* lineage, std::vector<DecoderRow>* rows);
  void TakeOutput(Lineage* lineage, const RowEvent& event, RowOutput* output);

  Decoder* decoder_;
  std::span<const TrialHistory* const> trials_;
  const LineageOptions& options_;
  size_t prompt_;
  std::vector<std::unique_ptr<Lineage>> lineages_;
  LineageRun result_;
};

RowIdentity Run::IdentityAt(size_t trial, size_t event) const {
  const std::vector<RowEvent>& events = trials_[trial]->events;
  if (event >= events.size()) return {-1, false, Digest{}};
  return {events[event].position, events[event].samples, events[event].plan->row_classes};
}

bool Run::IsDone(const Lineage& lineage) const {
  return std::ssize(lineage.top_twos) >= options_.max_tokens ||
         lineage.next >= EventsOf(lineage).size();
}

void Run::Split(Lineage* lineage) {
  std::map<RowIdentity, std::vector<size_t>> parts;
  for (const size_t trial : lineage->trials) {
    parts[IdentityAt(trial, lineage->next)].push_back(trial);
  }
  if (parts.size() == 1) return;
  bool first = true;
  for (auto& [identity, trials] : parts) {
    if (first) {
      lineage->trials = std::move(trials);
      first = false;
      continue;
    }
    auto other = std::make_unique<Lineage>(Lineage{KvCache(decoder_->weights().config.model),
                                                   lineage->tokens, lineage->top_twos,
                                                   std::move(trials), lineage->next});
    other->cache.CopyPrefix(lineage->cache, lineage->cache.length());
    lineages_.push_back(std::move(other));
  }
}

void Run::SplitAll() {
  const size_t count = lineages_.size();  // those that are made are split already
  for (size_t i = 0; i < count; ++i) {
    if (!IsDone(*lineages_[i])) Split(lineages_[i].get());
  }
}

int64_t Run::SharedRows(const Lineage& lineage) const {
  const std::vector<RowEvent>& events = EventsOf(lineage);
  int64_t shared = 0;
  for (size_t event = lineage.next; event < events.size() && shared < kRowsPerRun; ++event) {
    const int64_t position = events[event].position;
    // A position that is computed again begins a run of its own; an unknown token ends one.
    if (shared > 0 && position != events[event - 1].position + 1) break;
    if (position >= std::ssize(lineage.tokens)) break;
    const RowIdentity identity = IdentityAt(lineage.trials[0], event);
    const bool same = std::all_of(lineage.trials.begin(), lineage.trials.end(), [&](size_t trial) {
      return IdentityAt(trial, event) == identity;
    });
    if (!same) break;
    ++shared;
  }
  return shared;
}

void Run::AddRows(Lineage* lineage, std::vector<DecoderRow>* rows) {
  const std::vector<RowEvent>& events = EventsOf(*lineage);
  const int64_t count = SharedRows(*lineage);
  BV_CHECK(count > 0);
  const int64_t begin = events[lineage->next].position;
  BV_CHECK(begin <= lineage->cache.length());
  lineage->cache.Truncate(begin);  // after a preemption positions are computed again
  for (int64_t i = 0; i < count; ++i) {
    const RowEvent& event = events[lineage->next + static_cast<size_t>(i)];
    DecoderRow row;
    row.token = lineage->tokens[static_cast<size_t>(event.position)];
    row.position = event.position;
    row.cache = &lineage->cache;
    row.plan = event.plan.get();
    row.wants_logits = event.samples;
    rows->push_back(row);
  }
}

void Run::TakeOutput(Lineage* lineage, const RowEvent& event, RowOutput* output) {
  if (!event.samples || event.position + 1 < std::ssize(lineage->tokens)) return;
  RoundLogits(options_.logits, output->logits);
  const TopTwo best = FindTopTwo(output->logits);
  lineage->tokens.push_back(best.top);
  lineage->top_twos.push_back(best);
}

absl::StatusOr<LineageRun> Run::Go() {
  int64_t needed = 0, done = 0;
  for (const TrialHistory* trial : trials_) needed += std::ssize(trial->events);
  while (true) {
    SplitAll();
    std::vector<DecoderRow> rows;
    std::vector<std::pair<Lineage*, int64_t>> runs;
    for (const auto& lineage : lineages_) {
      if (IsDone(*lineage)) continue;
      const size_t before = rows.size();
      AddRows(lineage.get(), &rows);
      runs.push_back({lineage.get(), static_cast<int64_t>(rows.size() - before)});
    }
    if (rows.empty()) break;
    std::vector<RowOutput> outputs;
    if (absl::Status status = decoder_->Forward(rows, &outputs); !status.ok()) return status;
    size_t row = 0;
    for (auto& [lineage, count] : runs) {
      const std::vector<RowEvent>& events = EventsOf(*lineage);
      for (int64_t i = 0; i < count; ++i) {
        TakeOutput(lineage, events[lineage->next++], &outputs[row++]);
      }
      done += count * std::ssize(lineage->trials);
    }
    result_.rows_computed += std::ssize(rows);
    options_.progress(done, needed);
  }
  result_.rows_needed = done;
  result_.lineages = std::ssize(lineages_);
  result_.texts.resize(trials_.size());
  for (const auto& lineage : lineages_) {
    for (const size_t trial : lineage->trials) {
      result_.texts[trial] = {
          {lineage->tokens.begin() + static_cast<int64_t>(prompt_), lineage->tokens.end()},
          lineage->top_twos};
    }
  }
  return result_;
}

}  // namespace

absl::StatusOr<LineageRun> RunLineages(Decoder* decoder, std::span<const int64_t> prompt,
                                       std::span<const TrialHistory* const> trials,
                                       const LineageOptions& options) {
  BV_CHECK(!prompt.empty() && !trials.empty());
  return Run(decoder, prompt, trials, options).Go();
}

}  // namespace batchvar
