// Every row of the textbook policy's golden file and of the table of tensor shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/load_experiment.h"
#include "sim/plan/gemm_policy.h"
#include "sim/shape/op_shape.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

using Row = std::map<std::string, std::string>;  // by column name

std::vector<std::string> SplitCommas(const std::string& line) {
  std::vector<std::string> fields;
  size_t begin = 0;
  for (size_t end = line.find(','); end != std::string::npos; end = line.find(',', begin)) {
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  fields.push_back(line.substr(begin));
  return fields;
}

// Calls visit(line, row) for every data row of a CSV file.
template <typename Visit>
int64_t ForEachRow(const std::string& path, const Visit& visit) {
  const std::vector<std::string> lines = ReadLinesOrDie(path);
  const std::vector<std::string> names = SplitCommas(lines.at(0));
  int64_t rows = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> fields = SplitCommas(lines[i]);
    EXPECT_EQ(fields.size(), names.size()) << lines[i];
    if (fields.size() != names.size()) continue;
    Row row;
    for (size_t column = 0; column < names.size(); ++column) row[names[column]] = fields[column];
    visit(lines[i], row);
    ++rows;
  }
  return rows;
}

int64_t Int(const Row& row, const std::string& column) { return std::stoll(row.at(column)); }

void CheckTextbookRow(const std::string& line, const Row& row) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kTextbook);
  spec.tile_m = static_cast<int32_t>(Int(row, "tile_m"));
  spec.tile_n = static_cast<int32_t>(Int(row, "tile_n"));
  spec.tile_k = static_cast<int32_t>(Int(row, "tile_k"));
  DeviceSpec device;
  device.sm_count = static_cast<int32_t>(Int(row, "sms"));
  device.compute_capability = 90;
  const GemmShape shape = {Int(row, "M"), Int(row, "N"), Int(row, "K")};
  const GemmPlan plan = MakeGemmPolicy(spec)->Plan(shape, device);
  const GemmDecision& decision = plan.decision;
  const std::map<std::string, int64_t> ours = {
      {"m_blocks", decision.m_blocks},
      {"n_blocks", decision.n_blocks},
      {"blocks", decision.m_blocks * decision.n_blocks},
      {"split", decision.split_k},
      {"k_tiles", decision.k_tiles},
      {"k_tiles_per_split", decision.k_tiles_per_split},
      {"k_per_split", decision.k_tiles_per_split * decision.tile.k},
      {"grid", decision.ctas},
      {"waves", decision.waves},
  };
  for (const auto& [column, value] : ours) {
    EXPECT_EQ(value, Int(row, column)) << column << " of row " << line;
  }
  EXPECT_EQ(static_cast<int64_t>(plan.tiles[0].order.pieces.size()), Int(row, "split")) << line;
}

TEST(GoldenHeuristics, TextbookRows) {
  const std::string path = ReferencePath("heuristics/pure/textbook.csv.gz");
  BATCHVAR_SKIP_WITHOUT(path);
  const int64_t rows = ForEachRow(path, CheckTextbookRow);
  EXPECT_GT(rows, 0);
  std::printf("%lld rows of textbook.csv.gz checked\n", static_cast<long long>(rows));
}

// "llama3-8b" is configs/models/llama3_8b.yaml.
std::string ConfigName(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

// The column rows_M: "T", "R", "T*16", or the heads of an attention.
std::string RowsWords(const OpShape& shape) {
  switch (shape.rows_of) {
    case RowsOf::kTokens: return "T";
    case RowsOf::kTokensPerHead: return "T*" + std::to_string(shape.rows_per_token);
    case RowsOf::kRequests: return "R";
    case RowsOf::kPerRequest: break;
  }
  return "per request: q_heads=" + std::to_string(shape.q_heads) +
         " kv_heads=" + std::to_string(shape.kv_heads) +
         " head_dim=" + std::to_string(shape.head_dim);
}

// The columns of `shape` in the file's own words.
Row RowOf(const OpShape& shape) {
  Row row;
  row["op"] = OpName(shape.op);
  row["count_per_step"] = std::to_string(shape.count);
  row["rows_M"] = RowsWords(shape);
  row["N"] = KindOf(shape.op) == OpKind::kGemm ? std::to_string(shape.n) : "";
  row["K_or_reduction_width"] = shape.op == Op::kAttention ? "kv_len" : std::to_string(shape.k);
  const bool reduces = shape.op == Op::kOProj || shape.op == Op::kDownProj;
  row["allreduce_bytes_per_token_16bit"] =
      reduces ? std::to_string(shape.allreduce_bytes_per_token) : "";
  return row;
}

// The rows of one (model, tp), in file order.
void CheckModel(const std::string& model, const std::string& tp, const std::vector<Row>& rows) {
  const absl::StatusOr<ModelSpec> spec = LoadModel(ConfigName(model));
  ASSERT_TRUE(spec.ok()) << model << ": " << spec.status();
  ASSERT_EQ(ValidateTp(*spec, std::stoi(tp)), nullptr) << model << " tp " << tp;
  std::vector<OpShape> ops = StepOps(*spec, std::stoi(tp));
  // The file has all-reduces as a column of the GEMM before them.
  std::erase_if(ops, [](const OpShape& op) { return KindOf(op.op) == OpKind::kAllReduce; });
  ASSERT_EQ(ops.size(), rows.size()) << model << " tp " << tp;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [column, value] : RowOf(ops[i])) {
      EXPECT_EQ(value, rows[i].at(column))
          << column << " of " << rows[i].at("op") << " in " << model << ", tp " << tp;
    }
  }
}

TEST(GoldenHeuristics, ShapeRows) {
  const std::string path = ReferencePath("heuristics/shapes.csv");
  BATCHVAR_SKIP_WITHOUT(path);
  std::map<std::pair<std::string, std::string>, std::vector<Row>> models;
  const int64_t rows = ForEachRow(path, [&models](const std::string&, const Row& row) {
    models[{row.at("model"), row.at("tp")}].push_back(row);
  });
  EXPECT_GT(rows, 0);
  for (const auto& [key, of_model] : models) CheckModel(key.first, key.second, of_model);
  std::printf("%lld rows of shapes.csv checked\n", static_cast<long long>(rows));
}

}  // namespace
}  // namespace batchvar
