#include "sim/report/explain_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/report/number_text.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

std::string PiecesInWords(const Order& order) {
  if (order.pieces.size() == 1) {
    return absl::StrCat("one pass over [", order.pieces[0].begin, ", ", order.pieces[0].end, ")");
  }
  std::string text = absl::StrCat(order.pieces.size(), " pieces: ");
  constexpr size_t kShown = 6;
  for (size_t i = 0; i < order.pieces.size() && i < kShown; ++i) {
    absl::StrAppend(&text, i ? ", " : "", "[", order.pieces[i].begin, ", ", order.pieces[i].end,
                    ")");
  }
  if (order.pieces.size() > kShown) text += ", ...";
  return text;
}

std::string TileInWords(const Tile& tile) {
  return tile.m == 0 ? "-" : absl::StrCat(tile.m, " x ", tile.n, " x ", tile.k);
}

std::string CutsLine(const ExplainedRun& run) {
  const std::vector<int32_t> cuts = run.history->ChunkCuts();
  std::string text =
      absl::StrCat(run.name, ": prompt of ", WithThousands(run.history->prompt_tokens()),
                   " tokens cut into ", cuts.empty() ? "nothing" : CutsInWords(cuts));
  if (!run.history->entries().empty() && run.history->entries().front().num_computed > 0) {
    absl::StrAppend(&text, " after ", run.history->entries().front().num_computed,
                    " tokens from the prefix cache");
  }
  for (const int64_t step : run.history->preempted_at()) {
    absl::StrAppend(&text, "; preempted at step ", step);
  }
  return text + "\n";
}

// The row's place, and the columns that are summed otherwise: there an order depends on both.
void AddColumns(const RowDifference& first, std::vector<std::vector<std::string>>* rows) {
  constexpr size_t kShown = 4;
  rows->push_back({"row of the op", std::to_string(first.a.row), std::to_string(first.b.row)});
  int64_t differing = 0;
  for (const ColumnDifference& range : first.columns) {
    differing += range.columns.end - range.columns.begin;
  }
  const std::string of_all = absl::StrCat(differing, " of ", first.num_columns);
  rows->push_back({"columns that differ", of_all, of_all});
  for (size_t i = 0; i < std::min(kShown, first.columns.size()); ++i) {
    const ColumnDifference& range = first.columns[i];
    rows->push_back({absl::StrCat("[", range.columns.begin, ", ", range.columns.end, ") summed as"),
                     PiecesInWords(range.a), PiecesInWords(range.b)});
  }
  if (first.columns.size() > kShown) {
    const size_t left = first.columns.size() - kShown;
    const std::string more = absl::StrCat(left, left == 1 ? " more range" : " more ranges");
    rows->push_back({"...", more, more});
  }
}

std::string FirstDifference(const ExplainedRun& a, const ExplainedRun& b,
                            const RowDifference& first) {
  const OpShape& op = a.book->ops()[first.op];
  std::string text = absl::StrCat(
      "First difference: ", OpName(op.op), " of the request's token ", first.position,
      first.pass > 0 ? absl::StrCat(" (computed again, pass ", first.pass, ")") : "", "\n");
  std::vector<std::vector<std::string>> rows = {{"", a.name, b.name}};
  const auto add = [&](const char* what, const std::string& x, const std::string& y) {
    rows.push_back({what, x, y});
  };
  const RowSide& x = first.a;
  const RowSide& y = first.b;
  add("step", std::to_string(x.step), std::to_string(y.step));
  add("sequences in the batch", std::to_string(x.entry.num_requests),
      std::to_string(y.entry.num_requests));
  add("tokens in the batch", std::to_string(x.entry.m), std::to_string(y.entry.m));
  add("M of the op", std::to_string(x.rows), std::to_string(y.rows));
  add("tokens of this request", std::to_string(x.entry.num_scheduled),
      std::to_string(y.entry.num_scheduled));
  add("policy", x.policy, y.policy);
  add("tile", TileInWords(x.tile), TileInWords(y.tile));
  if (first.columns.empty()) {
    add("summed as", PiecesInWords(x.order), PiecesInWords(y.order));
  } else {
    AddColumns(first, &rows);
  }
  add("pieces combined", CombineName(x.order.combine), CombineName(y.order.combine));
  add(first.columns.empty() ? "class" : "class of the row", x.klass.ShortHex(), y.klass.ShortHex());
  return text + AlignedTable(rows, 3, "  ");
}

std::string RowCounts(const ExplainedRun& a, const RowComparison& rows) {
  std::vector<std::vector<std::string>> table = {{"op", "rows compared", "other order"}};
  for (size_t op = 0; op < rows.by_op.size(); ++op) {
    table.push_back({OpName(a.book->ops()[op].op), WithThousands(rows.by_op[op].compared),
                     WithThousands(rows.by_op[op].differ)});
  }
  return "Rows of this request, by op\n" + AlignedTable(table, 1, "  ");
}

std::string UnpairedLines(const ExplainedRun& a, const ExplainedRun& b, const RowComparison& rows) {
  std::string text;
  for (const UnpairedRows& span : rows.unpaired) {
    absl::StrAppend(&text, "Only ", span.in_a ? a.name : b.name, " computed tokens [", span.begin,
                    ", ", span.end, ")");
    if (span.pass > 0) absl::StrAppend(&text, " a ", span.pass + 1, "th time, after a preemption");
    text += "\n";
  }
  return text;
}

Json PiecesJson(const Order& order) {
  Json pieces = Json::array();
  for (const Range& piece : order.pieces) pieces.push_back({piece.begin, piece.end});
  return pieces;
}

Json SideJson(const RowSide& side) {
  return {{"step", side.step},
          {"sequences", side.entry.num_requests},
          {"tokens", side.entry.m},
          {"m", side.rows},
          {"request_tokens", side.entry.num_scheduled},
          {"policy", side.policy},
          {"tile", {{"m", side.tile.m}, {"n", side.tile.n}, {"k", side.tile.k}}},
          {"pieces", PiecesJson(side.order)},
          {"combine", CombineName(side.order.combine)},
          {"class", side.klass.Hex()}};
}

Json ColumnsJson(const RowDifference& first) {
  Json json = Json::array();
  for (const ColumnDifference& range : first.columns) {
    const auto side = [](const Order& order) {
      return Json{{"pieces", PiecesJson(order)}, {"combine", CombineName(order.combine)}};
    };
    json.push_back({{"columns", {range.columns.begin, range.columns.end}},
                    {"a", side(range.a)},
                    {"b", side(range.b)}});
  }
  return json;
}

Json RunSideJson(const ExplainedRun& run) {
  return {{"run", run.name},
          {"chunks", run.history->ChunkCuts()},
          {"batch", BatchSizes(*run.history)},
          {"preempted_at_steps", run.history->preempted_at()}};
}

}  // namespace

std::string ExplainText(const ExplainedRun& a, const ExplainedRun& b, const RowComparison& rows) {
  std::string text = absl::StrCat("Request ", a.history->id(), "\n");
  text += "  " + CutsLine(a) + "  " + CutsLine(b) + "\n";
  if (rows.first.has_value()) {
    text += FirstDifference(a, b, *rows.first) + "\n";
  } else {
    text += "No row that both runs computed met another summation order";
    text += rows.unpaired.empty() ? ": the request's bits are equal.\n\n" : ".\n\n";
  }
  const std::string unpaired = UnpairedLines(a, b, rows);
  if (!unpaired.empty()) text += unpaired + "\n";
  return text + RowCounts(a, rows);
}

std::string ExplainJson(const ExplainedRun& a, const ExplainedRun& b, const RowComparison& rows) {
  Json out = {{"schema_version", 1},
              {"kind", "explanation"},
              {"request_id", a.history->id()},
              {"a", RunSideJson(a)},
              {"b", RunSideJson(b)}};
  if (rows.first.has_value()) {
    const RowDifference& first = *rows.first;
    out["first_difference"] = {{"op", OpName(a.book->ops()[first.op].op)},
                               {"token", first.position},
                               {"pass", first.pass},
                               {"a", SideJson(first.a)},
                               {"b", SideJson(first.b)}};
    if (!first.columns.empty()) out["first_difference"]["columns"] = ColumnsJson(first);
  } else {
    out["first_difference"] = nullptr;
  }
  Json ops = Json::array();
  for (size_t op = 0; op < rows.by_op.size(); ++op) {
    ops.push_back({{"op", OpName(a.book->ops()[op].op)},
                   {"rows", rows.by_op[op].compared},
                   {"differ", rows.by_op[op].differ}});
  }
  out["ops"] = std::move(ops);
  Json unpaired = Json::array();
  for (const UnpairedRows& span : rows.unpaired) {
    unpaired.push_back(
        {{"only", span.in_a ? "a" : "b"}, {"pass", span.pass}, {"tokens", {span.begin, span.end}}});
  }
  out["unpaired"] = std::move(unpaired);
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace batchvar
