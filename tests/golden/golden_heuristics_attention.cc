// Every row of the golden files of attention, all-reduce and MoE heuristics.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "sim/plan/allreduce_policy.h"
#include "sim/plan/fa_splits.h"
#include "sim/plan/flashinfer_plan.h"
#include "sim/plan/moe_policy.h"
#include "sim/plan/triton_splits.h"
#include "sim/plan/vllm_attention_choice.h"
#include "tests/golden/golden_rows.h"

namespace batchvar {
namespace {

using nlohmann::json;

std::string PurePath(const std::string& file) { return ReferencePath("heuristics/pure/" + file); }

void Say(const std::string& file, int64_t rows) {
  EXPECT_GT(rows, 0);
  std::printf("%lld rows of %s checked\n", static_cast<long long>(rows), file.c_str());
}

template <typename Visit>
void CheckCsv(const std::string& file, const Visit& visit) {
  BATCHVAR_SKIP_WITHOUT(PurePath(file));
  Say(file, ForEachCsvRow(PurePath(file), visit));
}

template <typename Visit>
void CheckJson(const std::string& file, const Visit& visit) {
  BATCHVAR_SKIP_WITHOUT(PurePath(file));
  Say(file, ForEachJsonRow(PurePath(file), visit));
}

TEST(GoldenAttention, Fa2NumSplitsCore) {
  CheckCsv("fa2_num_splits_core.csv.gz", [](const CsvRow& row) {
    EXPECT_EQ(Fa2NumSplits(row.Number("batch_heads_mblocks"), row.Number("num_sms_x2"),
                           row.Number("num_n_blocks"), row.Number("max_splits")),
              row.Int("num_splits"))
        << row.line();
  });
}

TEST(GoldenAttention, Fa2Decode) {
  CheckCsv("fa2_decode.csv.gz", [](const CsvRow& row) {
    const Fa2Decode plan =
        PlanFa2Decode({row.Number("batch"), 1, row.Int("q_heads"), row.Int("kv_heads"),
                       row.Int("head_dim"), row.Number("max_seqlen_k")},
                      row.Int("sms"), 0);
    EXPECT_EQ(plan.gqa_swapped, row.Int("gqa_swapped") == 1) << row.line();
    EXPECT_EQ(plan.heuristic_block_n, row.Int("heuristic_block_n")) << row.line();
    EXPECT_EQ(plan.n_blocks, row.Number("n_blocks")) << row.line();
    EXPECT_EQ(plan.m_blocks, row.Number("m_blocks")) << row.line();
    EXPECT_EQ(plan.num_splits, row.Int("num_splits")) << row.line();
    EXPECT_EQ(plan.kernel_block_m, row.Int("kernel_block_m")) << row.line();
    EXPECT_EQ(plan.kernel_block_n, row.Int("kernel_block_n")) << row.line();
    EXPECT_EQ(plan.blocks_per_split, row.Number("blocks_per_split")) << row.line();
  });
}

TEST(GoldenAttention, Fa3NumSplitsCore) {
  CheckCsv("fa3_num_splits_core.csv.gz", [](const CsvRow& row) {
    EXPECT_EQ(
        Fa3NumSplits({row.Number("total_mblocks"), row.Int("num_sms"), row.Number("num_n_blocks"),
                      row.Number("num_m_blocks"), row.Number("size_one_kv_head"),
                      row.Int("causal_or_local") == 1, row.Number("max_splits")}),
        row.Int("num_splits"))
        << row.line();
  });
}

TEST(GoldenAttention, Fa3Tile) {
  CheckCsv("fa3_tile_sm90_2byte.csv.gz", [](const CsvRow& row) {
    const Fa3Tile tile =
        Fa3TileSm90(row.Int("head_dim"), row.Int("head_dim_v"), row.Int("causal") == 1,
                    row.Int("local") == 1, row.Int("paged_non_tma") == 1);
    EXPECT_EQ(tile.block_m, row.Int("block_m")) << row.line();
    EXPECT_EQ(tile.block_n, row.Int("block_n")) << row.line();
  });
}

TEST(GoldenAttention, Fa3Static) {
  CheckCsv("fa3_static.csv.gz", [](const CsvRow& row) {
    Fa3Shape shape;
    shape.batch = row.Number("batch");
    shape.max_q_len = row.Number("max_seqlen_q");
    shape.q_heads = row.Int("q_heads");
    shape.kv_heads = row.Int("kv_heads");
    shape.head_dim = row.Int("head_dim");
    shape.max_kv_len = row.Number("max_seqlen_k");
    shape.page_size = row.Int("paged") == 1 ? row.Int("page_size") : 0;
    shape.causal = row.Int("causal") == 1;
    shape.varlen = row.Int("varlen") == 1;
    const Fa3Static plan = PlanFa3Static(shape, row.Int("sms"), 0);
    EXPECT_EQ(plan.tile.block_m, row.Int("block_m")) << row.line();
    EXPECT_EQ(plan.tile.block_n, row.Int("block_n")) << row.line();
    EXPECT_EQ(plan.n_blocks, row.Number("n_blocks")) << row.line();
    EXPECT_EQ(plan.m_blocks, row.Number("m_blocks")) << row.line();
    EXPECT_EQ(plan.num_splits, row.Int("num_splits")) << row.line();
  });
}

// Upstream is device code with fast-math: on a GPU a quotient that is a whole number may be one
// off. The file, and this code, divide in IEEE float32.
TEST(GoldenAttention, Fa3Dynamic) {
  CheckJson("fa3_dynamic.jsonl.gz", [](const json& row) {
    const json& in = row["in"];
    const json& out = row["out"];
    Fa3Shape shape;
    shape.q_heads = in["q_heads"];
    shape.kv_heads = in["kv_heads"];
    shape.head_dim = in["head_dim"];
    shape.page_size = in["page_size"];
    shape.causal = in["causal"] == 1;
    const Fa3Dynamic plan = PlanFa3Dynamic(in["q"], in["k"], shape, in["sms"], 0);
    EXPECT_EQ(plan.upper.tile.block_m, out["block_m"]) << row;
    EXPECT_EQ(plan.upper.tile.block_n, out["block_n"]) << row;
    EXPECT_EQ(plan.upper.num_splits, out["static_splits"]) << row;
    EXPECT_EQ(plan.blocks_per_sm,
              out["blocks_per_sm"].is_null() ? 0 : out["blocks_per_sm"].get<int64_t>())
        << row;
    EXPECT_EQ(plan.num_splits, out["splits"].get<std::vector<int32_t>>()) << row;
  });
}

TEST(GoldenAttention, FlashInferDecodePlan) {
  CheckJson("flashinfer_decode_plan.jsonl.gz", [](const json& row) {
    const json& in = row["in"];
    const json& out = row["out"];
    const FlashInferDecodePlan plan = PlanFlashInferDecode(
        {in["max_grid"], in["gdy"], in["page_size"], in["cuda_graph"] == 1, in["pages"]});
    EXPECT_EQ(plan.split, out["split"] == 1) << row;
    EXPECT_EQ(plan.pages_per_chunk, out["pages_per_chunk"]) << row;
    EXPECT_EQ(plan.work, out["work"]) << row;
  });
}

TEST(GoldenAttention, FlashInferPrefillPlan) {
  CheckJson("flashinfer_prefill_plan.jsonl.gz", [](const json& row) {
    const json& in = row["in"];
    const json& out = row["out"];
    FlashInferPrefillInput input;
    input.sm_count = in["sms"];
    input.q_heads = in["q_heads"];
    input.kv_heads = in["kv_heads"];
    input.head_dim = in["head_dim"];
    input.page_size = in["page_size"];
    input.cuda_graph = in["cuda_graph"] == 1;
    input.window_left = in["window_left"];
    input.fixed_split_pages = in["fixed_split_pages"];
    input.disable_split = in["disable_split"] == 1;
    input.q_lens = in["q"].get<std::vector<int64_t>>();
    input.kv_pages = in["kv_pages"].get<std::vector<int64_t>>();
    const FlashInferPrefillPlan plan = PlanFlashInferPrefill(input);
    EXPECT_EQ(plan.Fits(), !out.contains("error")) << row;
    if (out.contains("error")) return;
    EXPECT_EQ(plan.split, out["split"] == 1) << row;
    EXPECT_EQ(plan.work, out["work"]) << row;
    EXPECT_EQ(plan.padded, out["padded"]) << row;
    EXPECT_EQ(plan.cta_tile_q, out["cta_tile_q"]) << row;
    EXPECT_EQ(plan.chunk_pages,
              out["chunk_pages"].is_null() ? 0 : out["chunk_pages"].get<int64_t>())
        << row;
  });
}

TEST(GoldenAttention, VllmTritonUnified) {
  CheckCsv("vllm_triton_unified.csv.gz", [](const CsvRow& row) {
    VllmTritonInput input;
    input.num_seqs = row.Number("num_seqs");
    input.max_q_len = row.Number("query_len");
    input.total_q = input.num_seqs * input.max_q_len;
    input.q_heads = row.Int("q_heads");
    input.kv_heads = row.Int("kv_heads");
    input.decode_cudagraph = row.Int("decode_cudagraph") == 1;
    const VllmTritonPlan plan = PlanVllmTriton(input);
    EXPECT_EQ(plan.seq_threshold_3d, row.Number("seq_threshold_3d")) << row.line();
    EXPECT_EQ(plan.block_m, row.Int("block_m")) << row.line();
    EXPECT_EQ(plan.block_q, row.Int("block_q")) << row.line();
    EXPECT_EQ(plan.three_d ? "3d" : "2d", row.Text("kernel")) << row.line();
    EXPECT_EQ(plan.segments, row.Int("segments")) << row.line();
    EXPECT_EQ(plan.tile, row.Int("tile")) << row.line();
    EXPECT_EQ(plan.grid_x, row.Number("grid_x")) << row.line();
    EXPECT_EQ(plan.grid_y, row.Number("grid_y")) << row.line();
    EXPECT_EQ(plan.grid_z, row.Number("grid_z")) << row.line();
  });
}

TEST(GoldenAttention, VllmSegments) {
  CheckCsv("vllm_segments.csv.gz", [](const CsvRow& row) {
    const VllmSegments out =
        SegmentsOf(row.Number("seq_len"), row.Int("segments"), row.Int("tile"));
    EXPECT_EQ(out.tiles_per_segment, row.Number("tiles_per_segment")) << row.line();
    EXPECT_EQ(out.active, row.Number("active_segments")) << row.line();
  });
}

// On a GPU log2 is approximate and may move a count; the file, and this code, take the exact one.
TEST(GoldenAttention, SglangTritonKvSplits) {
  CheckJson("sglang_triton_kv_splits.jsonl.gz", [](const json& row) {
    const json& in = row["in"];
    const std::vector<int64_t> kv_lens = in["seq_lens"];
    const SglangChunks chunks = PlanSglangTriton(
        {kv_lens, in["q_heads"], in["kv_heads"], in["max_splits"], in["sm_count"]});
    std::vector<int64_t> splits;
    for (const int64_t kv_len : kv_lens) splits.push_back(SglangNumSplits(chunks, kv_len));
    EXPECT_EQ(splits, row["out"].get<std::vector<int64_t>>()) << row;
  });
}

TEST(GoldenAttention, VllmPaged) {
  CheckCsv("vllm_paged_v1_v2.csv.gz", [](const CsvRow& row) {
    const PagedChoice choice = ChoosePagedKernel(row.Number("max_seq_len"), row.Number("num_seqs"),
                                                 row.Number("num_heads"));
    EXPECT_EQ(choice.v2 ? "v2" : "v1", row.Text("kernel")) << row.line();
    EXPECT_EQ(choice.partitions, row.Number("partitions")) << row.line();
  });
}

TEST(GoldenAttention, VllmCascade) {
  CheckCsv("vllm_cascade.csv.gz", [](const CsvRow& row) {
    const CascadeChoice choice = ChooseCascade(
        {row.Number("common_prefix_len"), row.Number("num_reqs"), row.Int("all_decode") == 1,
         row.Int("q_heads"), row.Int("kv_heads"), row.Int("sms")});
    EXPECT_EQ(choice.use, row.Int("use_cascade") == 1) << row.line();
  });
}

TEST(GoldenAllReduce, VllmCustomStage) {
  CheckCsv("vllm_custom_allreduce.csv.gz", [](const CsvRow& row) {
    EXPECT_EQ(VllmCustomStage(row.Int("world_size"), row.Number("bytes")), row.Int("stage"))
        << row.line();
  });
}

TEST(GoldenMoe, VllmDefault16bit) {
  CheckCsv("vllm_moe_default_16bit.csv.gz", [](const CsvRow& row) {
    const MoeTile out = VllmMoeTile(row.Number("M"), row.Number("E"));
    EXPECT_EQ(out.tile.m, row.Int("block_m")) << row.line();
    EXPECT_EQ(out.tile.n, row.Int("block_n")) << row.line();
    EXPECT_EQ(out.tile.k, row.Int("block_k")) << row.line();
    EXPECT_EQ(out.group_m, row.Int("group_m")) << row.line();
    EXPECT_EQ(out.split_k, row.Int("split_k")) << row.line();
    EXPECT_EQ(out.num_warps, row.Int("num_warps")) << row.line();
    EXPECT_EQ(out.num_stages, row.Int("num_stages")) << row.line();
  });
}

}  // namespace
}  // namespace batchvar
