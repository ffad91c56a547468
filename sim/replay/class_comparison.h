// Two tables of classes, M by M: which boundaries moved between a baseline and now.
#ifndef BATCHVAR_SIM_REPLAY_CLASS_COMPARISON_H_
#define BATCHVAR_SIM_REPLAY_CLASS_COMPARISON_H_

#include <cstddef>
#include <string>
#include <vector>

#include "sim/replay/class_table.h"

namespace batchvar {

// Why two tables do not answer the same question, for a user; empty when they do. Device, SM count
// and policies may differ: those are what one compares.
std::string WhyNotComparable(const ClassTable& baseline, const ClassTable& now);

// A range of M whose class is another than in the baseline.
struct MovedRange {
  size_t op = 0;      // index into ops
  ClosedRange m;      // neighbours in the query's list, all with the same two classes
  const MClass* was;  // in the baseline
  const MClass* now;
};

// In execution order, then by M. Only for comparable tables, which must outlive the result.
std::vector<MovedRange> MovedClasses(const ClassTable& baseline, const ClassTable& now);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_CLASS_COMPARISON_H_
