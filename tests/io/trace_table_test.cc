// Statistics of published traces, against a table that was computed by other code. A number is
// compared as it is printed there. A trace that is absent, or other than the table's, is skipped.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/digest.h"
#include "sim/io/trace_reader.h"
#include "sim/io/trace_statistics.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

struct Lengths {
  int min, p50, p90, p99, max;
  const char* mean;
};

struct TableRow {
  const char* file;
  const char* sha256;
  const char* format;
  int rows;
  const char *span_s, *rate, *cv;
  const char *gap_min, *gap_p50, *gap_p99, *gap_max;
  int equal_pairs, peak_1s, peak_60s;
  const char *dispersion_1s, *dispersion_60s;
  Lengths prompt, output;
  int peak_concurrency;
  const char* mean_concurrency;
  int peak_tokens;
  const char *prompt_rate, *output_rate;
  int block_refs, distinct_blocks;
  const char *block_hits, *token_hits;
};

// clang-format off
// The table prints the middle gap of the last trace, 0.068775 s, as 0.06877: it rounded a double
// just below it.
const TableRow kTable[] = {
    {"azure2023/AzureLLMInferenceTrace_code.csv",
     "54e9a6d2a4bd06ba1e060304b900abbc74cbea53de96506e60fe5bb4f2277fb6", "azure",
     8819, "3435.948", "2.566", "13.151", "6e-06", "0.06378", "2.205", "217.2", 0, 67, 632,
     "13.19", "163.96", {3, 1469, 5194, 7436, 7437, "2047.8"}, {6, 13, 55, 252, 1899,
     "27.9"}, 57, "2.1", 121725, "5256.2", "71.6", 0, 0, "nan", "nan"},
    {"azure2023/AzureLLMInferenceTrace_conv.csv",
     "2f1e5b666d4e3055fdbba98598ce2ec307767b9064e03e2fa46676dbcc7d0bf8", "azure",
     19366, "3501.722", "5.53", "1.094", "2e-06", "0.1184", "0.8909", "4.315", 0, 16, 507,
     "1.39", "16.13", {2, 1020, 2735, 4142, 14050, "1154.7"}, {7, 129, 424, 601, 1000,
     "211.1"}, 63, "35.0", 97193, "6386.0", "1167.6", 0, 0, "nan", "nan"},
    {"vidur/splitwise_code.csv",
     "f266b907d109d471c61283ab69771c17ad79a18b33ff6e96aa546346f52767a6", "vidur",
     8819, "3435.948", "2.566", "13.151", "6e-06", "0.06378", "2.205", "217.2", 0, 67, 632,
     "13.19", "163.96", {3, 1469, 5194, 7436, 7437, "2047.8"}, {6, 13, 55, 252, 1899,
     "27.9"}, 57, "2.1", 121725, "5256.2", "71.6", 0, 0, "nan", "nan"},
    {"vidur/splitwise_conv.csv",
     "439e4138b7e384f316de614c071f7162be05b8af0cef866f82faacd1b0472249", "vidur",
     19366, "3501.722", "5.53", "1.094", "2e-06", "0.1184", "0.8909", "4.315", 0, 16, 507,
     "1.39", "16.13", {2, 1020, 2735, 4142, 14050, "1154.7"}, {7, 129, 424, 601, 1000,
     "211.1"}, 63, "35.0", 97193, "6386.0", "1167.6", 0, 0, "nan", "nan"},
    {"mooncake/conversation_trace.jsonl",
     "b8cbb061a85206d729d91cdc2981f43c9e0d99209dce588d3af5f7934408b9df", "mooncake",
     12031, "3536.999", "3.401", "3.034", "0", "0", "3.001", "3.003", 10851, 28, 247, "7.90",
     "2.89", {891, 6909, 27367, 85401, 126195, "12035.1"}, {1, 350, 597, 1120, 2000,
     "342.6"}, 73, "34.9", 1013221, "40936.9", "1165.4", 288500, 182790, "0.3664", "0.3736"},
    {"mooncake/synthetic_trace.jsonl",
     "bd070915a98fc0ed264d7cfef2ce746002eb3076a695ec31ba2674c0111ec131", "mooncake",
     3993, "1022.025", "3.906", "1.011", "0", "0.175", "1.215", "2.119", 11, 13, 273, "1.09",
     "1.19", {13, 11587, 38615, 66458, 191378, "15325.5"}, {1, 69, 389, 769, 893, "149.1"},
     36, "17.5", 424082, "59875.9", "582.6", 121877, 43924, "0.6396", "0.6512"},
    {"mooncake/mooncake_trace_1000.jsonl",
     "e2bec9bccd21978f69a2ace7886ee2e5192a64839f7aa2c4dd5d8766fd392510", "mooncake",
     1000, "177.098", "5.641", "4.028", "0", "0", "3.056", "3.057", 941, 26, 357, "12.48",
     "nan", {891, 6557, 19771, 77792, 121290, "9792.0"}, {1, 34, 534, 831, 2000, "199.1"},
     60, "31.9", 1027374, "55291.6", "1124.1", 19686, 12207, "0.3799", "0.3907"},
    {"burstgpt/burstgpt_1_head400.csv",
     "7865fda5dac50938a84dfccb06c405e2f5202969ecfbd671c8399de00f4335f0", "burstgpt",
     400, "37269.000", "0.01071", "4.561", "0", "22", "1293", "6651", 4, 2, 8, "1.00",
     "2.78", {0, 308, 1416, 1958, 2126, "520.5"}, {0, 229, 570, 1421, 2019, "276.5"}, 4,
     "0.1", 6579, "5.6", "3.0", 0, 0, "nan", "nan"},
    {"burstgpt/burstgpt_3_head57.csv",
     "bb7661ff37ec566e274d0d53948e30d4ff089ee300220d72906827fdee5dfe6f", "burstgpt",
     57, "14736.000", "0.0038", "1.593", "2", "69", "1882", "1882", 0, 1, 3, "1.00", "1.20",
     {12, 252, 1609, 5866, 5866, "712.0"}, {6, 175, 645, 879, 879, "272.0"}, 2, "0.0", 6607,
     "2.8", "1.1", 0, 0, "nan", "nan"},
    {"vllm_logs/sharegpt-llama-3.1-8b-300-sps10.lengths.jsonl",
     "901fbee9bab365b7c49111138ca4874ac08a14d8b3e98d3e4e01ae3340bab14d", "llmservingsim",
     300, "29.137", "10.26", "0.942", "0.0005074", "0.07176", "0.4244", "0.4611", 0, 16, 300,
     "0.79", "nan", {262, 730, 1458, 2764, 3998, "857.5"}, {512, 631, 770, 784, 1021,
     "652.5"}, 220, "138.5", 336256, "8828.7", "6718.4", 0, 0, "nan", "nan"},
    {"vllm_logs/sharegpt-qwen3-32b-300-sps10.lengths.jsonl",
     "071dcbe0f73431789eca96a9e70df289b8ecc491de93a0fd7d0288acb7193039", "llmservingsim",
     300, "29.137", "10.26", "0.942", "0.0005074", "0.07176", "0.4244", "0.4611", 0, 16, 300,
     "0.79", "nan", {257, 728, 1445, 2767, 4570, "862.3"}, {512, 635, 785, 1000, 1224,
     "665.0"}, 220, "139.4", 341010, "8878.5", "6846.5", 0, 0, "nan", "nan"},
    {"examples/llmservingsim_workload_me2_01_mixed.jsonl",
     "b3e9c79a96c9627feed0b6a10bc2207cbec7d6277b2e51826a0e069b46151cd5", "llmservingsim",
     608, "60.898", "9.967", "0.992", "0.001029", "0.06878", "0.4276", "0.6584", 0, 20, 601,
     "0.87", "nan", {687, 2909, 24447, 28451, 31383, "9217.8"}, {234, 872, 11815, 15040,
     15890, "3021.4"}, 318, "211.8", 4709819, "92028.6", "30165.0", 0, 0, "nan", "nan"},
};
// clang-format on

std::string Print(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text[0] == '-' && text[1] == 'n' ? "nan" : text;
}

std::string Seconds(const char* form, TimeNs time_ns) {
  return Print(form, static_cast<double>(time_ns) / kNsPerSecond);
}

void ExpectLengths(const Lengths& expected, const Quantiles& actual) {
  EXPECT_EQ(actual.min, expected.min);
  EXPECT_EQ(actual.p50, expected.p50);
  EXPECT_EQ(actual.p90, expected.p90);
  EXPECT_EQ(actual.p99, expected.p99);
  EXPECT_EQ(actual.max, expected.max);
  EXPECT_EQ(Print("%.1f", actual.mean), expected.mean);
}

// The table counts failed rows, which ReadTrace drops. Only BurstGPT part 1 has some, and its file
// needs no more than this to be read whole.
Trace WithFailedRows(const std::string& path) {
  Trace trace;
  std::vector<std::string> lines = ReadLinesOrDie(path);
  for (size_t i = 1; i < lines.size(); ++i) {
    std::istringstream fields(lines[i]);
    std::string time, model, prompt, output;
    std::getline(fields, time, ',');
    std::getline(fields, model, ',');
    std::getline(fields, prompt, ',');
    std::getline(fields, output, ',');
    Request& request = trace.requests.emplace_back();
    request.arrival_ns = std::stoll(time) * kNsPerSecond;
    request.prompt_tokens = std::stoi(prompt);
    request.output_tokens = std::stoi(output);
  }
  const TimeNs origin_ns = trace.requests.front().arrival_ns;
  for (Request& request : trace.requests) request.arrival_ns -= origin_ns;
  return trace;
}

class TraceTable : public testing::TestWithParam<TableRow> {};

TEST_P(TraceTable, MatchesToThePrintedDigits) {
  const TableRow& row = GetParam();
  const std::string path = TracesPath(row.file);
  BATCHVAR_SKIP_WITHOUT(path);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (Sha256Hex(bytes) != row.sha256) GTEST_SKIP() << "another file than the table's: " << row.file;

  TraceOptions options;
  options.format = row.format;
  absl::StatusOr<Trace> trace = ReadTrace(path, options);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  if (!trace->counts.dropped.empty()) trace = WithFailedRows(path);
  const TraceStatistics s = StatisticsOf(*trace);
  EXPECT_EQ(s.requests, row.rows);
  EXPECT_EQ(trace->counts.descents, 0);
  EXPECT_EQ(Seconds("%.3f", s.span_ns), row.span_s);
  EXPECT_EQ(Print("%.4g", s.rate_per_s), row.rate);
  EXPECT_EQ(Print("%.3f", s.gap_cv), row.cv);
  EXPECT_EQ(Seconds("%.4g", s.gap_ns.min), row.gap_min);
  EXPECT_EQ(Seconds("%.4g", s.gap_ns.p50), row.gap_p50);
  EXPECT_EQ(Seconds("%.4g", s.gap_ns.p99), row.gap_p99);
  EXPECT_EQ(Seconds("%.4g", s.gap_ns.max), row.gap_max);
  EXPECT_EQ(s.equal_time_pairs, row.equal_pairs);
  EXPECT_EQ(s.per_second.peak, row.peak_1s);
  EXPECT_EQ(s.per_minute.peak, row.peak_60s);
  EXPECT_EQ(Print("%.2f", s.per_second.dispersion), row.dispersion_1s);
  EXPECT_EQ(Print("%.2f", s.per_minute.dispersion), row.dispersion_60s);
  ExpectLengths(row.prompt, s.prompt_tokens);
  ExpectLengths(row.output, s.output_tokens);
  EXPECT_EQ(s.peak_concurrency, row.peak_concurrency);
  EXPECT_EQ(Print("%.1f", s.mean_concurrency), row.mean_concurrency);
  EXPECT_EQ(s.peak_resident_tokens, row.peak_tokens);
  EXPECT_EQ(Print("%.1f", s.prompt_tokens_per_s), row.prompt_rate);
  EXPECT_EQ(Print("%.1f", s.output_tokens_per_s), row.output_rate);
  EXPECT_EQ(trace->counts.block_refs, row.block_refs);
  EXPECT_EQ(trace->counts.distinct_blocks, row.distinct_blocks);
  EXPECT_EQ(Print("%.4f", s.block_hit_ratio), row.block_hits);
  EXPECT_EQ(Print("%.4f", s.token_hit_ratio), row.token_hits);
}

INSTANTIATE_TEST_SUITE_P(Published, TraceTable, testing::ValuesIn(kTable), [](const auto& test) {
  std::string name = test.param.file;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace batchvar
