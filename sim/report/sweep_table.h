// A sweep's cells as a table: for the terminal, and cells.csv.
#ifndef BATCHVAR_SIM_REPORT_SWEEP_TABLE_H_
#define BATCHVAR_SIM_REPORT_SWEEP_TABLE_H_

#include <string>
#include <vector>

#include "sim/config/load_sweep.h"
#include "sim/report/cell_line.h"

namespace batchvar {

struct SweepRecords {
  SweepCommand command = SweepCommand::kPlan;
  std::string request;            // whose life the cells tell; empty: nobody's
  std::vector<std::string> keys;  // the swept ones
  std::vector<CellRecord> cells;  // those that are done, in order
};

// Rows are cells; columns are labels, swept keys, the main results and whether the gate holds.
// Errors follow as lines.
std::string SweepText(const SweepRecords& sweep);
// The same with every digit, and more of the results: names as in gates.
std::string SweepCsv(const SweepRecords& sweep);

// Names of the arms that any cell has, sorted. Empty unless cells are experiments.
std::vector<std::string> ArmsOf(const SweepRecords& sweep);

// Names of ops, in the order of a step, for which some cell has the value PREFIX + op + SUFFIX.
std::vector<std::string> OpsWith(const SweepRecords& sweep, const std::string& prefix,
                                 const std::string& suffix);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_SWEEP_TABLE_H_
