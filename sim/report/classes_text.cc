#include "sim/report/classes_text.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sim/plan/order_digest.h"
#include "sim/report/number_text.h"

namespace batchvar {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kShownClasses = 12;  // of one op, in the table
constexpr size_t kShownRanges = 8;    // of one class
constexpr size_t kShownCuts = 6;      // of one order
constexpr size_t kShownMoves = 20;    // in a gate's message

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr char kBeyondLetters = '#';
constexpr char kSeveral = '*';

char LetterOf(size_t index) { return index < kLetters.size() ? kLetters[index] : kBeyondLetters; }

std::string RangeWords(const ClosedRange& range) {
  if (range.first == range.second) return std::to_string(range.first);
  return absl::StrCat(range.first, "..", range.second);
}

std::string RangesWords(const std::vector<ClosedRange>& ranges) {
  std::string text;
  for (size_t i = 0; i < std::min(ranges.size(), kShownRanges); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", RangeWords(ranges[i]));
  }
  if (ranges.size() > kShownRanges) {
    absl::StrAppend(&text, ", ... (", ranges.size() - kShownRanges, " more)");
  }
  return text;
}

std::string OpTitle(const OpPartition& op) {
  return op.kv_len > 0 ? absl::StrCat(op.op, " kv ", op.kv_len) : op.op;
}

bool IsAllReduce(const OpPartition& op) { return op.op.starts_with("allreduce"); }

// "one pass", "K in 4", "KV in 11", "8 ranks".
std::string SplitWords(const OpPartition& op, const MClass& one) {
  if (one.tile_dependent) return absl::StrCat("tile-dependent, up to ", one.split);
  if (IsAllReduce(op)) return absl::StrCat(one.split, " ranks");
  if (one.split == 1) return "one pass";
  return absl::StrCat(op.kv_len > 0 ? "KV in " : "K in ", one.split);
}

std::string Header(const ClassTable& table) {
  std::string text =
      absl::StrCat(table.model, " on ", table.device, " (", table.sm_count, " SMs), tp ", table.tp,
                   ", ", DTypeName(table.dtype), ", policies ", table.policies,
                   "\nM = ", RangesWords(ConsecutiveRanges(table.query.m)),
                   table.padded ? ", padded to a captured size for the body" : "", "\n");
  if (!table.query.kv_lens.empty()) {
    absl::StrAppend(&text, "Attention: M requests that all have this KV length, ",
                    table.query.q_len, table.query.q_len == 1 ? " token" : " tokens", " each\n");
  }
  return text;
}

std::string Size(int64_t size) { return size > 0 ? std::to_string(size) : "-"; }

void AddRows(const OpPartition& op, const ClassQuery& query, Rows* rows) {
  for (size_t i = 0; i < std::min(op.classes.size(), kShownClasses); ++i) {
    const MClass& one = op.classes[i];
    std::vector<std::string> row = {"", "", ""};
    if (i == 0) row = {OpTitle(op), Size(op.n), Size(op.k)};
    row.insert(row.end(),
               {std::string(1, LetterOf(i)), std::to_string(one.first_m()), one.klass.ShortHex(),
                SplitWords(op, one), RangesWords(JoinNeighbours(one.m, query.m))});
    rows->push_back(std::move(row));
  }
  if (op.classes.size() > kShownClasses) {
    rows->push_back({"", "", "", "...", "", "",
                     absl::StrCat(op.classes.size() - kShownClasses, " more"), "see --json"});
  }
}

// One op's letters, `per_column` of the query's M to a column.
std::string Letters(const OpPartition& op, const std::vector<int64_t>& all, size_t per_column) {
  std::vector<size_t> index(all.size(), 0);
  for (size_t i = 0; i < op.classes.size(); ++i) {
    auto next = all.begin();
    for (const int64_t m : op.classes[i].m) {
      next = std::lower_bound(next, all.end(), m);
      index[static_cast<size_t>(next - all.begin())] = i;
    }
  }
  std::string letters;
  for (size_t begin = 0; begin < all.size(); begin += per_column) {
    const size_t end = std::min(begin + per_column, all.size());
    const bool one = std::all_of(index.begin() + static_cast<std::ptrdiff_t>(begin),
                                 index.begin() + static_cast<std::ptrdiff_t>(end),
                                 [&](size_t i) { return i == index[begin]; });
    letters += one ? LetterOf(index[begin]) : kSeveral;
  }
  return letters;
}

// The M at which columns begin, as many as fit.
std::string Ruler(const std::vector<int64_t>& all, size_t per_column) {
  std::string ruler;
  for (size_t column = 0; column * per_column < all.size(); column += 8) {
    if (ruler.size() > column) continue;
    ruler.resize(column, ' ');
    absl::StrAppend(&ruler, all[column * per_column], " ");
  }
  return ruler;
}

std::string CutsWords(const Order& order, const char* what) {
  if (order.pieces.size() == 1) return "one pass";
  std::string text = absl::StrCat(what, " split in ", order.pieces.size(), " at ");
  for (size_t i = 1; i < std::min(order.pieces.size(), kShownCuts + 1); ++i) {
    absl::StrAppend(&text, i > 1 ? ", " : "", order.pieces[i].begin);
  }
  if (order.pieces.size() > kShownCuts + 1) text += ", ...";
  return text;
}

std::string OrderWords(const PlanPair& pair, const OpPlan& plan) {
  const OpKind kind = KindOf(pair.shape.op);
  // A plan whose elements all share one order has that order's digest as its class.
  const bool tile_dependent = plan.klass != ClassOfOrder(plan.order);
  if (kind == OpKind::kNorm) return absl::StrCat(plan.order.block, " threads a row");
  if (kind == OpKind::kAllReduce) {
    return absl::StrCat("sum over ", plan.order.pieces.size(), " ranks",
                        tile_dependent ? ", not alike for all elements" : "");
  }
  std::string cuts = CutsWords(plan.order, kind == OpKind::kAttention ? "KV" : "K");
  if (tile_dependent) {
    cuts = absl::StrCat("cuts of K tile-dependent, up to ", plan.gemm.split_k, " pieces");
  }
  const Tile& tile = plan.gemm.tile;
  if (tile.m == 0) return cuts;
  return absl::StrCat(tile.m, "x", tile.n, "x", tile.k, " tile, ", cuts);
}

std::string RowsWords(int64_t m, const OpPlan& plan) {
  if (plan.rows == m) return absl::StrCat("M = ", m);
  return absl::StrCat("M = ", m, " (", plan.rows, " rows)");
}

std::string FirstWords(const OpPartition& op, const MClass& one) {
  return absl::StrCat("class ", one.klass.ShortHex(), " (first M ", one.first_m(), ", ",
                      SplitWords(op, one), ")");
}

std::string BoundariesWords(const std::vector<int64_t>& boundaries) {
  if (boundaries.empty()) return "none";
  std::vector<ClosedRange> points;
  for (const int64_t m : boundaries) points.emplace_back(m, m);
  return "M = " + RangesWords(points);
}

}  // namespace

std::string ClassStrip(const ClassTable& table, int columns) {
  constexpr size_t kIndent = 2;
  constexpr size_t kGap = 2;
  size_t title = 0;
  for (const OpPartition& op : table.ops) title = std::max(title, OpTitle(op).size());
  const size_t taken = kIndent + title + kGap;
  constexpr size_t kNarrowest = 16;
  const size_t width =
      std::max(static_cast<size_t>(std::max(columns, 1)), taken + kNarrowest) - taken;
  const std::vector<int64_t>& all = table.query.m;
  // A power of two, so that columns begin where kernels' tiles do.
  size_t per_column = 1;
  while (per_column * width < all.size()) per_column *= 2;
  const std::string indent(kIndent, ' ');
  const auto line = [&](const std::string& name, const std::string& rest) {
    std::string text = indent + name + std::string(title + kGap - name.size(), ' ') + rest;
    text.erase(text.find_last_not_of(' ') + 1);
    return text.substr(0, taken + width) + "\n";
  };
  std::string text = line("M", Ruler(all, per_column));
  std::string letters;
  for (const OpPartition& op : table.ops) {
    const std::string of_op = Letters(op, all, per_column);
    letters += of_op;
    text += line(OpTitle(op), of_op);
  }
  absl::StrAppend(&text, indent, "one column: ", per_column, " M");
  if (letters.find(kSeveral) != std::string::npos) text += "; *: more than one class in it";
  if (letters.find(kBeyondLetters) != std::string::npos) {
    absl::StrAppend(&text, "; #: the ", kLetters.size() + 1, "rd class and later ones");
  }
  return text + "\n";
}

std::string ClassesText(const ClassTable& table, int columns) {
  Rows rows = {{"op", "n", "k", "class", "first M", "digest", "summed", "M"}};
  for (const OpPartition& op : table.ops) AddRows(op, table.query, &rows);
  std::string text = Header(table) + "\n" + AlignedTable(rows, rows[0].size(), "  ");
  if (table.query.m.size() > 1) absl::StrAppend(&text, "\n", ClassStrip(table, columns));
  return text;
}

std::pair<std::string, std::string> PlanWords(const PlanPair& pair) {
  std::string a = OrderWords(pair, pair.a);
  std::string b = OrderWords(pair, pair.b);
  if (a == b) {
    // Words that tell any two classes apart.
    const auto more = [](const OpPlan& plan) {
      return absl::StrCat(", combine ", CombineName(plan.order.combine), ", class ",
                          plan.klass.ShortHex());
    };
    a += more(pair.a);
    b += more(pair.b);
  }
  return {a, b};
}

std::string ComparisonText(int64_t m_a, int64_t m_b, const std::vector<PlanPair>& pairs) {
  if (pairs.empty()) {
    return absl::StrCat("M = ", m_a, " and M = ", m_b, ": every op has the same class at both\n");
  }
  std::string text;
  for (const PlanPair& pair : pairs) {
    const auto [a, b] = PlanWords(pair);
    absl::StrAppend(&text, OpName(pair.shape.op),
                    pair.kv_len > 0 ? absl::StrCat(" kv ", pair.kv_len) : "", ": ",
                    RowsWords(m_a, pair.a), ": ", a, "; ", RowsWords(m_b, pair.b), ": ", b, "\n");
  }
  return text;
}

std::string VariantWords(const OpPartition& op) {
  const MClass& second = op.classes[1];
  return absl::StrCat(OpTitle(op), " has ", op.classes.size(),
                      " classes: its sums change at M = ", second.first_m(), " (",
                      SplitWords(op, op.classes[0]), " -> ", SplitWords(op, second), ")");
}

std::string MovedText(const ClassTable& baseline, const ClassTable& now,
                      const std::vector<MovedRange>& moved) {
  std::string text;
  for (size_t i = 0; i < std::min(moved.size(), kShownMoves); ++i) {
    const MovedRange& range = moved[i];
    const OpPartition& op = now.ops[range.op];
    absl::StrAppend(&text, OpTitle(op), ": M = ", RangeWords(range.m), " moved from ",
                    FirstWords(baseline.ops[range.op], *range.was), " to ",
                    FirstWords(op, *range.now), "\n");
  }
  if (moved.size() > kShownMoves) {
    absl::StrAppend(&text, "... ", moved.size() - kShownMoves, " more ranges of M\n");
  }
  for (size_t op = 0; op < now.ops.size(); ++op) {
    const std::vector<int64_t> was = Boundaries(baseline.query, baseline.ops[op]);
    const std::vector<int64_t> is = Boundaries(now.query, now.ops[op]);
    if (was == is) continue;
    absl::StrAppend(&text, OpTitle(now.ops[op]), ": class boundaries were ", BoundariesWords(was),
                    ", now ", BoundariesWords(is), "\n");
  }
  return text;
}

}  // namespace batchvar
