// An execution for the terminal: how many bits differ, and one sum taken apart on both sides.
#ifndef BATCHVAR_SIM_REPORT_EXECUTION_TEXT_H_
#define BATCHVAR_SIM_REPORT_EXECUTION_TEXT_H_

#include <string>

#include "sim/divergence/execution.h"

namespace batchvar {

// `words_a` and `words_b` name the sides in a few words ("textbook, h100_sxm, M = 1, row 0").
std::string ExecutionText(const Execution& execution, const std::string& words_a,
                          const std::string& words_b);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_EXECUTION_TEXT_H_
