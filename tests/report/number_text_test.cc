#include "sim/report/number_text.h"

#include <gtest/gtest.h>

namespace batchvar {
namespace {

TEST(NumberText, Thousands) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(12031), "12,031");
  EXPECT_EQ(WithThousands(-1234567), "-1,234,567");
}

TEST(NumberText, RangesJoinNeighboursOfTheWholeList) {
  const std::vector<int64_t> all = {1, 2, 4, 8, 16, 24};
  EXPECT_EQ(RangesWithin({1, 2, 4}, all), "1..4");
  EXPECT_EQ(RangesWithin({1, 4, 8, 24}, all), "1, 4..8, 24");
  EXPECT_EQ(RangesWithin({}, all), "");
  EXPECT_EQ(RangesWithin(all, all), "1..24");
}

TEST(NumberText, TablesAlignAndLeaveNoTrailingBlanks) {
  EXPECT_EQ(AlignedTable({{"op", "n", ""}, {"qkv_proj", "6144", ""}}, 1, "  "),
            "  op           n\n  qkv_proj  6144\n");
}

}  // namespace
}  // namespace batchvar
