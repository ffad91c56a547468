#include "sim/report/sweep_heat_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/config/scalar_text.h"
#include "sim/report/number_text.h"
#include "sim/shape/op_shape.h"

namespace batchvar {
namespace {

constexpr char kSmCount[] = "device.sm_count";
constexpr size_t kMaxPanels = 40;

// A result that panels show.
struct Shown {
  std::string name;  // as in gates; of plans: the op
  std::string title;
  int digits = 0;
  double factor = 1;  // shown = factor * value
  std::string unit;
  bool is_share = false;  // the scale is 0 to 1; else from the least value to the largest
};

bool IsNumericAxis(const SweepRecords& sweep, const std::string& key) {
  std::set<double> values;
  for (const CellRecord& cell : sweep.cells) {
    if (cell.Set(key) == nullptr) continue;
    const std::optional<double> number = cell.Number(key);
    if (!number.has_value()) return false;
    values.insert(*number);
  }
  return values.size() > 1;
}

std::optional<std::pair<std::string, std::string>> AxesOf(const SweepRecords& sweep) {
  std::vector<std::string> numeric;
  for (const std::string& key : sweep.keys) {
    if (IsNumericAxis(sweep, key)) numeric.push_back(key);
  }
  const auto swept = [&](const char* key) {
    return std::find(numeric.begin(), numeric.end(), key) != numeric.end();
  };
  if (swept(kSmCount) && swept(kRowsKey))
    return std::pair<std::string, std::string>(kRowsKey, kSmCount);
  if (numeric.size() != 2) return std::nullopt;
  return std::pair(numeric[1], numeric[0]);  // the one that varies faster lies across
}

std::vector<double> TicksOf(const SweepRecords& sweep, const std::string& key) {
  std::set<double> values;
  for (const CellRecord& cell : sweep.cells) {
    const std::optional<double> number = cell.Number(key);
    if (number.has_value()) values.insert(*number);
  }
  return {values.begin(), values.end()};
}

// The last part of a dotted key is enough to know it by.
std::string AxisLabel(const std::string& key) {
  if (key == kSmCount) return "SM count";
  if (key == kKvLenKey) return "KV length";
  return key == kRowsKey ? "M" : key.substr(key.rfind('.') + 1);
}

std::string TickText(double value) {
  const int64_t whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? std::to_string(whole) : NumberText(value);
}

class Builder {
 public:
  Builder(const SweepRecords& sweep, std::string x, std::string y)
      : sweep_(sweep), x_(std::move(x)), y_(std::move(y)) {
    x_values_ = TicksOf(sweep, x_);
    y_values_ = TicksOf(sweep, y_);
    for (const CellRecord& cell : sweep.cells) {
      if (!cell.Number(x_).has_value() || !cell.Number(y_).has_value()) continue;
      const std::string facet = FacetOf(cell);
      if (!Holds(facet)) facets_.emplace_back(facet, std::vector<const CellRecord*>());
      for (auto& [name, cells] : facets_) {
        if (name == facet) cells.push_back(&cell);
      }
    }
  }

  HeatMap Build(const std::string& name) const {
    HeatMap map;
    map.title = name + ": " + SweepCommandName(sweep_.command) + " over " + AxisLabel(y_) +
                " and " + AxisLabel(x_);
    map.x_label = AxisLabel(x_);
    map.y_label = AxisLabel(y_);
    for (const double value : x_values_) map.x_ticks.push_back(TickText(value));
    for (const double value : y_values_) {
      map.y_ticks.insert(map.y_ticks.begin(), TickText(value));
    }
    for (const auto& [facet, cells] : facets_) {
      for (const Shown& shown : ShownResults()) {
        if (map.panels.size() == kMaxPanels) return map;
        HeatPanel panel = sweep_.command == SweepCommand::kPlan ? PlanPanel(shown, cells)
                                                                : ScalePanel(shown, cells);
        panel.title = facet.empty() ? shown.title : shown.title + " (" + facet + ")";
        if (!panel.cells.empty()) map.panels.push_back(std::move(panel));
      }
    }
    return map;
  }

 private:
  bool Holds(const std::string& facet) const {
    return std::any_of(facets_.begin(), facets_.end(),
                       [&](const auto& entry) { return entry.first == facet; });
  }

  // What else the cell sets: cells that share it share panels.
  std::string FacetOf(const CellRecord& cell) const {
    std::string facet;
    for (const auto& [key, text] : cell.set) {
      if (key == x_ || key == y_) continue;
      facet += (facet.empty() ? "" : ", ") + key + " " + text;
    }
    return facet;
  }

  std::vector<Shown> ShownResults() const {
    std::vector<Shown> shown;
    if (sweep_.command == SweepCommand::kPlan) {
      for (const char* field : {".ctas", ".num_splits"}) {  // GEMMs, then attention
        for (const std::string& op : OpsWith(sweep_, "", field)) {
          shown.push_back({op, op, 0, 1, "", false});
        }
      }
      return shown;
    }
    if (sweep_.command == SweepCommand::kClasses) {
      for (const std::string& op : OpsWith(sweep_, "classes.", "")) {
        shown.push_back({"classes." + op, op + ": reduction classes", 0, 1, "", false});
      }
      return shown;
    }
    if (sweep_.command == SweepCommand::kExperiment) {
      for (const std::string& arm : ArmsOf(sweep_)) {
        shown.push_back({"arms." + arm + ".distinct", arm + ": texts", 0, 1, "", false});
        shown.push_back(
            {"arms." + arm + ".differ_from_alone", arm + ": trials that differ", 0, 1, "", false});
      }
      return shown;
    }
    shown = {{"throughput.output_tokens_per_s", "Output tokens/s", 0, 1, "", false},
             {"latency_ms.ttft.p99", "TTFT, 99th percentile, ms", 1, 1, "", false}};
    for (const std::string& op : OpsWith(sweep_, "other_class_share.", "")) {
      const std::string name = "other_class_share." + op;
      const bool any = std::any_of(sweep_.cells.begin(), sweep_.cells.end(), [&](const auto& cell) {
        return cell.Number(name).value_or(0) > 0;
      });
      if (!any) continue;
      shown.push_back(
          {name, op + ": share of steps outside its most frequent class", 1, 100, " %", true});
    }
    return shown;
  }

  HeatCell At(const CellRecord& cell) const {
    const auto index = [](const std::vector<double>& values, double value) {
      return static_cast<size_t>(std::lower_bound(values.begin(), values.end(), value) -
                                 values.begin());
    };
    HeatCell at;
    at.x = index(x_values_, *cell.Number(x_));
    // Larger values lie higher, as in a diagram.
    at.y = y_values_.size() - 1 - index(y_values_, *cell.Number(y_));
    at.tip = "cell " + std::to_string(cell.cell) + ", " + AxisLabel(y_) + " " + *cell.Set(y_) +
             ", " + AxisLabel(x_) + " " + *cell.Set(x_);
    return at;
  }

  // One colour a class, in order of pieces, so that few pieces have the first colours.
  HeatPanel PlanPanel(const Shown& shown, const std::vector<const CellRecord*>& cells) const {
    const bool attention = shown.name == OpName(Op::kAttention);
    const std::string summed = attention ? "KV" : "K";
    const std::string pieces_of = shown.name + (attention ? ".num_splits" : ".split_k");
    const auto key_of = [&](const CellRecord& cell) {
      return std::pair(*cell.Number(pieces_of),
                       std::get<std::string>(*cell.Value(shown.name + ".class")));
    };
    std::map<std::pair<double, std::string>, size_t> categories;
    for (const CellRecord* cell : cells) {
      if (cell->Value(shown.name + ".class") != nullptr) categories[key_of(*cell)] = 0;
    }
    HeatPanel panel;
    for (auto& [key, category] : categories) {
      category = panel.legend.size();
      const std::string pieces = TickText(key.first);
      panel.legend.push_back(
          {CategoryColour(category), (pieces == "1" ? "one pass" : summed + " in " + pieces) +
                                         " (" + key.second.substr(0, 8) + ")"});
    }
    for (const CellRecord* cell : cells) {
      if (cell->Value(shown.name + ".class") == nullptr) continue;
      HeatCell at = At(*cell);
      const auto key = key_of(*cell);
      at.colour = CategoryColour(categories.at(key));
      at.text = TickText(key.first);
      at.tip += ": " + summed + " in " + at.text + ", class " + key.second;
      panel.cells.push_back(std::move(at));
    }
    return panel;
  }

  HeatPanel ScalePanel(const Shown& shown, const std::vector<const CellRecord*>& cells) const {
    std::vector<double> values;
    for (const CellRecord* cell : cells) {
      const std::optional<double> value = cell->Number(shown.name);
      if (value.has_value()) values.push_back(*value);
    }
    HeatPanel panel;
    if (values.empty()) return panel;
    const double low = shown.is_share ? 0 : *std::min_element(values.begin(), values.end());
    const double high = shown.is_share ? 1 : *std::max_element(values.begin(), values.end());
    const auto text = [&](double value) {
      return Fixed(shown.factor * value, shown.digits) + shown.unit;
    };
    for (const CellRecord* cell : cells) {
      const std::optional<double> value = cell->Number(shown.name);
      if (!value.has_value()) continue;
      HeatCell at = At(*cell);
      at.colour = ScaleColour(high > low ? (*value - low) / (high - low) : 0);
      at.text = text(*value);
      at.tip += ": " + at.text;
      panel.cells.push_back(std::move(at));
    }
    panel.legend = {{ScaleColour(0), text(low)}};
    if (high > low) panel.legend.push_back({ScaleColour(1), text(high)});
    return panel;
  }

  const SweepRecords& sweep_;
  std::string x_;
  std::string y_;
  std::vector<double> x_values_;  // ascending
  std::vector<double> y_values_;
  std::vector<std::pair<std::string, std::vector<const CellRecord*>>> facets_;
};

}  // namespace

std::optional<HeatMap> SweepHeatMap(const SweepRecords& sweep, const std::string& name) {
  const auto axes = AxesOf(sweep);
  if (!axes.has_value()) return std::nullopt;
  HeatMap map = Builder(sweep, axes->first, axes->second).Build(name);
  if (map.panels.empty()) return std::nullopt;
  return map;
}

}  // namespace batchvar
