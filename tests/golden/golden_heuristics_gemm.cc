// Every row and every column of the golden files of CUTLASS's stream-K, of DeepGEMM and of
// nvMatmulHeuristics through the table policy. Each row also passes through Plan(), which checks
// that the map from tiles to orders is complete.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "sim/base/time.h"
#include "sim/io/gemm_table.h"
#include "sim/plan/cutlass2_streamk.h"
#include "sim/plan/cutlass3_streamk.h"
#include "sim/plan/deepgemm_layout.h"
#include "sim/plan/gemm_policy.h"
#include "tests/golden/golden_rows.h"

namespace batchvar {
namespace {

using Values = std::map<std::string, int64_t>;  // by column name

void ExpectValues(const CsvRow& row, const Values& ours) {
  for (const auto& [column, value] : ours) {
    EXPECT_EQ(value, row.Number(column)) << column << " of row " << row.line();
  }
}

// Checks every row of a file; a file that is not there skips the test.
void CheckFile(const std::string& name, const std::function<void(const CsvRow& row)>& check) {
  const std::string path = ReferencePath("heuristics/" + name);
  BATCHVAR_SKIP_WITHOUT(path);
  const int64_t rows = ForEachCsvRow(path, check);
  EXPECT_GT(rows, 0);
  std::printf("%lld rows of %s checked\n", static_cast<long long>(rows), name.c_str());
}

GemmPolicySpec StreamKSpec(const CsvRow& row, int32_t generation) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kStreamK);
  spec.generation = generation;
  spec.tile_m = row.Int("tile_m");
  spec.tile_n = row.Int("tile_n");
  spec.tile_k = row.Int("tile_k");
  return spec;
}

DeviceSpec DeviceOf(const CsvRow& row, int32_t compute_capability) {
  DeviceSpec device;
  device.sm_count = row.Int("sms");
  device.compute_capability = compute_capability;
  return device;
}

GemmShape ShapeOf(const CsvRow& row) { return {row.Number("M"), row.Number("N"), row.Number("K")}; }

int64_t MostPieces(const GemmPlan& plan) {
  size_t most = 0;
  for (const TileGroup& group : plan.tiles) most = std::max(most, group.order.pieces.size());
  return static_cast<int64_t>(most);
}

void CheckCutlass2Row(const CsvRow& row) {
  GemmPolicySpec spec = StreamKSpec(row, 2);
  spec.splits = row.Int("split_arg");
  spec.occupancy = row.Int("occupancy");
  const GemmShape shape = ShapeOf(row);
  Cutlass2Problem problem;
  problem.m_tiles = CeilDiv(shape.m, spec.tile_m);
  problem.n_tiles = CeilDiv(shape.n, spec.tile_n);
  problem.iters_per_tile = CeilDiv(shape.k, spec.tile_k);
  problem.splits = spec.splits;
  problem.occupancy = spec.occupancy;
  problem.sm_count = row.Int("sms");
  const Cutlass2StreamK ours = DecideCutlass2StreamK(problem);
  ExpectValues(row, {{"dp_tiles", ours.dp_tiles},
                     {"sk_tiles", ours.sk_tiles},
                     {"sk_blocks", ours.sk_blocks},
                     {"sk_waves", ours.sk_waves},
                     {"regions", ours.regions},
                     {"blocks_per_region", ours.blocks_per_region},
                     {"big_blocks_per_region", ours.big_blocks_per_region},
                     {"iters_per_region", ours.iters_per_region},
                     {"iters_per_normal_block", ours.iters_per_normal_block},
                     {"reduction_blocks", ours.reduction_blocks}});
  const GemmPlan plan = MakeGemmPolicy(spec)->Plan(shape, DeviceOf(row, 80));
  EXPECT_EQ(plan.decision.split_k, MostPieces(plan)) << row.line();
}

TEST(GoldenGemm, Cutlass2StreamKRows) {
  CheckFile("pure/cutlass2_streamk.csv.gz", CheckCutlass2Row);
}

StreamKMode ModeOf(const std::string& word) {
  if (word == "heuristic") return StreamKMode::kHeuristic;
  return word == "splitk" ? StreamKMode::kSplitK : StreamKMode::kStreamK;
}

std::string ModeWord(Decomposition decomposition) {
  if (decomposition == Decomposition::kDataParallel) return "dp";
  return decomposition == Decomposition::kSplitK ? "splitk" : "streamk";
}

void CheckCutlass3Row(const CsvRow& row) {
  GemmPolicySpec spec = StreamKSpec(row, 3);
  spec.cluster_m = row.Int("cluster_m");
  spec.cluster_n = row.Int("cluster_n");
  spec.splits = row.Int("splits_arg");
  spec.stream_k_mode = ModeOf(row.Text("decomposition_arg"));
  const GemmShape shape = ShapeOf(row);
  Cutlass3Problem problem;
  problem.m_tiles = CeilDiv(shape.m, spec.tile_m);
  problem.n_tiles = CeilDiv(shape.n, spec.tile_n);
  problem.k_tiles = CeilDiv(shape.k, spec.tile_k);
  problem.cluster_m = spec.cluster_m;
  problem.cluster_n = spec.cluster_n;
  problem.sm_count = row.Int("sms");
  problem.splits = spec.splits;
  problem.mode = spec.stream_k_mode;
  const Cutlass3StreamK ours = DecideCutlass3StreamK(problem);
  EXPECT_EQ(ModeWord(ours.decomposition), row.Text("mode")) << row.line();
  ExpectValues(row, {{"blocks_m", ours.blocks_m},
                     {"blocks_n", ours.blocks_n},
                     {"k_tiles", ours.k_tiles},
                     {"splits", ours.splits},
                     {"sk_tiles", ours.sk_tiles},
                     {"sk_units", ours.sk_units},
                     {"groups", ours.groups},
                     {"big_units", ours.big_units},
                     {"units", ours.units},
                     {"k_tiles_per_unit", ours.k_tiles_per_unit},
                     {"raster_along_m", ours.raster_along_m ? 1 : 0}});
  const GemmPlan plan = MakeGemmPolicy(spec)->Plan(shape, DeviceOf(row, 90));
  EXPECT_GE(plan.decision.split_k, MostPieces(plan)) << row.line();
}

TEST(GoldenGemm, Cutlass3StreamKRows) {
  CheckFile("pure/cutlass3_streamk.csv.gz", CheckCutlass3Row);
}

void CheckDeepGemmRow(DeepGemmArch arch, const CsvRow& row) {
  const GemmShape shape = ShapeOf(row);
  const DeviceSpec device = DeviceOf(row, arch == DeepGemmArch::kSm90 ? 90 : 100);
  const DeepGemmLayout ours =
      ChooseDeepGemmLayout(arch, {shape.m, shape.n, shape.k, device.sm_count});
  ExpectValues(row, {{"swap_ab", ours.swap_ab ? 1 : 0},
                     {"block_m", ours.block_m},
                     {"block_n", ours.block_n},
                     {"block_k", ours.block_k},
                     {"cluster_m", ours.cluster_m},
                     {"cluster_n", ours.cluster_n},
                     {"stages", ours.stages},
                     {"waves", ours.waves},
                     {"last_wave_blocks", ours.last_wave_blocks}});
  const auto policy = MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kDeepGemm));
  const GemmDecision decision = policy->Decide(shape, device);
  EXPECT_EQ(decision.tile, (Tile{ours.block_m, ours.block_n, ours.block_k})) << row.line();
  EXPECT_EQ(decision.waves, ours.waves) << row.line();
  EXPECT_EQ(decision.last_wave_ctas, ours.last_wave_blocks) << row.line();
}

TEST(GoldenGemm, DeepGemmSm90Rows) {
  CheckFile("pure/deepgemm_sm90_bf16.csv.gz",
            [](const CsvRow& row) { CheckDeepGemmRow(DeepGemmArch::kSm90, row); });
}

TEST(GoldenGemm, DeepGemmSm100Rows) {
  CheckFile("pure/deepgemm_sm100_bf16.csv.gz",
            [](const CsvRow& row) { CheckDeepGemmRow(DeepGemmArch::kSm100, row); });
}

// One file of nvmmh: the policy answers every row as it stands there.
void CheckTable(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kTable);
  spec.table_path = path;
  spec.layout = name.starts_with("generic-tn") ? TableLayout::kTn : TableLayout::kNt;
  spec.slice_k = !name.starts_with("cutlass3");
  const auto table = ReadGemmTable(spec.table_path, spec.layout, spec.slice_k);
  ASSERT_TRUE(table.ok()) << table.status();
  spec.table = *table;
  const auto policy = MakeGemmPolicy(spec);
  const auto check = [&](const CsvRow& row) {
    DeviceSpec device;
    device.name = row.Text("gpu");
    device.sm_count = 132;  // the table is keyed by name; the count only makes waves
    device.compute_capability = 90;
    GemmShape shape = ShapeOf(row);
    shape.dtype = row.Text("precision") == "HSH" ? DType::kFp16 : DType::kBf16;
    ASSERT_EQ(policy->Missing(shape, device), "") << row.line();
    const GemmPlan plan = policy->Plan(shape, device);
    EXPECT_EQ(plan.decision.split_k, row.Number("split_k")) << row.line();
    EXPECT_EQ(MostPieces(plan), row.Number("split_k")) << row.line();
    EXPECT_EQ(plan.decision.tile.k, row.Number("cta_k")) << row.line();
  };
  const int64_t rows = ForEachCsvRow(path, check);
  EXPECT_EQ(static_cast<int64_t>((*table)->size()), rows);
  std::printf("%lld rows of %s answered\n", static_cast<long long>(rows), name.c_str());
}

TEST(GoldenGemm, TableAnswersEveryRow) {
  const std::string folder = ReferencePath("heuristics/nvmmh");
  BATCHVAR_SKIP_WITHOUT(folder);
  const std::vector<std::string> paths = ListFiles(folder, ".csv.gz");
  EXPECT_FALSE(paths.empty());
  for (const std::string& path : paths) CheckTable(path);
}

TEST(GoldenGemm, VllmBlockKTableLoads) {
  const std::string path = ReferencePath("heuristics/pure/vllm_batch_invariant_block_k.csv.gz");
  BATCHVAR_SKIP_WITHOUT(path);
  const auto table = ReadBlockKTable(path);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_GT((*table)->size(), 0u);
}

}  // namespace
}  // namespace batchvar
