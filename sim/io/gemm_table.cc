#include "sim/io/gemm_table.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/csv_table.h"
#include "sim/io/nv_heuristics.h"
#include "sim/io/text_source.h"

namespace batchvar {
namespace {

// One file: the place for messages, the columns, the current row. After an error its methods do
// nothing, so a reader checks status() once per row.
class TableRows {
 public:
  explicit TableRows(TextSource source) : source_(std::move(source)) {
    place_.file = source_.path();
    std::string_view line;
    if (source_.NextLine(&line)) {
      place_.line = source_.line_number();
      status_ = table_.ReadHeader(place_, line);
    } else {
      status_ = place_.Error("", "is empty, a table has a header line");
    }
  }

  bool Has(std::string_view column) const { return table_.Find(column) >= 0; }
  const std::vector<std::string>& columns() const { return table_.columns(); }

  // Column numbers in the order of `names`.
  std::vector<int> Require(const std::vector<const char*>& names) {
    std::vector<int> numbers(names.size(), 0);
    for (size_t i = 0; i < names.size() && status_.ok(); ++i) {
      status_ = table_.Require(place_, names[i], &numbers[i]);
    }
    return numbers;
  }

  bool Next() {
    std::string_view line;
    if (!status_.ok() || !source_.NextLine(&line)) return false;
    place_.line = source_.line_number();
    status_ = table_.ReadRow(place_, line);
    return status_.ok();
  }

  std::string_view Text(int column) const { return table_.field(column); }

  int32_t Integer(int column, int32_t at_least) {
    int32_t value = 0;
    const std::string& name = columns()[static_cast<size_t>(column)];
    if (status_.ok()) status_ = ReadTokens(place_, name, Text(column), &value);
    if (status_.ok() && value < at_least) {
      Fail(column, Quoted(Text(column)) + " is below " + std::to_string(at_least));
    }
    return value;
  }

  void Fail(int column, const std::string& message) {
    if (status_.ok()) status_ = place_.Error(columns()[static_cast<size_t>(column)], message);
  }
  void FailRow(const std::string& message) {
    if (status_.ok()) status_ = place_.Error("", message);
  }
  const absl::Status& status() const { return status_; }
  const TextSource& source() const { return source_; }

 private:
  TextSource source_;
  RowPlace place_;
  CsvTable table_;
  absl::Status status_;
};

// "stages=5 cta_order=0": the columns that are not in `used`.
std::string ShownColumns(const TableRows& rows, const std::vector<int>& used) {
  std::vector<bool> hidden(rows.columns().size(), false);
  for (const int column : used) hidden[static_cast<size_t>(column)] = true;
  std::string shown;
  for (size_t column = 0; column < hidden.size(); ++column) {
    const std::string_view text = rows.Text(static_cast<int>(column));
    if (hidden[column] || text.empty()) continue;
    if (!shown.empty()) shown += ' ';
    shown.append(rows.columns()[column]).append("=").append(text);
  }
  return shown;
}

// A table without a version of its own is named by its bytes.
PolicySource SourceOf(const TextSource& source) {
  constexpr size_t kShownDigits = 12;
  return {std::filesystem::path(source.path()).filename().string(),
          "sha256 " + source.sha256().substr(0, kShownDigits), ""};
}

void AddRow(std::string_view gpu, const GemmShape& shape, GemmTableRow row, TableRows* rows,
            GemmTable* table) {
  if (rows->status().ok() && !table->Add(gpu, shape, std::move(row))) {
    rows->FailRow("a second row for " + GemmKeyWords(gpu, shape));
  }
}

// nvMatmulHeuristics: the types of A and B, of the sum, of C and D.
DType PrecisionOf(int column, TableRows* rows) {
  const std::string_view text = rows->Text(column);
  if (text == "TST") return DType::kBf16;
  if (text != "HSH") rows->Fail(column, Quoted(text) + " is neither HSH (fp16) nor TST (bf16)");
  return DType::kFp16;
}

void ReadHeuristics(TableLayout layout, bool slice_k, TableRows* rows, GemmTable* table) {
  enum { kGpu, kPrecision, kM, kN, kK, kCtaM, kCtaN, kCtaK, kWarpK, kInstrK, kSplit };
  const std::vector<int> at = rows->Require({"gpu", "precision", "M", "N", "K", "cta_m", "cta_n",
                                             "cta_k", "warp_k", "instr_k", "split_k"});
  while (rows->Next()) {
    const GemmShape shape = {rows->Integer(at[kM], 1), rows->Integer(at[kN], 1),
                             rows->Integer(at[kK], 1), PrecisionOf(at[kPrecision], rows)};
    GemmTableRow row;
    row.tile = {rows->Integer(at[kCtaM], 1), rows->Integer(at[kCtaN], 1),
                rows->Integer(at[kCtaK], 1)};
    if (layout == TableLayout::kTn) std::swap(row.tile.m, row.tile.n);
    const int32_t warp_k = rows->Integer(at[kWarpK], 1);
    row.instr_k = rows->Integer(at[kInstrK], 1);
    row.split_k = rows->Integer(at[kSplit], 1);
    if (slice_k && rows->status().ok()) {
      if (row.tile.k % warp_k != 0) rows->Fail(at[kWarpK], "does not divide cta_k");
      row.slice_k = row.tile.k / warp_k;
    }
    row.shown = ShownColumns(*rows, at);
    AddRow(rows->Text(at[kGpu]), shape, std::move(row), rows, table);
  }
}

DType DTypeOf(int column, TableRows* rows) {
  const std::string_view text = rows->Text(column);
  if (text == "bf16") return DType::kBf16;
  if (text != "fp16") rows->Fail(column, Quoted(text) + " is neither bf16 nor fp16");
  return DType::kFp16;
}

// cublasLtReductionScheme_t of cublasLt.h.
void SetReduction(int column, DType output, TableRows* rows, GemmTableRow* row) {
  constexpr int32_t kNone = 0, kInPlace = 1, kComputeType = 2, kOutputType = 4;
  switch (rows->Integer(column, 0)) {
    case kNone:
      if (row->split_k > 1) rows->Fail(column, "is 0, no reduction, though split_k is above 1");
      return;
    case kInPlace: row->combine = Combine::kSerial16bit; return;
    case kComputeType: return;
    case kOutputType: row->partial = output; return;
    default: rows->Fail(column, Quoted(rows->Text(column)) + " is none of 0, 1, 2 and 4");
  }
}

void ReadCapture(TableRows* rows, GemmTable* table) {
  enum { kLibrary, kVersion, kGpu, kSms, kM, kN, kK, kDType, kSplit, kReduction };
  const std::vector<int> at = rows->Require({"library", "version", "gpu", "sm_count", "m", "n", "k",
                                             "dtype", "split_k", "reduction_scheme"});
  while (rows->Next()) {
    const GemmShape shape = {rows->Integer(at[kM], 1), rows->Integer(at[kN], 1),
                             rows->Integer(at[kK], 1), DTypeOf(at[kDType], rows)};
    GemmTableRow row;
    row.split_k = std::max(1, rows->Integer(at[kSplit], 0));  // the library writes 0 for none
    row.sm_count = rows->Integer(at[kSms], 1);
    SetReduction(at[kReduction], shape.dtype, rows, &row);
    row.shown = ShownColumns(*rows, at);
    if (table->size() == 0) {
      *table = GemmTable(
          {std::string(rows->Text(at[kLibrary])), std::string(rows->Text(at[kVersion])), ""});
    }
    AddRow(rows->Text(at[kGpu]), shape, std::move(row), rows, table);
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GemmTable>> ReadGemmTable(const std::string& path,
                                                               TableLayout layout, bool slice_k) {
  absl::StatusOr<TextSource> source = TextSource::Open(path);
  if (!source.ok()) return source.status();
  auto table = std::make_shared<GemmTable>(SourceOf(*source));
  TableRows rows(*std::move(source));
  if (rows.Has("reduction_scheme")) {
    ReadCapture(&rows, table.get());
  } else {
    ReadHeuristics(layout, slice_k, &rows, table.get());
  }
  if (rows.status().ok() && table->size() == 0) rows.FailRow("a header without rows");
  if (!rows.status().ok()) return rows.status();
  return table;
}

absl::StatusOr<std::shared_ptr<const BlockKTable>> ReadBlockKTable(const std::string& path) {
  absl::StatusOr<TextSource> source = TextSource::Open(path);
  if (!source.ok()) return source.status();
  auto table = std::make_shared<BlockKTable>();
  TableRows rows(*std::move(source));
  enum { kArch, kN, kK, kBlockK };
  const std::vector<int> at = rows.Require({"arch", "N", "K", "block_k"});
  while (rows.Next()) {
    const int32_t n = rows.Integer(at[kN], 1);
    const int32_t k = rows.Integer(at[kK], 1);
    const int32_t block_k = rows.Integer(at[kBlockK], 1);
    if (rows.status().ok() && !table->Add(rows.Text(at[kArch]), n, k, block_k)) {
      rows.FailRow("a second row for this arch, N and K");
    }
  }
  if (!rows.status().ok()) return rows.status();
  return table;
}

absl::Status LoadGemmTables(GemmPolicySpec* spec) {
  if (spec->then != nullptr) {
    auto then = std::make_shared<GemmPolicySpec>(*spec->then);
    if (absl::Status status = LoadGemmTables(then.get()); !status.ok()) return status;
    spec->then = std::move(then);
  }
  if (spec->kind == GemmPolicyKind::kTable) {
    auto table = ReadGemmTable(spec->table_path, spec->layout, spec->slice_k);
    if (!table.ok()) return table.status();
    spec->table = *std::move(table);
  }
  if (spec->kind == GemmPolicyKind::kNvHeuristics) {
    auto library = OpenNvHeuristics(*spec);
    if (!library.ok()) return library.status();
    spec->table = *std::move(library);
  }
  const bool vllm =
      spec->kind == GemmPolicyKind::kBatchInvariant && spec->variant == InvariantVariant::kVllm;
  if (vllm && !spec->table_path.empty()) {
    auto table = ReadBlockKTable(spec->table_path);
    if (!table.ok()) return table.status();
    spec->block_k_table = *std::move(table);
  }
  return absl::OkStatus();
}

}  // namespace batchvar
