// Tables of classes for people: a table, a strip with one letter a class, two M in words, and what
// a failed gate says.
#ifndef BATCHVAR_SIM_REPORT_CLASSES_TEXT_H_
#define BATCHVAR_SIM_REPORT_CLASSES_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "sim/replay/class_comparison.h"
#include "sim/replay/class_table.h"

namespace batchvar {

// The table, then the strip, which is at most `columns` wide.
std::string ClassesText(const ClassTable& table, int columns);
std::string ClassStrip(const ClassTable& table, int columns);

// How both sides of a pair sum, "16x128x64 tile, K split in 4 at 1024, 2048, 3072". Where the same
// words fit both, what else they differ in is added.
std::pair<std::string, std::string> PlanWords(const PlanPair& pair);
std::string ComparisonText(int64_t m_a, int64_t m_b, const std::vector<PlanPair>& pairs);

// "qkv_proj has 2 classes: its sums change from M = 17 on".
std::string VariantWords(const OpPartition& op);
// One line a moved range, and per op where boundaries were and are.
std::string MovedText(const ClassTable& baseline, const ClassTable& now,
                      const std::vector<MovedRange>& moved);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CLASSES_TEXT_H_
