// summary.json, requests.csv and run.json: the forms are docs/formats.md. Equal runs give equal
// bytes: no clock, host name or path of the machine (run.json's `environment` alone may differ).
#ifndef BATCHVAR_SIM_REPORT_SUMMARY_JSON_H_
#define BATCHVAR_SIM_REPORT_SUMMARY_JSON_H_

#include <string>
#include <utility>
#include <vector>

#include "sim/config/experiment_spec.h"
#include "sim/divergence/executed_trace.h"
#include "sim/replay/replay.h"

namespace batchvar {

// `executed`, where requests were executed, fills the keys `execution` and `executed`.
std::string SummaryJson(const ReplayResult& result, const ExecutedTrace* executed = nullptr);
std::string RequestsCsv(const SimulationResult& simulation);

struct RunInfo {
  std::string version;     // of batchvar
  std::string command;     // the exact command that repeats the run
  std::string trace_name;  // as typed in the experiment; empty where there is none
  std::string trace_sha256;
  std::vector<std::pair<std::string, std::string>> libraries;  // name, version
};

std::string RunJson(const ExperimentSpec& spec, const RunInfo& info,
                    const SimulationResult& simulation);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_SUMMARY_JSON_H_
