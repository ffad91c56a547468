// What `batchvar reveal` found, as text and as JSON (kind "tree", docs/reveal.md).
#ifndef BATCHVAR_SIM_REPORT_TREE_REPORT_H_
#define BATCHVAR_SIM_REPORT_TREE_REPORT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/divergence/reveal.h"

namespace batchvar {

// One sum, at one M.
struct TreeCase {
  int64_t m = 0;  // 0 for an op that has none
  RevealedSum revealed;
  std::optional<SummationTree> planned;  // absent where no plan says how to add

  bool SameTree(const TreeCase& other) const {
    return revealed.outcome == other.revealed.outcome && revealed.tree == other.revealed.tree;
  }
  // An inconsistent outcome has no tree and matches no plan.
  bool MatchesPlan() const { return planned.has_value() && revealed.tree == *planned; }
};

struct TreeReport {
  std::string op;              // gemm, attention, norm, allreduce
  std::string implementation;  // scalar, eigen, ...
  std::string library;         // a library's version and code path; empty for our own
  std::string policy;          // empty without a plan, as is `device`
  std::string device;
  std::string element;          // which sum: "row 0, column 0 of ..."
  std::string summed;           // what its terms are: "K", "ranks"
  int64_t extent = 0;           // terms of the sum
  std::vector<int64_t> places;  // of the terms that were probed; leaf i is places[i]
  std::vector<TreeCase> cases;  // at least one
};

nlohmann::ordered_json TreeReportJson(const TreeReport& report);
std::string TreeReportText(const TreeReport& report);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_TREE_REPORT_H_
