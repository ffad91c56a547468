#include "sim/divergence/pass_comparison.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace batchvar {
namespace {

std::vector<OpRecord> Pass() {
  return {{0, Op::kQkvProj, DType::kBf16, {1, 2}},
          {0, Op::kOProj, DType::kBf16, {3, 4}},
          {1, Op::kQkvProj, DType::kBf16, {5, 6}}};
}

TEST(PassComparison, EqualPassesHaveNoFirstOp) {
  const std::vector<float> logits = {1, 2};
  const Divergence divergence = ComparePasses(Pass(), Pass(), logits, logits);
  EXPECT_FALSE(divergence.first_op);
  EXPECT_FALSE(divergence.first_op_16bit);
  EXPECT_FALSE(divergence.Flipped());
  EXPECT_EQ(divergence.logits_changed, 0);
  EXPECT_EQ(divergence.ladder.size(), 3u);
}

TEST(PassComparison, TheFirstOpToDifferMayHideItFromTheNext) {
  std::vector<OpRecord> other = Pass();
  other[0].values[1] = std::nextafterf(2.0f, 3.0f);  // gone after rounding
  other[2].values[0] = 5.5f;
  const std::vector<float> a = {1.0f, 1.125f, 0}, b = {1.25f, 1.125f, 0};
  const Divergence divergence = ComparePasses(Pass(), other, a, b);
  EXPECT_EQ(divergence.first_op, 0);
  EXPECT_EQ(divergence.first_op_16bit, 2);
  EXPECT_EQ(divergence.ladder[0].difference.max_ulp, 1u);
  EXPECT_EQ(divergence.ladder[1].difference.differ_fp32, 0);
  EXPECT_EQ(divergence.ladder[2].layer, 1);
  EXPECT_TRUE(divergence.Flipped());
  EXPECT_EQ(divergence.a.top, 1);
  EXPECT_EQ(divergence.b.top, 0);
  EXPECT_EQ(divergence.a.Margin(), 0.125f);
  EXPECT_EQ(divergence.logits_changed, 1);
  EXPECT_EQ(divergence.max_logit_distance, 0.25);
}

}  // namespace
}  // namespace batchvar
