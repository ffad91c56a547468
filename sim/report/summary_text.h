// The summary that `simulate` prints: what a serving engineer looks for first, then how many
// reduction classes each op visited.
#ifndef BATCHVAR_SIM_REPORT_SUMMARY_TEXT_H_
#define BATCHVAR_SIM_REPORT_SUMMARY_TEXT_H_

#include <string>

#include "sim/config/experiment_spec.h"
#include "sim/replay/replay.h"

namespace batchvar {

std::string SummaryText(const ExperimentSpec& spec, const ReplayResult& result);

// The life of one tracked request: batches, chunk cuts, class changes.
std::string RequestLifeText(const RequestHistory& history, const ReplayResult& result);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_SUMMARY_TEXT_H_
