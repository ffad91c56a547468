// What `explain RUN_A RUN_B --request ID` says: how the request's prompt was cut in each run, the
// first step and op at which its row classes differ, both plans side by side, and how many rows of
// each op met another order.
#ifndef BATCHVAR_SIM_REPORT_EXPLAIN_TEXT_H_
#define BATCHVAR_SIM_REPORT_EXPLAIN_TEXT_H_

#include <string>

#include "sim/replay/row_comparison.h"

namespace batchvar {

// One run's side of the comparison.
struct ExplainedRun {
  std::string name;  // as typed
  const RequestHistory* history = nullptr;
  const PlanBook* book = nullptr;
};

std::string ExplainText(const ExplainedRun& a, const ExplainedRun& b, const RowComparison& rows);
std::string ExplainJson(const ExplainedRun& a, const ExplainedRun& b, const RowComparison& rows);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_EXPLAIN_TEXT_H_
