// What the cases share that are decided by running a model: its weights, and the execution of one
// request's rows as a replay planned them, with every logit that it sampled from.
#ifndef BATCHVAR_TESTS_CASES_CASE_DECODER_H_
#define BATCHVAR_TESTS_CASES_CASE_DECODER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/decoder/decoder.h"
#include "kernels/decoder/greedy.h"
#include "kernels/experiment/row_events.h"
#include "sim/base/rng.h"
#include "sim/divergence/near_tie.h"
#include "sim/divergence/pass_comparison.h"
#include "sim/replay/replay.h"
#include "tests/test_data.h"

namespace batchvar {

inline std::string TinyModel() { return ProjectPath("configs/weights/batchvar_tiny"); }

struct CaseModel {
  DecoderWeights weights;
  WorkerPool pool;
  Decoder decoder;

  explicit CaseModel(const std::string& folder, DType dtype = DType::kBf16, int32_t tp = 1)
      : weights(LoadDecoderWeights(folder, dtype, tp).value()),
        pool(2),
        decoder(weights, BestIsa(), &pool) {}
  const ModelSpec& spec() const { return weights.config.model; }
  // Tokens that nobody would write, number `which` of such texts.
  std::vector<int64_t> Prompt(int64_t count, uint64_t which = 0) const {
    RandomStream stream = RandomStream::ForItem(5, "case.prompt", which);
    std::vector<int64_t> tokens(count);
    for (int64_t& token : tokens) {
      token = static_cast<int64_t>(stream.NextBelow(static_cast<uint64_t>(spec().vocab_size)));
    }
    return tokens;
  }
};

// Rows of the request whose history is number `which` of the run, up to position `end`. What it
// took out of the prefix cache comes first, as its producer computed it, whose history the run has
// too.
inline std::vector<RowEvent> CaseRows(const CaseModel& model, const ReplayResult& run, size_t which,
                                      int64_t end) {
  EventPlanner planner(run.book.get(), model.spec(), model.weights.tp);
  EXPECT_EQ(planner.WhyNot(), "");
  std::vector<RowEvent> events;
  for (const PrefixHit& hit : run.histories[which]->hits()) {
    for (const auto& other : run.histories) {
      if (other->index() == hit.producer.request) planner.Add(*other, hit.begin, hit.end, &events);
    }
    EXPECT_EQ(std::ssize(events), hit.end);
  }
  for (RowEvent& event : events) event.samples = false;
  planner.Add(*run.histories[which], 0, end, &events);
  return events;
}

// A tie goes to the lowest index, as everywhere in this project, or to the highest one.
inline int64_t LowestIndex(std::span<const float> logits) { return FindTopTwo(logits).top; }
inline int64_t HighestIndex(std::span<const float> logits) {
  const auto last = std::max_element(logits.rbegin(), logits.rend());
  return std::distance(last, logits.rend()) - 1;
}

struct CaseText {
  std::vector<int64_t> tokens;             // generated
  std::vector<std::vector<float>> logits;  // that each was taken from
};

struct CaseRun {
  DType logits = DType::kFp32;  // rounded to that before a token is taken
  std::vector<int64_t> forced;  // tokens that are taken whatever the logits say
};

// Executes the rows one after another, as many in a call as have known tokens.
inline CaseText ExecuteCase(CaseModel* model, std::vector<int64_t> tokens,
                            std::span<const RowEvent> events, const CaseRun& run = {}) {
  constexpr size_t kRowsPerCall = 256;
  KvCache cache(model->spec());
  CaseText text;
  for (size_t next = 0; next < events.size();) {
    const int64_t begin = events[next].position;
    cache.Truncate(std::min(begin, cache.length()));  // positions that are computed again
    std::vector<DecoderRow> rows;
    const size_t first = next;
    for (; next < events.size() && rows.size() < kRowsPerCall; ++next) {
      const RowEvent& event = events[next];
      if (event.position != begin + std::ssize(rows)) break;
      if (event.position >= std::ssize(tokens)) break;
      rows.push_back(
          {tokens[event.position], event.position, &cache, event.plan.get(), event.samples, false});
    }
    std::vector<RowOutput> outputs;
    EXPECT_EQ(model->decoder.Forward(rows, &outputs), absl::OkStatus());
    if (outputs.size() != rows.size()) return text;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const RowEvent& event = events[first + i];
      if (!event.samples || event.position + 1 < std::ssize(tokens)) continue;
      RoundLogits(run.logits, outputs[i].logits);
      const size_t step = text.tokens.size();
      const int64_t token =
          step < run.forced.size() ? run.forced[step] : LowestIndex(outputs[i].logits);
      tokens.push_back(token);
      text.tokens.push_back(token);
      text.logits.push_back(std::move(outputs[i].logits));
    }
  }
  return text;
}

// Executes all of `rows`, consecutive positions from 0, and the last one a second time from the
// same keys and values under the plan of `other`: op by op, what is first to differ.
inline Divergence CompareLastRow(CaseModel* model, const std::vector<int64_t>& tokens,
                                 std::span<const RowEvent> rows, const RowEvent& other) {
  KvCache cache(model->spec()), copy(model->spec());
  std::vector<DecoderRow> before;
  for (const RowEvent& row : rows.first(rows.size() - 1)) {
    before.push_back({tokens[row.position], row.position, &cache, row.plan.get()});
  }
  std::vector<RowOutput> outputs;
  EXPECT_EQ(model->decoder.Forward(before, &outputs), absl::OkStatus());
  copy.CopyPrefix(cache, cache.length());
  const int64_t position = rows.back().position;
  EXPECT_EQ(other.position, position);
  const std::vector<DecoderRow> both = {
      {tokens[position], position, &cache, rows.back().plan.get(), true, true},
      {tokens[position], position, &copy, other.plan.get(), true, true}};
  EXPECT_EQ(model->decoder.Forward(both, &outputs), absl::OkStatus());
  return ComparePasses(outputs[0].records, outputs[1].records, outputs[0].logits,
                       outputs[1].logits);
}

// Every logit, bit for bit.
inline bool SameBits(const CaseText& a, const CaseText& b) {
  const auto bits = [](const CaseText& text) {
    std::vector<uint32_t> words;
    for (const auto& step : text.logits) {
      for (const float logit : step) words.push_back(std::bit_cast<uint32_t>(logit));
    }
    return words;
  };
  return a.tokens == b.tokens && bits(a) == bits(b);
}

// The largest |difference| of the first `steps` tokens' logits.
inline double LogitDistance(const CaseText& a, const CaseText& b, size_t steps) {
  double largest = 0;
  for (size_t step = 0; step < std::min({steps, a.logits.size(), b.logits.size()}); ++step) {
    for (size_t i = 0; i < a.logits[step].size(); ++i) {
      largest = std::max(largest, std::fabs(double{a.logits[step][i]} - b.logits[step][i]));
    }
  }
  return largest;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_CASES_CASE_DECODER_H_
