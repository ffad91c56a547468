// Cell lines, tables and pictures of a sweep, from the loaded file to the text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/report/cell_line.h"
#include "sim/report/sweep_gate.h"
#include "sim/report/sweep_heat_map.h"
#include "sim/report/sweep_table.h"
#include "tests/io/temp_file.h"

namespace batchvar {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kBase[] =
    "base: {model: llama31_8b, device: h100_sxm, workload: {arrivals: {process: all_at_once}, "
    "prompt_len: {fixed: 64}, output_len: {fixed: 8}, num_requests: 4}}\n";

SweepRecords Ran(const std::string& lines, std::vector<std::string>* json = nullptr) {
  SweepRecords records;
  const auto sweep = LoadSweepText(kBase + lines, "s.yaml", "", {});
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  const auto experiments = LoadCells(*sweep);
  EXPECT_TRUE(experiments.ok()) << experiments.status();
  const auto gate = LoadGate(*sweep, *experiments);
  EXPECT_TRUE(gate.ok()) << gate.status();
  CellContext context;
  context.sweep = &*sweep;
  context.experiments = &*experiments;
  context.gate = gate->has_value() ? &**gate : nullptr;
  context.exit_code = [](const absl::Status&) { return 2; };
  records.command = sweep->command;
  records.request = sweep->request;
  records.keys = sweep->keys;
  for (size_t i = 0; i < sweep->cells.size(); ++i) {
    const std::string line = CellLine(context, i);
    if (json != nullptr) json->push_back(line);
    auto record = ReadCellLine(sweep->command, line);
    EXPECT_TRUE(record.ok()) << record.status() << line;
    records.cells.push_back(*std::move(record));
  }
  return records;
}

std::string GateError(const std::string& lines) {
  const auto sweep = LoadSweepText(kBase + lines, "s.yaml", "", {});
  const auto experiments = LoadCells(*sweep);
  const auto gate = LoadGate(*sweep, *experiments);
  return gate.ok() ? "ok" : std::string(gate.status().message());
}

// Twenty short prompts that decode, and a long one whose chunks join them until the pool is full.
std::string DyingServerTrace() {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    lines += "{\"request_id\":\"short" + std::to_string(i) +
             "\",\"arrival_ns\":0,\"prompt_tokens\":16,\"output_tokens\":60}\n";
  }
  return lines +
         "{\"request_id\":\"long\",\"arrival_ns\":0,\"prompt_tokens\":800,"
         "\"output_tokens\":10}\n";
}

TEST(CellLine, PlanHasEveryOpAtOneM) {
  std::vector<std::string> json;
  const SweepRecords records =
      Ran("command: plan\nsweep: {parameters: {device.sm_count: [132], m: [16, 64]}}\n", &json);
  EXPECT_THAT(json[0], HasSubstr("\"cell\":0,\"set\":{\"device.sm_count\":132,\"m\":16}"));
  EXPECT_EQ(*records.cells[0].Number("o_proj.split_k"), 4);
  EXPECT_EQ(*records.cells[0].Number("o_proj.ctas"), 128);
  EXPECT_EQ(*records.cells[1].Number("o_proj.split_k"), 1);
  EXPECT_NE(records.cells[0].Value("lm_head.class"), nullptr);
  EXPECT_EQ(records.cells[0].Value("attention.class"), nullptr);
}

TEST(CellLine, ClassesAreClosedRangesOfM) {
  std::vector<std::string> json;
  const SweepRecords records =
      Ran("command: classes\nsweep: {parameters: {device.sm_count: 132, m: 1..256}}\n", &json);
  EXPECT_THAT(json[0], HasSubstr("\"m\":[[1,16]],\"split_k\":4}"));
  EXPECT_THAT(json[0], HasSubstr("\"m\":[[17,32]],\"split_k\":2}"));
  EXPECT_EQ(*records.cells[0].Number("classes.o_proj"), 3);
}

TEST(CellLine, KvLengthsBringAttention) {
  const SweepRecords plans =
      Ran("command: plan\nsweep: {parameters: {m: [1, 2, 16], kv_len: 4096}}\n"
          "gate: attention.num_splits < 17\n");
  EXPECT_EQ(*plans.cells[0].Number("attention.num_splits"), 16);
  EXPECT_EQ(*plans.cells[1].Number("attention.num_splits"), 8);
  EXPECT_EQ(*plans.cells[2].Number("attention.num_splits"), 1);
  EXPECT_TRUE(plans.cells[2].gate.value());
  const std::string text = SweepText(plans);
  EXPECT_THAT(text, HasSubstr("attention"));
  EXPECT_THAT(text, HasSubstr("16 ("));
  EXPECT_THAT(SweepCsv(plans), HasSubstr("attention.num_splits,attention.class"));

  std::vector<std::string> json;
  const SweepRecords classes =
      Ran("command: classes\nsweep: {parameters: {m: 1..16, kv_len: [[128, 4096]]}}\n", &json);
  EXPECT_THAT(json[0], HasSubstr("\"kv_len\":4096,\"q_len\":1"));
  EXPECT_THAT(json[0], HasSubstr("\"batch\":[[1,1]],\"num_splits\":16"));
  EXPECT_GT(*classes.cells[0].Number("classes.attention"), 4);  // 128 positions have one class
}

TEST(CellLine, SimulateGivesTheSummary) {
  const SweepRecords records =
      Ran("command: simulate\nsweep: {parameters: {seed: 1}}\ngate: requests.finished == 4\n");
  EXPECT_EQ(*records.cells[0].Number("requests.finished"), 4);
  EXPECT_TRUE(records.cells[0].Number("other_class_share.o_proj").has_value());
  EXPECT_EQ(records.cells[0].gate, true);
}

TEST(CellLine, SimulateTellsTheLifeOfARequest) {
  const SweepRecords records =
      Ran("command: simulate\nrequest: r0\nsweep:\n  type: scenarios\n  scenarios:\n"
          "    - {label: vllm, scheduler: {max_num_batched_tokens: 48, max_num_seqs: 4}}\n"
          "    - {label: sglang, scheduler: {policy: sglang, chunked_prefill_size: 48}}\n");
  ASSERT_EQ(records.cells.size(), 2U);
  for (const CellRecord& cell : records.cells) {
    ASSERT_EQ(cell.error, "");
    EXPECT_EQ(std::get<std::string>(*cell.Value("request.chunks")), "48 + 16");
  }
  EXPECT_THAT(SweepText(records), HasSubstr("chunks of r0"));
  EXPECT_THAT(SweepText(records), HasSubstr("48 + 16"));
  EXPECT_THAT(SweepCsv(records), HasSubstr(",request.chunks,"));
}

// The real server dies where a continued chunk no longer fits; the other cell is not lost.
TEST(CellLine, ADeadServerIsAnErrorOfItsCell) {
  const std::string tight =
      "{policy: sglang, chunked_prefill_size: 64, max_total_tokens: 1440, "
      "enable_mixed_chunk: true, schedule_conservativeness: 0.03, max_running_requests: 64, "
      "disable_overlap_schedule: true, output_ends_by: length}";
  const TempFile trace(DyingServerTrace(), ".jsonl");
  const SweepRecords records =
      Ran("command: simulate\nsweep:\n  type: scenarios\n  scenarios:\n    - {scheduler: " + tight +
          ", workload: {trace: {path: " + trace.path() + ", format: jsonl}}}\n    - {seed: 1}\n");
  EXPECT_THAT(records.cells[0].error, HasSubstr("the simulated server failed at step "));
  EXPECT_THAT(records.cells[0].error, HasSubstr("KV allocation failed after admission"));
  EXPECT_EQ(records.cells[1].error, "");
}

TEST(CellLine, ReadsBackOnlyItsOwn) {
  for (const char* line :
       {"", "{", "3", "{\"kind\":\"cell\"}", "{\"cell\":0,\"set\":{},\"result\":{\"ops\":[{}]}}"}) {
    EXPECT_FALSE(ReadCellLine(SweepCommand::kClasses, line).ok()) << line;
  }
}

TEST(SweepGate, KnowsTheNamesBeforeAnythingRuns) {
  const std::string plan = "command: plan\nsweep: {parameters: {m: [1, 2]}}\n";
  EXPECT_EQ(GateError(plan + "gate: o_proj.split_k <= 4 and m < 3\n"), "ok");
  EXPECT_THAT(GateError(plan + "gate: o_proj.splitk <= 4\n"),
              HasSubstr("did you mean 'o_proj.split_k'?"));
  EXPECT_THAT(GateError(plan + "gate: m = 4\n"), HasSubstr("s.yaml:4:7: gate: character 3"));
  const std::string simulate = "command: simulate\nsweep: {parameters: {seed: [1]}}\n";
  for (const char* name : {"latency_ms.tpot.p99", "classes.o_proj", "throughput.requests_per_s",
                           "steps.m.max", "other_class_share.qkv_proj"}) {
    EXPECT_EQ(GateError(simulate + "gate: " + name + " >= 0\n"), "ok");
  }
}

TEST(SweepTable, ShowsKeysResultsAndErrors) {
  const SweepRecords records =
      Ran("command: plan\nsweep:\n  parameters: {tp: [1, 3], m: [16]}\n"
          "  include: [{m: 64, label: alone}]\ngate: m == 64\n");
  const std::string text = SweepText(records);
  EXPECT_THAT(text, HasSubstr("4 (285be15a)"));
  EXPECT_THAT(text, HasSubstr("fails"));
  EXPECT_THAT(text, HasSubstr("holds"));
  EXPECT_THAT(text, HasSubstr("cell 1: s.yaml:4:24: tp: llama31_8b cannot be cut into 3 ranks"));
  const std::string csv = SweepCsv(records);
  EXPECT_THAT(csv, HasSubstr("cell,label,tp,m,rms_norm_in.split_k,"));
  EXPECT_THAT(csv, HasSubstr("\n2,alone,,64,"));
  EXPECT_THAT(csv, Not(HasSubstr("rms_norm_in.ctas")));
}

TEST(SweepHeatMap, NeedsTwoNumbers) {
  const char* plan = "command: plan\nsweep: {parameters: ";
  EXPECT_FALSE(SweepHeatMap(Ran(plan + std::string("{m: [1, 64]}}\n")), "s").has_value());
  EXPECT_FALSE(SweepHeatMap(Ran(plan + std::string("{device: [l20, l40s], m: [1, 64]}}\n")), "s")
                   .has_value());
  const auto map =
      SweepHeatMap(Ran(plan + std::string("{device.sm_count: [66, 132], m: [1, 64]}}\n")), "s");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->x_ticks, (std::vector<std::string>{"1", "64"}));
  EXPECT_EQ(map->y_ticks, (std::vector<std::string>{"132", "66"}));
  EXPECT_EQ(map->panels.size(), 5U);
  EXPECT_EQ(map->panels[1].title, "o_proj");
  EXPECT_EQ(map->panels[1].cells.size(), 4U);
}

TEST(SweepHeatMap, OtherKeysMakePanelsOfTheirOwn) {
  const auto map = SweepHeatMap(
      Ran("command: classes\nsweep: {parameters: {policies: [textbook, batch_invariant], "
          "device.sm_count: [66, 132], tp: [1, 2]}}\n"),
      "s");
  ASSERT_TRUE(map.has_value());
  EXPECT_THAT(map->panels.front().title, HasSubstr("(policies textbook)"));
  EXPECT_THAT(map->panels.back().title, HasSubstr("(policies batch_invariant)"));
}

TEST(HeatMap, ColoursAndEscapes) {
  EXPECT_EQ(ScaleColour(0), "#00224e");
  EXPECT_EQ(ScaleColour(1), "#fee838");
  EXPECT_EQ(ScaleColour(7), "#fee838");
  EXPECT_EQ(CategoryColour(99), "#bbbbbb");
  HeatMap map;
  map.title = "a<b & \"c\"";
  EXPECT_THAT(HeatMapSvg(map), HasSubstr("a&lt;b &amp; &quot;c&quot;"));
}

}  // namespace
}  // namespace batchvar
