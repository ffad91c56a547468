// PlanGemmWork: the list of work is the orders', and what no kernel executes is refused in words.
#include "kernels/cuda/gemm_work.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

Order SplitOrder(int64_t k) {
  Order order;
  order.combine = Combine::kSerialFp32;
  order.pieces = {{k / 2, k}, {0, k / 2}};
  return order;
}

std::string PlanOne(int64_t m, int64_t n, int64_t k, const Order& order, GemmWork* work,
                    const GemmWorkOptions& options = {}) {
  const GemmRectangle all{0, static_cast<int32_t>(m), 0, static_cast<int32_t>(n)};
  return PlanGemmWork(m, n, k, {{all, &order}}, options, work);
}

TEST(GemmWork, HasAnItemForEachTileAndPiece) {
  GemmWork work;
  GemmWorkOptions options;
  options.tile = {16, 64, 0};
  ASSERT_EQ(PlanOne(20, 100, 256, SplitOrder(256), &work, options), "");
  EXPECT_EQ(work.tile, kMmaTiles[0]);
  ASSERT_EQ(work.items.size(), 2u * 2 * 2);
  EXPECT_EQ(work.units.size(), work.items.size() + 1);
  EXPECT_EQ(work.num_slots, 2);
  EXPECT_EQ(work.items[0].k_begin, 128) << "the list's first piece";
  EXPECT_EQ(work.items[0].slot, 0);
  EXPECT_EQ(work.items[1].k_begin, 0);
  EXPECT_EQ(work.items[1].slot, 1);
  int64_t outputs = 0;
  for (const GemmItem& item : work.items) {
    EXPECT_LE(item.out.m_end - item.out.m_begin, 16);
    EXPECT_LE(item.out.n_end - item.out.n_begin, 64);
    outputs += (item.out.m_end - item.out.m_begin) * (item.out.n_end - item.out.n_begin);
  }
  EXPECT_EQ(outputs, 2 * 20 * 100);
  int64_t combined = 0;
  for (const CombineItem& item : work.combines) {
    combined += (item.out.m_end - item.out.m_begin) * (item.out.n_end - item.out.n_begin);
  }
  EXPECT_EQ(combined, 20 * 100);
}

TEST(GemmWork, UnitsWalkThroughAllItems) {
  for (const int32_t units : {1, 2, 3, 7, 50}) {
    GemmWork work;
    GemmWorkOptions options;
    options.num_units = units;
    ASSERT_EQ(PlanOne(130, 200, 512, SplitOrder(512), &work, options), "");
    EXPECT_LE(static_cast<int32_t>(work.units.size()) - 1, units);
    EXPECT_EQ(work.units.front(), 0);
    EXPECT_EQ(work.units.back(), static_cast<int32_t>(work.items.size()));
    EXPECT_TRUE(std::is_sorted(work.units.begin(), work.units.end()));
    EXPECT_EQ(std::adjacent_find(work.units.begin(), work.units.end()), work.units.end());
  }
}

TEST(GemmWork, OnePieceGoesToTheOutput) {
  GemmWork work;
  Order order;
  order.pieces = {{0, 64}};
  ASSERT_EQ(PlanOne(4, 4, 64, order, &work), "");
  EXPECT_EQ(work.items[0].is_final, 1);
  EXPECT_EQ(work.num_slots, 0);
  EXPECT_TRUE(work.combines.empty());
}

TEST(GemmWork, NotesWhatCanBeCopiedSixteenBytesAtATime) {
  GemmWork work;
  ASSERT_EQ(PlanOne(4, 4, 128, SplitOrder(128), &work), "");
  EXPECT_TRUE(work.aligned_runs);
  EXPECT_TRUE(work.whole_tiles);
  ASSERT_EQ(PlanOne(4, 4, 48, SplitOrder(48), &work), "");
  EXPECT_TRUE(work.aligned_runs);
  EXPECT_FALSE(work.whole_tiles) << "a piece of 24 ends within a tile";
  ASSERT_EQ(PlanOne(4, 4, 72, SplitOrder(72), &work), "");
  EXPECT_FALSE(work.aligned_runs);
  EXPECT_EQ(work.tile, kMmaTiles[1]);
}

TEST(GemmWork, InstructionsOfHalfWidthAreTheSameOnAmpere) {
  GemmWork work;
  Order order = SplitOrder(64);
  order.instr_k = 8;
  ASSERT_EQ(PlanOne(4, 4, 64, order, &work), "");
  EXPECT_EQ(work.instr_k, 8);
  order.arithmetic = Arithmetic::kMmaSm80;
  ASSERT_EQ(PlanOne(4, 4, 64, order, &work), "");
  EXPECT_EQ(work.instr_k, 16);
}

TEST(GemmWork, RefusesInWords) {
  GemmWork work;
  const auto refusal = [&](auto change) {
    Order order = SplitOrder(64);
    change(&order);
    return PlanOne(4, 4, 64, order, &work);
  };
  EXPECT_THAT(refusal([](Order* o) { o->instr_k = 4; }), HasSubstr("no instruction multiplies 4"));
  EXPECT_THAT(refusal([](Order* o) { o->combine = Combine::kNone; }), HasSubstr("need a combine"));
  EXPECT_THAT(refusal([](Order* o) { o->combine = Combine::kLse; }), HasSubstr("attention's"));
  EXPECT_THAT(refusal([](Order* o) { o->combine = Combine::kButterfly; }), HasSubstr("one piece"));
  EXPECT_THAT(refusal([](Order* o) { o->pieces.pop_back(); }), HasSubstr("do not cover K"));
  EXPECT_THAT(refusal([](Order* o) { o->pieces[0].end = 65; }), HasSubstr("outside [0, 64)"));
  EXPECT_THAT(refusal([](Order* o) { o->slice_k = 3, o->block = 32; }), HasSubstr("divide"));
  EXPECT_THAT(refusal([](Order* o) { o->arithmetic = Arithmetic::kRowBlocks; }),
              HasSubstr("tensor cores or by FMA chains"));
  Order many = SplitOrder(300);
  many.combine = Combine::kPairwise;
  many.pieces.clear();
  for (int64_t k = 0; k < 300; ++k) many.pieces.push_back({k, k + 1});
  EXPECT_THAT(PlanOne(4, 4, 300, many, &work), HasSubstr("256 pieces at most"));

  const Order order = SplitOrder(64);
  EXPECT_THAT(PlanGemmWork(4, 4, 64, {{{0, 4, 0, 3}, &order}}, {}, &work),
              HasSubstr("do not cover the output"));
  Order other = order;
  other.combine = Combine::kPairwise;
  EXPECT_THAT(PlanGemmWork(4, 4, 64, {{{0, 4, 0, 2}, &order}, {{0, 4, 2, 4}, &other}}, {}, &work),
              HasSubstr("combine in different ways"));
}

}  // namespace
}  // namespace batchvar
