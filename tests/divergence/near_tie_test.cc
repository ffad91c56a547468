#include "sim/divergence/near_tie.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace batchvar {
namespace {

TopTwo Of(const std::vector<float>& logits) { return FindTopTwo(logits); }

TEST(NearTie, TheLowestIndexWinsATie) {
  const TopTwo best = Of({1, 3, 2, 3, 3});
  EXPECT_EQ(best.top, 1);
  EXPECT_EQ(best.runner_up, 3);
  EXPECT_EQ(best.Margin(), 0.0f);
  EXPECT_TRUE(best.IsTie());
}

TEST(NearTie, RunnerUpMayComeBeforeOrAfter) {
  EXPECT_EQ(Of({5, 1, 4}).runner_up, 2);
  EXPECT_EQ(Of({4, 1, 5}).runner_up, 0);
  EXPECT_EQ(Of({1, 4, 5}).runner_up, 1);
  EXPECT_EQ(Of({4, 1, 5}).Margin(), 1.0f);
  EXPECT_EQ(Of({-7}).runner_up, -1);
  EXPECT_FALSE(Of({-7}).IsTie());
}

TEST(NearTie, NanNeverWinsAndZerosTie) {
  EXPECT_EQ(Of({NAN, -3, NAN, -2}).top, 3);
  EXPECT_EQ(Of({NAN, -3, NAN, -2}).runner_up, 1);
  EXPECT_TRUE(Of({-0.0f, 0.0f}).IsTie());
  EXPECT_EQ(Of({-0.0f, 0.0f}).top, 0);
}

}  // namespace
}  // namespace batchvar
