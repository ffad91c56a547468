#include "sim/report/execution_json.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {
namespace {

// Numbers beside their bits; JSON has no NaN or infinity, which are null here.
nlohmann::ordered_json Number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

std::string Hex(float value) { return absl::StrFormat("0x%08x", BitsOf(value)); }

nlohmann::ordered_json SideJson(const ExecutionSide& side) {
  nlohmann::ordered_json json;
  json["partials"] = nlohmann::ordered_json::array();
  for (const PartialSum& partial : side.example.partials) {
    json["partials"].push_back({{"range", {partial.range.begin, partial.range.end}},
                                {"value", Number(partial.value)},
                                {"hex", Hex(partial.value)}});
  }
  json["combine"] = CombineName(side.order.combine);
  json["sum"] = Number(side.example.sum);
  json["sum_hex"] = Hex(side.example.sum);
  json["result"] = Number(side.example.result);
  json["hex"] = Hex(side.example.result);
  json["row_class"] = side.klass.Hex();
  return json;
}

}  // namespace

nlohmann::ordered_json ExecutionJson(const Execution& execution,
                                     const nlohmann::ordered_json& plan_a,
                                     const nlohmann::ordered_json& plan_b) {
  const BitsDifference& difference = execution.difference;
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["kind"] = "execution";
  json["op"] = execution.op;
  json["dtype"] = DTypeName(execution.output);
  json["isa"] = execution.isa;
  json["same_class"] = execution.a.klass == execution.b.klass;
  json["rows"] = execution.rows;
  json["columns"] = execution.columns;
  json["outputs"] = difference.outputs;
  json["differ_fp32"] = difference.differ_fp32;
  json["differ_16bit"] = difference.differ_16bit;
  json["max_ulp"] = difference.max_ulp;
  json["max_ulp_16bit"] = difference.max_ulp_16bit;
  json["max_abs"] = Number(difference.max_abs);
  json["fused_sums"] = execution.fused_sums;
  json["scalar_fallbacks"] = execution.fallbacks;
  json["example"] = {{"row", execution.example_row},
                     {"column", execution.example_column},
                     {"exact", Number(execution.exact)},
                     {"a", SideJson(execution.a)},
                     {"b", SideJson(execution.b)}};
  json["a"] = plan_a;
  json["b"] = plan_b;
  return json;
}

}  // namespace batchvar
