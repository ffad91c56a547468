#include "sim/report/executed_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json RequestJson(const ExecutedRequest& request) {
  const OrderComparison& orders = request.orders;
  Json json = {{"request_id", request.id},
               {"prompt_tokens", request.prompt_tokens},
               {"output_tokens", request.output_tokens},
               {"cached_tokens", request.cached_tokens},
               {"producers", request.producers},
               {"preemptions", request.preemptions},
               {"rows", orders.rows},
               {"rows_in_another_order", orders.differ},
               {"differs", request.differs}};
  if (orders.first_row >= 0) {
    json["row"] = orders.first_row;
    json["first_op"] = OpName(orders.first_op);
    json["m_a"] = orders.m_a;
    json["m_b"] = orders.m_b;
  }
  if (!request.differs) return json;
  const TextDivergence& divergence = request.divergence;
  json["position"] = divergence.position;
  json["token_a"] = divergence.token_a;
  json["token_b"] = divergence.token_b;
  json["margin"] = divergence.margin;
  json["tie"] = divergence.tie;
  if (divergence.bits_differ) {
    json["first_bits"] = {{"op", OpName(divergence.bits_op)},
                          {"layer", divergence.bits_layer},
                          {"max_ulp", divergence.bits_max_ulp}};
  }
  return json;
}

Json ResponseJson(const ExecutedTrace& trace, const ExecutedRequest& request, const char* arm,
                  const std::vector<int64_t>& tokens) {
  const bool in_trace = std::string(arm) == "trace";
  return {{"request_id", request.id + "/" + arm},
          {"prompt_sha256", request.prompt_digest.Hex()},
          {"model", trace.model},
          {"params",
           {{"temperature", 0.0}, {"top_p", 1.0}, {"seed", 0}, {"max_tokens", tokens.size()}}},
          {"status", 200},
          {"attempt", 1},
          {"finish_reason", "length"},
          {"arm", arm},
          {"usage",
           {{"prompt_tokens", request.prompt_tokens},
            {"completion_tokens", tokens.size()},
            {"cached_tokens", in_trace ? request.cached_tokens : 0}}},
          {"preemptions", in_trace ? request.preemptions : 0},
          {"token_ids", tokens}};
}

std::string RequestText(const ExecutedRequest& request) {
  const OrderComparison& orders = request.orders;
  std::string parted = "-";
  if (request.differs) {
    const TextDivergence& d = request.divergence;
    parted = absl::StrFormat("%d: %d, not %d; margin %.3g%s", d.position, d.token_b, d.token_a,
                             d.margin, d.tie ? ", a tie" : "");
  }
  std::string first = "-";
  if (orders.first_row >= 0) {
    first = absl::StrFormat("%d: %s (M %d, not %d)", orders.first_row, OpName(orders.first_op),
                            orders.m_b, orders.m_a);
  }
  return absl::StrFormat("  %-16s %6d %6d %6d %7d  %-34s %s\n", request.id, request.prompt_tokens,
                         request.cached_tokens, request.output_tokens, orders.differ, first,
                         parted);
}

}  // namespace

std::string ExecutedText(const ExecutedTrace& trace) {
  std::string text = absl::StrCat("Executed requests (", trace.model, ", ", trace.dtype,
                                  ", logits ", trace.logits, ", prompts of seeded tokens)\n");
  if (trace.synthetic) text += "  weights are synthetic\n";
  if (!trace.plan_model.empty()) {
    absl::StrAppend(&text, "  plans borrowed from ", trace.plan_model, "\n");
  }
  absl::StrAppendFormat(&text, "  %-16s %6s %6s %6s %7s  %-34s %s\n", "request", "prompt", "cached",
                        "output", "rows*", "first row in another order",
                        "first other token than alone");
  int64_t differ = 0;
  for (const ExecutedRequest& request : trace.requests) {
    text += RequestText(request);
    differ += request.differs ? 1 : 0;
  }
  absl::StrAppend(&text, "  * rows summed in another order than alone; ", differ, " of ",
                  trace.requests.size(), " texts differ from the text alone; ", trace.rows_computed,
                  " rows executed\n");
  return text;
}

Json ExecutionJson(const ExecutedTrace& trace) {
  return {{"model", trace.model},         {"plan_model", trace.plan_model},
          {"synthetic", trace.synthetic}, {"dtype", trace.dtype},
          {"logits", trace.logits},       {"rows_computed", trace.rows_computed}};
}

Json ExecutedJson(const ExecutedTrace& trace) {
  Json requests = Json::array();
  for (const ExecutedRequest& request : trace.requests) requests.push_back(RequestJson(request));
  return requests;
}

std::string ExecutedResponsesJsonl(const ExecutedTrace& trace) {
  std::string lines;
  for (const ExecutedRequest& request : trace.requests) {
    lines += Dump(ResponseJson(trace, request, "alone", request.tokens_alone)) + "\n";
    lines += Dump(ResponseJson(trace, request, "trace", request.tokens)) + "\n";
  }
  return lines;
}

}  // namespace batchvar
