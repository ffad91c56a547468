#include "sim/base/time.h"

#include <gtest/gtest.h>

#include "sim/base/check.h"

namespace batchvar {
namespace {

TEST(Time, PicosecondsRoundUpToNanoseconds) {
  EXPECT_EQ(NsFromPsRoundUp(0), 0);
  EXPECT_EQ(NsFromPsRoundUp(1), 1);
  EXPECT_EQ(NsFromPsRoundUp(1000), 1);
  EXPECT_EQ(NsFromPsRoundUp(1001), 2);
}

TEST(Time, CeilDiv) {
  EXPECT_EQ(CeilDiv(0, 16), 0);
  EXPECT_EQ(CeilDiv(16, 16), 1);
  EXPECT_EQ(CeilDiv(17, 16), 2);
}

TEST(CheckDeathTest, NamesPlaceAndReason) {
  BV_CHECK(true);
  EXPECT_DEATH(BV_CHECK(1 + 1 == 3), "time_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace batchvar
