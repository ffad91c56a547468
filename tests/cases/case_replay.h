// Replays of small hand-written workloads, for the cases that need a scheduler.
#ifndef BATCHVAR_TESTS_CASES_CASE_REPLAY_H_
#define BATCHVAR_TESTS_CASES_CASE_REPLAY_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/load_experiment.h"
#include "sim/replay/replay.h"
#include "sim/replay/row_comparison.h"
#include "tests/io/temp_file.h"

namespace batchvar {

// One line of a trace of format jsonl. `prefix` is the key's value, "" for text nobody else has.
inline std::string TraceLine(const std::string& id, int64_t arrival_ns, int prompt_tokens,
                             int output_tokens, const std::string& prefix = "") {
  return "{\"request_id\": \"" + id + "\", \"arrival_ns\": " + std::to_string(arrival_ns) +
         ", \"prompt_tokens\": " + std::to_string(prompt_tokens) +
         ", \"output_tokens\": " + std::to_string(output_tokens) +
         (prefix.empty() ? "" : ", \"prefix\": " + prefix) + "}\n";
}

// `head`: the experiment without its workload.
inline ReplayResult ReplayOf(const std::string& head, const std::string& trace,
                             const std::vector<std::string>& requests,
                             const std::vector<RunSink*>& sinks = {}) {
  const TempFile file(trace, ".jsonl");
  const auto spec =
      LoadExperimentText(head + "workload: {trace: {path: " + file.path() + ", format: jsonl}}\n",
                         "case.yaml", ".", {});
  EXPECT_TRUE(spec.ok()) << spec.status();
  ReplayOptions options;
  options.requests = requests;
  options.sinks = sinks;
  auto result = Replay(*spec, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return std::move(*result);
}

inline size_t IndexOf(const PlanBook& book, Op op) {
  size_t i = 0;
  while (i < book.ops().size() && book.ops()[i].op != op) ++i;
  EXPECT_LT(i, book.ops().size());
  return i;
}

inline RowComparison Compared(const ReplayResult& a, size_t request_a, const ReplayResult& b,
                              size_t request_b) {
  return CompareRows(*a.histories[request_a], a.book.get(), *b.histories[request_b], b.book.get());
}

// Rows of `op` that met another order.
inline int64_t Differ(const RowComparison& rows, const ReplayResult& of, Op op) {
  return rows.by_op[IndexOf(*of.book, op)].differ;
}

// The same over all ops but attention.
inline int64_t DifferOutsideAttention(const RowComparison& rows, const ReplayResult& of) {
  int64_t differ = 0;
  for (size_t op = 0; op < rows.by_op.size(); ++op) {
    if (of.book->ops()[op].op != Op::kAttention) differ += rows.by_op[op].differ;
  }
  return differ;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_CASES_CASE_REPLAY_H_
