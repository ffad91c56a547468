#include "sim/shape/capture_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
