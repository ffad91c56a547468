#include "sim/report/tree_report.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/divergence/order_tree.h"
#include "sim/report/tree_outline.h"

namespace batchvar {
namespace {

using Lines = std::vector<std::string>;

std::vector<int64_t> First(int64_t n) {
  std::vector<int64_t> places(n);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

Order OrderOf(Arithmetic arithmetic, Combine combine, std::vector<Range> pieces) {
  Order order;
  order.arithmetic = arithmetic;
  order.combine = combine;
  order.pieces = std::move(pieces);
  return order;
}

Lines Outline(const Order& order, const std::vector<int64_t>& places) {
  return TreeOutline(TreeOfDot(order, places), places);
}

TEST(TreeOutline, Chains) {
  const Order fma = OrderOf(Arithmetic::kFmaChain, Combine::kNone, {{0, 64}});
  EXPECT_EQ(Outline(fma, {7}), Lines{"7"});
  EXPECT_EQ(Outline(fma, First(2)), Lines{"0..1"});
  EXPECT_EQ(Outline(fma, First(64)), Lines{"0..63"});
  EXPECT_EQ(Outline(fma, {0, 1, 2, 10, 20, 30, 40}), Lines{"0..2 -> 10, 20 .. 40"});
  EXPECT_EQ(Outline(fma, {3, 9}), Lines{"3 -> 9"});
  const Order mma = OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 70}});
  EXPECT_EQ(Outline(mma, First(16)), Lines{"(0..15)"});
  EXPECT_EQ(Outline(mma, First(64)), Lines{"(0..15) to (48..63)"});
  EXPECT_EQ(Outline(mma, First(70)), Lines{"(0..15) to (48..63) -> (64..69)"});
  EXPECT_EQ(Outline(mma, {0, 3, 5, 17, 40}), Lines{"(0, 3, 5) -> 17 -> 40"});
  EXPECT_EQ(
      Outline(OrderOf(Arithmetic::kFmaChain, Combine::kSerialFp32, {{1, 4}, {0, 1}}), First(4)),
      Lines{"1..3 -> 0"});
  EXPECT_EQ(Outline(OrderOf(Arithmetic::kFmaChain, Combine::kSerialFp32,
                            {{3, 4}, {2, 3}, {1, 2}, {0, 1}}),
                    First(4)),
            Lines{"3..0"});
}

TEST(TreeOutline, PiecesThatAreAlikeAreSaidOnce) {
  const Order order =
      OrderOf(Arithmetic::kMmaSm90, Combine::kSerialFp32, {{0, 32}, {32, 64}, {64, 96}, {96, 128}});
  EXPECT_EQ(
      Outline(order, First(128)),
      (Lines{"4 sums, one after another, each next one 32 further:", "  (0..15) to (16..31)"}));
  EXPECT_EQ(Outline(order, {0, 1, 32, 33, 34, 64, 65, 66}),
            (Lines{"3 sums, one after another:", "  0..1", "  (32..34)", "  (64..66)"}));
}

TEST(TreeOutline, AButterflyIsAHeadingALevel) {
  Order order = OrderOf(Arithmetic::kFmaChain, Combine::kButterfly, {{0, 16}});
  order.block = 8;
  order.slice_k = 4;
  EXPECT_EQ(Outline(order, First(16)),
            (Lines{"sum of 2, the second 2 further:", "  sum of 2, the second 4 further:",
                   "    0..1 -> 8..9"}));
}

TEST(TreeOutline, FusedSubtreesAndExactSums) {
  SummationTree fused;
  fused.children = {SumOf({LeafOf(0), LeafOf(1)}), SumOf({LeafOf(2), LeafOf(3)}), LeafOf(4)};
  EXPECT_EQ(TreeOutline(fused, First(5)), (Lines{"fused sum of 3:", "  0..1", "  2..3", "  4"}));
  SummationTree exact = SumOf({LeafOf(0), LeafOf(1), LeafOf(2)});
  exact.order_free = true;
  EXPECT_EQ(TreeOutline(exact, First(3)), Lines{"exact sum of 0..2, rounded once: no order"});
}

TreeCase CaseAt(int64_t m, const Order& executed, const Order& planned) {
  TreeCase one;
  one.m = m;
  one.revealed.tree = TreeOfDot(executed, First(4));
  one.planned = TreeOfDot(planned, First(4));
  return one;
}

TreeReport Report(std::vector<TreeCase> cases) {
  TreeReport report;
  report.op = "gemm";
  report.implementation = "scalar";
  report.policy = "textbook";
  report.device = "h100_sxm";
  report.element = "row 0";
  report.summed = "place in K";
  report.extent = 4;
  report.places = First(4);
  report.cases = std::move(cases);
  return report;
}

TEST(TreeReport, AWrongTreeIsShownBesideItsPlan) {
  const Order chain = OrderOf(Arithmetic::kFmaChain, Combine::kNone, {{0, 4}});
  const Order fused = OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 4}});
  const TreeReport right = Report({CaseAt(1, chain, chain)});
  EXPECT_EQ(TreeReportJson(right)["matches_plan"], true);
  EXPECT_FALSE(TreeReportJson(right).contains("plan_tree"));
  EXPECT_NE(TreeReportText(right).find("M = 1: the tree of its plan\n  0..3\n"), std::string::npos);
  const TreeReport wrong = Report({CaseAt(1, chain, fused)});
  EXPECT_FALSE(wrong.cases[0].MatchesPlan());
  EXPECT_EQ(TreeReportJson(wrong)["matches_plan"], false);
  EXPECT_EQ(TreeReportJson(wrong)["tree"].dump(), "[[[0,1],2],3]");
  EXPECT_EQ(TreeReportJson(wrong)["plan_tree"].dump(), "[0,1,2,3]");
  EXPECT_NE(TreeReportText(wrong).find("NOT the tree of its plan\n  0..3\nits plan\n  (0..3)\n"),
            std::string::npos);
}

TEST(TreeReport, SeveralMAreCompared) {
  const Order chain = OrderOf(Arithmetic::kFmaChain, Combine::kNone, {{0, 4}});
  const Order fused = OrderOf(Arithmetic::kMmaSm90, Combine::kNone, {{0, 4}});
  const TreeReport report =
      Report({CaseAt(1, chain, chain), CaseAt(2, fused, fused), CaseAt(3, chain, chain)});
  const auto json = TreeReportJson(report);
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["by_m"].size(), 3u);
  EXPECT_EQ(json["by_m"][1]["tree"].dump(), "[0,1,2,3]");
  const std::string text = TreeReportText(report);
  EXPECT_NE(text.find("M = 2: the tree of its plan; another tree\n"), std::string::npos);
  EXPECT_NE(text.find("M = 3: the tree of its plan; as at M = 1\n"), std::string::npos);
  EXPECT_NE(text.find("The tree depends on M."), std::string::npos);
  const TreeReport equal = Report({CaseAt(1, chain, chain), CaseAt(2, chain, chain)});
  EXPECT_EQ(TreeReportJson(equal)["equal"], true);
  EXPECT_NE(TreeReportText(equal).find("One tree for every M asked for."), std::string::npos);
}

TEST(TreeReport, NoTreeMatchesNoPlan) {
  const Order chain = OrderOf(Arithmetic::kFmaChain, Combine::kNone, {{0, 4}});
  TreeCase one = CaseAt(0, chain, chain);
  one.revealed = {RevealOutcome::kInconsistent, {}, 3, 0, 2, 1.5};
  const TreeReport report = Report({one});
  EXPECT_FALSE(one.MatchesPlan());
  const auto json = TreeReportJson(report);
  EXPECT_TRUE(json["tree"].is_null());
  EXPECT_EQ(json["outcome"], "inconsistent");
  EXPECT_FALSE(json.contains("m"));
  EXPECT_NE(TreeReportText(report).find("large terms at 0 and 2 leave 1.5 units"),
            std::string::npos);
}

}  // namespace
}  // namespace batchvar
