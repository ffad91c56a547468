// An experiment's result for the terminal: the table of arms, where texts parted and why, and the
// verdict.
#ifndef BATCHVAR_SIM_REPORT_EXPERIMENT_TEXT_H_
#define BATCHVAR_SIM_REPORT_EXPERIMENT_TEXT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "sim/divergence/experiment_result.h"

namespace batchvar {

// The text of one token, quoted where that helps; ids alone where a model has no tokenizer.
using TokenWords = std::function<std::string(int64_t token)>;

std::string ExperimentText(const ExperimentResult& result, const TokenWords& words);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_EXPERIMENT_TEXT_H_
