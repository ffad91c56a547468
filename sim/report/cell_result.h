// What one cell of a sweep computes, as the JSON that the swept command would print, and the names
// by which gates, tables and pictures reach the numbers in it. One function a command: another
// command is one more in the table of cell_result.cc.
#ifndef BATCHVAR_SIM_REPORT_CELL_RESULT_H_
#define BATCHVAR_SIM_REPORT_CELL_RESULT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "sim/config/experiment_spec.h"
#include "sim/config/load_sweep.h"
#include "sim/replay/gate_expression.h"

namespace batchvar {

struct CellInput {
  const ExperimentSpec* spec = nullptr;
  const SweepCell* cell = nullptr;  // its rows and lengths
  int32_t threads = 1;              // within the cell; the result does not depend on it
  std::string request;              // simulate: whose life to tell; empty: nobody's
};

// Not for command `experiment`, whose cells are executed (CellContext::experiment).
absl::StatusOr<nlohmann::ordered_json> CellResult(SweepCommand command, const CellInput& input);

// Every number, truth value and text of a result by its dotted path; of a list, its length:
//   plan      o_proj.split_k, o_proj.class, attention.num_splits
//   classes   classes.o_proj: how many classes; of attention the most at any KV length
//   simulate  requests.finished, latency_ms.ttft.p99, classes.o_proj, and for every op
//             other_class_share.o_proj: the share of steps that did not meet its most frequent
//             class; with a request, request.chunks: how its prompt was cut, in words
//   experiment  verdict, and for every arm: arms.load.distinct, arms.load.differ_from_alone,
//             arms.load.first_divergence.median, arms.load.noise.max_width
GateValues ValuesOf(SweepCommand command, const nlohmann::ordered_json& result);

// A cheap input whose result has the same names.
ExperimentSpec SampleOf(const ExperimentSpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CELL_RESULT_H_
