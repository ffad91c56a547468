#include "sim/serving/step_span.h"

#include <gtest/gtest.h>

#include <vector>

namespace batchvar {
namespace {

class Spans final : public RunSink {
 public:
  void OnRequest(int32_t, const Request&) override {}
  void OnSpan(const StepSpan& span) override { all.push_back(span); }
  std::vector<StepSpan> all;
};

StepBatch Batch(std::vector<ScheduledRow> rows) {
  StepBatch batch;
  batch.rows = std::move(rows);
  for (const ScheduledRow& row : batch.rows) batch.num_tokens += row.num_scheduled;
  return batch;
}

ScheduledRow Decode(int32_t request, int32_t num_computed) {
  return {request, 1, num_computed, Phase::kDecode};
}

class SpanBuilderTest : public testing::Test {
 protected:
  // Steps of 10 ns behind each other.
  void Add(const StepBatch& batch, const std::vector<int32_t>& preempted = {}) {
    builder_.Add(step_, now_, now_ + 10, 8, batch, preempted);
    ++step_;
    now_ += 10;
  }
  // Decodes of requests 0 and 1, from position `n` and 5 behind it.
  void AddDecodes(int32_t n, int count) {
    for (int i = 0; i < count; ++i) Add(Batch({Decode(0, n + i), Decode(1, n + 5 + i)}));
  }
  const std::vector<StepSpan>& Flush() {
    builder_.Flush();
    return spans_.all;
  }

  Spans spans_;
  SpanBuilder builder_{{&spans_}};
  int64_t step_ = 0;
  TimeNs now_ = 0;
};

TEST_F(SpanBuilderTest, EqualDecodesAreOneSpan) {
  AddDecodes(100, 50);
  ASSERT_EQ(Flush().size(), 1U);
  const StepSpan& span = spans_.all[0];
  EXPECT_EQ(span.first_step, 0);
  EXPECT_EQ(span.num_steps, 50);
  EXPECT_EQ(span.start_ns, 0);
  EXPECT_EQ(span.end_ns, 500);
  EXPECT_EQ(span.padded_m, 8);
  EXPECT_EQ(span.M(), 2);
  EXPECT_EQ(span.batch.rows[1].num_computed, 105);  // as of the first step
}

TEST_F(SpanBuilderTest, NothingBeforeTheFlush) {
  AddDecodes(100, 5);
  EXPECT_TRUE(spans_.all.empty());
  EXPECT_EQ(Flush().size(), 1U);
  EXPECT_EQ(Flush().size(), 1U);  // nothing is told twice
}

TEST_F(SpanBuilderTest, NoStepsNoSpans) { EXPECT_TRUE(Flush().empty()); }

TEST_F(SpanBuilderTest, AnAdmissionBreaksTheRun) {
  AddDecodes(100, 3);
  Add(Batch({Decode(0, 103), Decode(1, 108), {2, 30, 0, Phase::kLastChunk}}));
  Add(Batch({Decode(0, 104), Decode(1, 109), Decode(2, 30)}));
  Add(Batch({Decode(0, 105), Decode(1, 110), Decode(2, 31)}));
  ASSERT_EQ(Flush().size(), 3U);
  EXPECT_EQ(spans_.all[0].num_steps, 3);
  EXPECT_EQ(spans_.all[1].num_steps, 1);
  EXPECT_EQ(spans_.all[1].first_step, 3);
  EXPECT_EQ(spans_.all[2].num_steps, 2);
}

TEST_F(SpanBuilderTest, AFinishBreaksTheRun) {
  AddDecodes(100, 3);
  Add(Batch({Decode(0, 103)}));
  Add(Batch({Decode(0, 104)}));
  ASSERT_EQ(Flush().size(), 2U);
  EXPECT_EQ(spans_.all[1].num_steps, 2);
}

TEST_F(SpanBuilderTest, OneForAnotherBreaksTheRun) {
  AddDecodes(100, 1);
  Add(Batch({Decode(0, 101), Decode(2, 106)}));
  EXPECT_EQ(Flush().size(), 2U);
}

TEST_F(SpanBuilderTest, AnotherRowOrderBreaksTheRun) {
  AddDecodes(100, 1);
  Add(Batch({Decode(1, 106), Decode(0, 101)}));
  EXPECT_EQ(Flush().size(), 2U);
}

TEST_F(SpanBuilderTest, ChunksAreSpansOfTheirOwn) {
  for (int32_t i = 0; i < 3; ++i) Add(Batch({{0, 512, 512 * i, Phase::kChunk}}));
  EXPECT_EQ(Flush().size(), 3U);
}

TEST_F(SpanBuilderTest, AChunkOfOneTokenIsNoDecode) {
  Add(Batch({{0, 1, 9, Phase::kChunk}}));
  Add(Batch({{0, 1, 10, Phase::kLastChunk}}));
  Add(Batch({Decode(0, 11)}));
  Add(Batch({Decode(0, 12)}));
  ASSERT_EQ(Flush().size(), 3U);
  EXPECT_EQ(spans_.all[2].num_steps, 2);
}

TEST_F(SpanBuilderTest, AJumpOfARequestBreaksTheRun) {
  AddDecodes(100, 1);
  AddDecodes(100, 1);  // the same positions again
  EXPECT_EQ(Flush().size(), 2U);
}

TEST_F(SpanBuilderTest, APreemptionBreaksTheRunAndIsTold) {
  AddDecodes(100, 2);
  Add(Batch({Decode(0, 102), Decode(1, 107)}), {7, 3});
  Add(Batch({Decode(0, 103), Decode(1, 108)}));
  ASSERT_EQ(Flush().size(), 2U);
  EXPECT_TRUE(spans_.all[0].preempted.empty());
  EXPECT_EQ(spans_.all[1].preempted, (std::vector<int32_t>{7, 3}));
  EXPECT_EQ(spans_.all[1].num_steps, 2);
}

TEST_F(SpanBuilderTest, AnIdleGapBreaksTheRun) {
  AddDecodes(100, 2);
  now_ += 1;
  AddDecodes(102, 2);
  ASSERT_EQ(Flush().size(), 2U);
  EXPECT_EQ(spans_.all[0].end_ns, 20);
  EXPECT_EQ(spans_.all[1].start_ns, 21);
}

TEST_F(SpanBuilderTest, AMissingStepBreaksTheRun) {
  AddDecodes(100, 2);
  ++step_;
  AddDecodes(102, 2);
  EXPECT_EQ(Flush().size(), 2U);
}

TEST_F(SpanBuilderTest, AnotherPaddingBreaksTheRun) {
  StepBatch batch = Batch({Decode(0, 100)});
  batch.padding_tokens = 2;
  Add(batch);
  batch.rows[0].num_computed = 101;
  Add(batch);
  batch.rows[0].num_computed = 102;
  batch.padding_tokens = 1;
  Add(batch);
  ASSERT_EQ(Flush().size(), 2U);
  EXPECT_EQ(spans_.all[0].num_steps, 2);
  EXPECT_EQ(spans_.all[0].M(), 3);
}

TEST_F(SpanBuilderTest, AnotherSharedPrefixBreaksTheRun) {
  StepBatch batch = Batch({Decode(0, 100)});
  batch.shared_prefix = 32;
  Add(batch);
  batch.rows[0].num_computed = 101;
  batch.shared_prefix = 0;
  Add(batch);
  ASSERT_EQ(Flush().size(), 2U);
  EXPECT_EQ(spans_.all[0].batch.shared_prefix, 32);
}

TEST(SpanBuilder, EverySinkHearsEverySpan) {
  Spans one;
  Spans two;
  SpanBuilder builder({&one, &two});
  builder.Add(0, 0, 10, 1, Batch({Decode(0, 5)}), {});
  builder.Flush();
  EXPECT_EQ(one.all.size(), 1U);
  EXPECT_EQ(two.all.size(), 1U);
}

}  // namespace
}  // namespace batchvar
