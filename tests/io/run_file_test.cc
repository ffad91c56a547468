#include "sim/io/run_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/base/rng.h"

namespace batchvar {
namespace {

class RunFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/run_file_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/run.binpb";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<RunFileWriter> Open() {
    auto writer = RunFileWriter::Open(path_, "batchvar test", "seed: 1\n");
    EXPECT_TRUE(writer.ok()) << writer.status();
    return std::move(*writer);
  }

  std::string folder_;
  std::string path_;
};

StepSpan SpanOf(int64_t first_step, int32_t num_steps, std::vector<ScheduledRow> rows) {
  StepSpan span;
  span.first_step = first_step;
  span.num_steps = num_steps;
  span.start_ns = first_step * 10;
  span.end_ns = span.start_ns + num_steps * 10;
  span.padded_m = 64;
  span.batch.rows = std::move(rows);
  for (const ScheduledRow& row : span.batch.rows) span.batch.num_tokens += row.num_scheduled;
  return span;
}

void ExpectSame(const std::vector<StepSpan>& written, const std::vector<StepSpan>& read) {
  ASSERT_EQ(written.size(), read.size());
  for (size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(written[i].first_step, read[i].first_step) << i;
    EXPECT_EQ(written[i].num_steps, read[i].num_steps) << i;
    EXPECT_EQ(written[i].start_ns, read[i].start_ns) << i;
    EXPECT_EQ(written[i].end_ns, read[i].end_ns) << i;
    EXPECT_EQ(written[i].padded_m, read[i].padded_m) << i;
    EXPECT_EQ(written[i].batch.rows, read[i].batch.rows) << i;
    EXPECT_EQ(written[i].batch.num_tokens, read[i].batch.num_tokens) << i;
    EXPECT_EQ(written[i].batch.padding_tokens, read[i].batch.padding_tokens) << i;
    EXPECT_EQ(written[i].batch.shared_prefix, read[i].batch.shared_prefix) << i;
    EXPECT_EQ(written[i].preempted, read[i].preempted) << i;
  }
}

TEST_F(RunFileTest, GivesBackWhatWasWritten) {
  std::vector<StepSpan> spans = {
      SpanOf(0, 1, {{0, 100, 0, Phase::kChunk}}),
      SpanOf(1, 1, {{0, 20, 100, Phase::kLastChunk}, {1, 7, 0, Phase::kLastChunk}}),
      SpanOf(2, 5, {{0, 1, 120, Phase::kDecode}, {1, 1, 7, Phase::kDecode}}),
      SpanOf(7, 2, {{1, 1, 12, Phase::kDecode}}),
  };
  spans[2].batch.shared_prefix = 16;
  auto writer = Open();
  for (int32_t i = 0; i < 2; ++i) {
    Request request;
    request.id = i == 0 ? "first" : "second";
    request.arrival_ns = i * 5;
    request.prompt_tokens = 120;
    request.output_tokens = 9;
    writer->OnRequest(i, request);
  }
  for (const StepSpan& span : spans) writer->OnSpan(span);
  PlanRecord plan;
  plan.op = "o_proj";
  plan.m = 16;
  plan.n = plan.k = 4096;
  plan.policy = "textbook";
  plan.tile = {16, 128, 64};
  plan.split_k = 2;
  plan.ctas = 64;
  plan.waves = 1;
  plan.combine = "serial_fp32";
  plan.pieces = {{0, 2048}, {2048, 4096}};
  plan.klass = DigestOf("x");
  ASSERT_TRUE(writer->Finish({plan}, {false, 9, 2, 90}).ok());

  const auto run = ReadRunFile(folder_);  // the folder will do
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->config_yaml, "seed: 1\n");
  ASSERT_EQ(run->requests.size(), 2U);
  EXPECT_EQ(run->requests[1].id, "second");
  EXPECT_EQ(run->requests[1].arrival_ns, 5);
  ExpectSame(spans, run->spans);
  ASSERT_EQ(run->plans.size(), 1U);
  EXPECT_EQ(run->plans[0], plan);
  EXPECT_EQ(run->footer.num_steps, 9);
  EXPECT_FALSE(run->footer.interrupted);
}

// Batches that shrink, grow, reorder, skip and restart, as any scheduler might make them.
TEST_F(RunFileTest, AnyHistorySurvives) {
  RandomStream random(3, "run_file_test");
  std::vector<StepSpan> spans;
  std::vector<ScheduledRow> rows;
  int64_t step = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<ScheduledRow> next;
    for (ScheduledRow row : rows) {
      if (random.NextBelow(10) == 0) continue;              // left
      if (random.NextBelow(30) == 0) row.num_computed = 0;  // preempted and started again
      next.push_back(row);
    }
    if (next.size() < 40 && random.NextBelow(3) != 0) {
      const auto tokens = static_cast<int32_t>(random.NextBelow(300)) + 1;
      next.push_back(
          {1000 + i, tokens, 0, random.NextBelow(2) ? Phase::kChunk : Phase::kLastChunk});
    }
    if (next.size() > 2 && random.NextBelow(20) == 0) std::swap(next[0], next[1]);
    if (next.empty()) continue;
    bool decode_only = true;
    for (const ScheduledRow& row : next) decode_only &= row.phase == Phase::kDecode;
    const int32_t steps = decode_only ? static_cast<int32_t>(random.NextBelow(50)) + 1 : 1;
    spans.push_back(SpanOf(step, steps, next));
    if (random.NextBelow(9) == 0) spans.back().preempted = {next[0].request};
    step += steps;
    rows = next;
    for (ScheduledRow& row : rows) {
      row.num_computed += steps > 1 ? steps : row.num_scheduled;
      row.num_scheduled = 1;
      row.phase = Phase::kDecode;
    }
  }
  auto writer = Open();
  for (const StepSpan& span : spans) writer->OnSpan(span);
  ASSERT_TRUE(writer->Finish({}, {}).ok());
  const auto run = ReadRunFile(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  ExpectSame(spans, run->spans);
}

TEST_F(RunFileTest, AnUnfinishedFileHasAnotherNameAndIsRefused) {
  {
    auto writer = Open();
    writer->OnSpan(SpanOf(0, 1, {{0, 1, 5, Phase::kDecode}}));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  const auto run = ReadRunFile(path_ + ".partial");
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(RunFileTest, EveryCutIsRefused) {
  auto writer = Open();
  writer->OnSpan(SpanOf(0, 1, {{0, 9, 0, Phase::kLastChunk}}));
  ASSERT_TRUE(writer->Finish({}, {}).ok());
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = folder_ + "/cut";
    std::ofstream(cut, std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(ReadRunFile(cut).ok()) << size << " of " << whole.size() << " bytes";
  }
}

TEST_F(RunFileTest, MissingAndForeignFilesAreInputErrors) {
  EXPECT_EQ(ReadRunFile(folder_ + "/none").status().code(), absl::StatusCode::kDataLoss);
  std::ofstream(path_, std::ios::binary) << "request_id,arrival_ns\n";
  EXPECT_EQ(ReadRunFile(path_).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(RunFileWriter::Open(folder_ + "/no/such/folder/x", "p", "").ok());
}

}  // namespace
}  // namespace batchvar
