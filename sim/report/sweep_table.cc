#include "sim/report/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/config/scalar_text.h"
#include "sim/report/csv_field.h"
#include "sim/report/number_text.h"
#include "sim/shape/op_shape.h"

namespace batchvar {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr char kNothing[] = "-";
constexpr size_t kShortClass = 8;  // hex digits, as in other tables

struct NamedColumn {
  const char* name;     // as in gates
  const char* heading;  // in the terminal; nullptr: only in the CSV
  int digits;           // after the point
};

constexpr NamedColumn kSimulateColumns[] = {
    {"requests.read", nullptr, 0},
    {"requests.finished", "finished", 0},
    {"requests.rejected", nullptr, 0},
    {"requests.preempted", "preempted", 0},
    {"throughput.requests_per_s", "requests/s", 3},
    {"throughput.output_tokens_per_s", "output tok/s", 1},
    {"throughput.total_tokens_per_s", nullptr, 1},
    {"throughput.goodput_per_s", nullptr, 3},
    {"latency_ms.ttft.p50", "TTFT p50", 2},
    {"latency_ms.ttft.p99", "TTFT p99", 2},
    {"latency_ms.tpot.p50", "TPOT p50", 2},
    {"latency_ms.tpot.p99", nullptr, 2},
    {"latency_ms.e2el.p50", nullptr, 2},
    {"latency_ms.e2el.p99", nullptr, 2},
    {"steps.count", "steps", 0},
    {"steps.m.p50", "M p50", 0},
    {"steps.m.max", "M max", 0},
    {"duration_ns", nullptr, 0},
};

// Every digit. An integer stays one, where the shortest text of a double may be 1e+05.
std::string ExactText(const GateValue& value) {
  if (std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
  if (std::holds_alternative<bool>(value)) return std::get<bool>(value) ? "true" : "false";
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  const double number = std::get<double>(value);
  if (number == std::floor(number) && std::fabs(number) <= kLargestExact) {
    return std::to_string(static_cast<int64_t>(number));
  }
  return NumberText(number);
}

std::string NumberOrNothing(const CellRecord& cell, const std::string& name, int digits) {
  const std::optional<double> number = cell.Number(name);
  return number.has_value() ? Fixed(*number, digits) : kNothing;
}

bool Holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A column of the terminal's table.
struct TextColumn {
  std::string heading;
  std::vector<std::string> texts;  // by cell
};

bool ClassVaries(const SweepRecords& sweep, const std::string& op) {
  std::set<std::string> classes;
  for (const CellRecord& cell : sweep.cells) {
    const GateValue* value = cell.Value(op + ".class");
    if (value != nullptr) classes.insert(ExactText(*value));
  }
  return classes.size() > 1;
}

std::string PiecesField(const std::string& op) {
  return op == OpName(Op::kAttention) ? ".num_splits" : ".split_k";
}

// "4 (669fa1d8)": K in 4 pieces, and the class. Ops that are neither GEMMs nor attention stand here
// if they vary.
void AddPlanColumns(const SweepRecords& sweep, std::vector<TextColumn>* columns) {
  const std::vector<std::string> gemms = OpsWith(sweep, "", ".ctas");
  for (const std::string& op : OpsWith(sweep, "", ".class")) {
    const bool shown = Holds(gemms, op) || op == OpName(Op::kAttention);
    if (!shown && !ClassVaries(sweep, op)) continue;
    TextColumn column{op, {}};
    for (const CellRecord& cell : sweep.cells) {
      const GateValue* klass = cell.Value(op + ".class");
      column.texts.push_back(klass == nullptr
                                 ? kNothing
                                 : NumberOrNothing(cell, op + PiecesField(op), 0) + " (" +
                                       ExactText(*klass).substr(0, kShortClass) + ")");
    }
    columns->push_back(std::move(column));
  }
}

void AddClassesColumns(const SweepRecords& sweep, std::vector<TextColumn>* columns) {
  for (const std::string& op : OpsWith(sweep, "classes.", "")) {
    TextColumn column{op, {}};
    for (const CellRecord& cell : sweep.cells) {
      column.texts.push_back(NumberOrNothing(cell, "classes." + op, 0));
    }
    columns->push_back(std::move(column));
  }
}

// How the prompt of the sweep's request was cut.
void AddChunksColumn(const SweepRecords& sweep, std::vector<TextColumn>* columns) {
  TextColumn column{"chunks of " + sweep.request, {}};
  for (const CellRecord& cell : sweep.cells) {
    const GateValue* chunks = cell.Value("request.chunks");
    column.texts.push_back(chunks == nullptr ? kNothing : ExactText(*chunks));
  }
  if (!sweep.request.empty()) columns->push_back(std::move(column));
}

void AddSimulateColumns(const SweepRecords& sweep, std::vector<TextColumn>* columns) {
  for (const NamedColumn& named : kSimulateColumns) {
    if (named.heading == nullptr) continue;
    TextColumn column{named.heading, {}};
    for (const CellRecord& cell : sweep.cells) {
      column.texts.push_back(NumberOrNothing(cell, named.name, named.digits));
    }
    columns->push_back(std::move(column));
  }
  AddChunksColumn(sweep, columns);
  for (const std::string& op : OpsWith(sweep, "other_class_share.", "")) {
    TextColumn column{op, {}};
    bool any = false;
    for (const CellRecord& cell : sweep.cells) {
      const std::optional<double> share = cell.Number("other_class_share." + op);
      any = any || share.value_or(0) > 0;
      column.texts.push_back(share.has_value() ? NumberOrNothing(cell, "classes." + op, 0) + " (" +
                                                     Fixed(100 * *share, 1) + " %)"
                                               : kNothing);
    }
    if (any) columns->push_back(std::move(column));
  }
}

constexpr NamedColumn kArmColumns[] = {
    {"distinct", "texts", 0},
    {"differ_from_alone", "differ", 0},
    {"first_divergence.median", "parted", 0},
    {"first_divergence.min", nullptr, 0},
    {"first_divergence.max", nullptr, 0},
    {"batch.p50", nullptr, 0},
    {"noise.median_width", nullptr, 0},
    {"noise.max_width", nullptr, 0},
    {"inconclusive", nullptr, 0},
};

void AddExperimentColumns(const SweepRecords& sweep, std::vector<TextColumn>* columns) {
  for (const std::string& arm : ArmsOf(sweep)) {
    for (const NamedColumn& named : kArmColumns) {
      if (named.heading == nullptr) continue;
      TextColumn column{arm + " " + named.heading, {}};
      for (const CellRecord& cell : sweep.cells) {
        column.texts.push_back(
            NumberOrNothing(cell, "arms." + arm + "." + named.name, named.digits));
      }
      columns->push_back(std::move(column));
    }
  }
}

const char* Legend(SweepCommand command) {
  switch (command) {
    case SweepCommand::kPlan:
      return "K (attention: KV) in how many pieces (class); equal classes, equal bits\n";
    case SweepCommand::kClasses: return "How many reduction classes each op has over M\n";
    case SweepCommand::kSimulate:
      return "Latencies in ms; OP: classes met (share of steps outside the most frequent one)\n";
    case SweepCommand::kExperiment:
      return "Of each arm: texts, trials that differ, and the token at which they part (median)\n";
  }
  return "";
}

std::vector<std::string> CsvColumns(const SweepRecords& sweep) {
  std::vector<std::string> names;
  if (sweep.command == SweepCommand::kSimulate) {
    for (const NamedColumn& named : kSimulateColumns) names.emplace_back(named.name);
    if (!sweep.request.empty()) names.emplace_back("request.chunks");
  }
  for (const char* prefix : {"classes.", "other_class_share."}) {
    for (const std::string& op : OpsWith(sweep, prefix, "")) names.push_back(prefix + op);
  }
  for (const std::string& arm : ArmsOf(sweep)) {
    for (const NamedColumn& named : kArmColumns) names.push_back("arms." + arm + "." + named.name);
  }
  if (sweep.command == SweepCommand::kExperiment) names.emplace_back("verdict");
  if (sweep.command == SweepCommand::kPlan) {
    for (const std::string& op : OpsWith(sweep, "", ".class")) {
      for (const char* field : {".split_k", ".num_splits", ".ctas", ".waves", ".class"}) {
        const std::vector<std::string> having = OpsWith(sweep, "", field);
        if (Holds(having, op)) names.push_back(op + field);
      }
    }
  }
  return names;
}

bool AnyLabel(const SweepRecords& sweep) {
  return std::any_of(sweep.cells.begin(), sweep.cells.end(),
                     [](const CellRecord& cell) { return !cell.label.empty(); });
}

bool AnyGate(const SweepRecords& sweep) {
  return std::any_of(sweep.cells.begin(), sweep.cells.end(),
                     [](const CellRecord& cell) { return cell.gate.has_value(); });
}

}  // namespace

std::vector<std::string> ArmsOf(const SweepRecords& sweep) {
  constexpr std::string_view kPrefix = "arms.", kEnd = ".distinct";
  std::set<std::string> arms;
  for (const CellRecord& cell : sweep.cells) {
    for (const auto& [name, value] : cell.values) {
      if (!name.starts_with(kPrefix) || !name.ends_with(kEnd)) continue;
      arms.insert(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnd.size()));
    }
  }
  return {arms.begin(), arms.end()};
}

std::vector<std::string> OpsWith(const SweepRecords& sweep, const std::string& prefix,
                                 const std::string& suffix) {
  std::vector<std::string> ops;
  for (int i = 0; i <= static_cast<int>(Op::kArgmax); ++i) {
    const std::string op = OpName(static_cast<Op>(i));
    const bool any = std::any_of(
        sweep.cells.begin(), sweep.cells.end(),
        [&](const CellRecord& cell) { return cell.Value(prefix + op + suffix) != nullptr; });
    if (any) ops.push_back(op);
  }
  return ops;
}

std::string SweepText(const SweepRecords& sweep) {
  std::vector<TextColumn> columns;
  switch (sweep.command) {
    case SweepCommand::kPlan: AddPlanColumns(sweep, &columns); break;
    case SweepCommand::kClasses: AddClassesColumns(sweep, &columns); break;
    case SweepCommand::kSimulate: AddSimulateColumns(sweep, &columns); break;
    case SweepCommand::kExperiment: AddExperimentColumns(sweep, &columns); break;
  }
  const bool labels = AnyLabel(sweep);
  const bool gates = AnyGate(sweep);
  Rows rows(1, {"cell"});
  if (labels) rows[0].emplace_back("label");
  rows[0].insert(rows[0].end(), sweep.keys.begin(), sweep.keys.end());
  for (const TextColumn& column : columns) rows[0].push_back(column.heading);
  if (gates) rows[0].emplace_back("gate");
  std::string errors;
  for (size_t i = 0; i < sweep.cells.size(); ++i) {
    const CellRecord& cell = sweep.cells[i];
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(std::to_string(cell.cell));
    if (labels) row.push_back(cell.label);
    for (const std::string& key : sweep.keys) {
      row.push_back(cell.Set(key) == nullptr ? kNothing : *cell.Set(key));
    }
    for (const TextColumn& column : columns) {
      row.push_back(cell.error.empty() ? column.texts[i] : "error");
    }
    if (gates) row.emplace_back(!cell.gate.has_value() ? kNothing : *cell.gate ? "holds" : "fails");
    if (!cell.error.empty()) errors += "cell " + row[0] + ": " + cell.error + "\n";
  }
  return Legend(sweep.command) + AlignedTable(rows, 0, "  ") + errors;
}

std::string SweepCsv(const SweepRecords& sweep) {
  const std::vector<std::string> names = CsvColumns(sweep);
  const bool labels = AnyLabel(sweep);
  const bool gates = AnyGate(sweep);
  std::string text = labels ? "cell,label" : "cell";
  for (const std::string& key : sweep.keys) text += "," + CsvField(key);
  for (const std::string& name : names) text += "," + CsvField(name);
  text += gates ? ",gate,error\n" : ",error\n";
  for (const CellRecord& cell : sweep.cells) {
    text += std::to_string(cell.cell);
    if (labels) text += "," + CsvField(cell.label);
    for (const std::string& key : sweep.keys) {
      text += "," + (cell.Set(key) == nullptr ? "" : CsvField(*cell.Set(key)));
    }
    for (const std::string& name : names) {
      const GateValue* value = cell.Value(name);
      text += "," + (value == nullptr ? "" : CsvField(ExactText(*value)));
    }
    if (gates) text += !cell.gate.has_value() ? "," : *cell.gate ? ",holds" : ",fails";
    text += "," + CsvField(cell.error) + "\n";
  }
  return text;
}

}  // namespace batchvar
