// Executed requests of a trace (sim/divergence/executed_trace.h): for the terminal, as the key
// `executed` of summary.json, and as responses in the flat form of docs/formats.md.
#ifndef BATCHVAR_SIM_REPORT_EXECUTED_REPORT_H_
#define BATCHVAR_SIM_REPORT_EXECUTED_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "sim/divergence/executed_trace.h"

namespace batchvar {

std::string ExecutedText(const ExecutedTrace& trace);

// What ran: model, plan_model, synthetic, dtype, logits, rows_computed.
nlohmann::ordered_json ExecutionJson(const ExecutedTrace& trace);
// One object a request.
nlohmann::ordered_json ExecutedJson(const ExecutedTrace& trace);

// responses.jsonl: two lines a request, arm "alone" and arm "trace".
std::string ExecutedResponsesJsonl(const ExecutedTrace& trace);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_EXECUTED_REPORT_H_
