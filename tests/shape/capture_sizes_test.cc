#include "sim/shape/capture_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr int32_t kHopper = 90;
constexpr int32_t kBlackwell = 100;

TEST(CaptureSizes, Vllm032CountsOfTheSchedulerReference) {
  for (const int32_t max_num_seqs : {256, 1024}) {
    const auto sizes = CaptureSizes(CaptureRule::kVllm032, max_num_seqs, 8192, kHopper);
    EXPECT_EQ(sizes.size(), 51u);
    EXPECT_EQ(sizes.back(), 512);
  }
  const auto sizes = CaptureSizes(CaptureRule::kVllm032, 64, 8192, kHopper);
  EXPECT_EQ(sizes.size(), 19u);
  EXPECT_EQ(sizes.back(), 128);
}

TEST(CaptureSizes, Vllm032CoarseStepsBeginAt256) {
  const auto sizes = CaptureSizes(CaptureRule::kVllm032, 1024, 8192, kHopper);
  EXPECT_THAT(sizes, Contains(248));
  EXPECT_THAT(sizes, Contains(256));
  EXPECT_THAT(sizes, Not(Contains(264)));
  EXPECT_THAT(sizes, Contains(272));
}

TEST(CaptureSizes, Vllm032AddsTheLimitsThemselves) {
  // max_num_seqs that is no multiple of 8 (vllm#57355).
  EXPECT_THAT(CaptureSizes(CaptureRule::kVllm032, 100, 8192, kHopper), Contains(100));
  // A small budget caps the list and belongs to it.
  const auto capped = CaptureSizes(CaptureRule::kVllm032, 256, 300, kHopper);
  EXPECT_EQ(capped.back(), 300);
  EXPECT_THAT(capped, Contains(288));
  // A budget below max_num_seqs keeps max_num_seqs out.
  EXPECT_THAT(CaptureSizes(CaptureRule::kVllm032, 100, 50, kHopper), Not(Contains(100)));
  EXPECT_THAT(CaptureSizes(CaptureRule::kVllm032, 1, 8192, kHopper), ElementsAre(1, 2));
  EXPECT_THAT(CaptureSizes(CaptureRule::kVllm032, 3, 5, kHopper), ElementsAre(1, 2, 3, 4, 5));
}

TEST(CaptureSizes, Vllm032BlackwellReaches1024) {
  EXPECT_EQ(CaptureSizes(CaptureRule::kVllm032, 1024, 16384, kBlackwell).back(), 1024);
  EXPECT_EQ(CaptureSizes(CaptureRule::kVllm032, 1024, 16384, 103).back(), 1024);
  EXPECT_EQ(CaptureSizes(CaptureRule::kVllm032, 1024, 16384, 120).back(), 512);  // not 10.x
}

TEST(CaptureSizes, OlderRules) {
  const auto v092 = CaptureSizes(CaptureRule::kVllm092, 16, 8192, kHopper);
  EXPECT_EQ(v092.size(), 67u);
  EXPECT_EQ(v092.back(), 512);
  EXPECT_EQ(CaptureSizes(CaptureRule::kVllm011, 256, 8192, kHopper).size(), 67u);
  EXPECT_EQ(CaptureSizes(CaptureRule::kVllm011, 64, 8192, kHopper).back(), 128);
  EXPECT_EQ(CaptureSizes(CaptureRule::kVllm012, 256, 8192, kHopper).size(), 51u);
  EXPECT_THAT(CaptureSizes(CaptureRule::kVllm012, 100, 8192, kHopper), Not(Contains(100)));
  // No step can hold more tokens than the budget, so no rule captures more.
  EXPECT_EQ(CaptureSizes(CaptureRule::kVllm092, 16, 40, kHopper).back(), 40);
}

TEST(CaptureSizes, AlwaysAscendingWithoutDuplicates) {
  for (const CaptureRule rule : {CaptureRule::kVllm092, CaptureRule::kVllm011,
                                 CaptureRule::kVllm012, CaptureRule::kVllm032}) {
    for (int32_t seqs = 1; seqs < 600; seqs += 7) {
      for (const int32_t budget : {1, 3, 64, 100, 509, 2048}) {
        const auto sizes = CaptureSizes(rule, seqs, budget, kHopper);
        EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
        EXPECT_EQ(std::adjacent_find(sizes.begin(), sizes.end()), sizes.end());
        EXPECT_LE(sizes.back(), budget);
      }
    }
  }
}

TEST(CaptureSizes, SglangCapturesDecodesByBatchSize) {
  EXPECT_THAT(SglangDecodeSizes(CaptureRule::kSglang0523, 24), ElementsAre(1, 2, 4, 8, 12, 16, 24));
  const auto h100 = SglangDecodeSizes(CaptureRule::kSglang0523, 256);
  EXPECT_EQ(h100.size(), 36U);
  EXPECT_EQ(h100.back(), 256);
  const auto large = SglangDecodeSizes(CaptureRule::kSglang0523, 600);
  EXPECT_THAT(large, Contains(272));
  EXPECT_THAT(large, Not(Contains(264)));
  EXPECT_THAT(large, Contains(496));
  EXPECT_THAT(large, Contains(512));
  EXPECT_EQ(large.back(), 576);
  EXPECT_THAT(SglangDecodeSizes(CaptureRule::kSglang0523, 3), ElementsAre(1, 2));
  EXPECT_THAT(SglangDecodeSizes(CaptureRule::kSglang2025, 30), ElementsAre(1, 2, 4, 8, 16, 24));
}

TEST(CaptureSizes, SglangsLargestBatchFollowsMemoryAndRanks) {
  const auto gib = [](int64_t size) { return size << 30; };
  EXPECT_EQ(SglangLargestBatch(gib(16), 1), 8);
  EXPECT_EQ(SglangLargestBatch(gib(24), 1), 24);
  EXPECT_EQ(SglangLargestBatch(gib(24), 4), 80);
  EXPECT_EQ(SglangLargestBatch(gib(48), 2), 32);
  EXPECT_EQ(SglangLargestBatch(gib(48), 8), 160);
  EXPECT_EQ(SglangLargestBatch(gib(80), 1), 256);
  EXPECT_EQ(SglangLargestBatch(gib(140), 4), 512);
  EXPECT_EQ(SglangLargestBatch(gib(180), 1), 512);
}

TEST(CaptureSizes, SglangMayCapturePromptsByTokens) {
  EXPECT_THAT(SglangPrefillSizes(50), ElementsAre(4, 8, 12, 16, 20, 24, 28, 32, 48));
  const auto sizes = SglangPrefillSizes(8192);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  for (const int32_t size : {256, 288, 512, 576, 1024, 1280, 4096, 4608, 8192}) {
    EXPECT_THAT(sizes, Contains(size));
  }
  EXPECT_EQ(sizes.back(), 8192);
}

StepBatch StepOf(std::vector<ScheduledRow> rows) {
  StepBatch batch;
  for (const ScheduledRow& row : rows) batch.num_tokens += row.num_scheduled;
  batch.rows = std::move(rows);
  return batch;
}

TEST(Padding, ByPhaseOnlyDecodesArePadded) {
  const StepBatch decode =
      StepOf({{0, 1, 10, Phase::kDecode}, {1, 1, 10, Phase::kDecode}, {2, 1, 10, Phase::kDecode}});
  const StepBatch prompt = StepOf({{0, 3, 0, Phase::kLastChunk}});
  const StepBatch mixed = StepOf({{0, 2, 0, Phase::kChunk}, {1, 1, 10, Phase::kDecode}});
  const Padding eager = Padding::ByPhase({1, 2, 4}, {});
  EXPECT_EQ(eager.PaddedM(decode), 4);
  EXPECT_EQ(eager.PaddedM(prompt), 3);
  EXPECT_EQ(eager.PaddedM(mixed), 3);
  const Padding captured = Padding::ByPhase({1, 2, 4}, {8});
  EXPECT_EQ(captured.PaddedM(decode), 4);
  EXPECT_EQ(captured.PaddedM(prompt), 8);
  EXPECT_EQ(captured.PaddedM(mixed), 8);
  EXPECT_EQ(Padding({1, 2, 4}).PaddedM(prompt), 4);
}

TEST(Padding, RoundsUpToACapturedSizeAndRunsEagerlyAbove) {
  const Padding padding(CaptureSizes(CaptureRule::kVllm032, 64, 8192, kHopper));
  EXPECT_EQ(padding.PaddedM(0), 0);
  EXPECT_EQ(padding.PaddedM(1), 1);
  EXPECT_EQ(padding.PaddedM(3), 4);
  EXPECT_EQ(padding.PaddedM(9), 16);
  EXPECT_EQ(padding.PaddedM(33), 40);
  EXPECT_EQ(padding.PaddedM(128), 128);
  EXPECT_EQ(padding.PaddedM(129), 129);
}

TEST(Padding, EqualsASearchInTheList) {
  const auto sizes = CaptureSizes(CaptureRule::kVllm032, 100, 333, kHopper);
  const Padding padding(sizes);
  for (int32_t m = 1; m < 400; ++m) {
    const auto at = std::lower_bound(sizes.begin(), sizes.end(), m);
    EXPECT_EQ(padding.PaddedM(m), at == sizes.end() ? m : *at);
  }
}

TEST(Padding, WithoutSizesIsExact) {
  EXPECT_EQ(Padding().PaddedM(37), 37);
  EXPECT_EQ(Padding(std::vector<int32_t>()).PaddedM(37), 37);
}

}  // namespace
}  // namespace batchvar
