// One query row of attention: against softmax in double, and the ways in which an order can or
// cannot change its bits.
#include "sim/numerics/ordered_attention.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/numerics/random_operands.h"

namespace batchvar {
namespace {

constexpr int32_t kHeadDim = 64;
constexpr int64_t kKvLen = 700;

struct Head {
  std::vector<uint16_t> q = NormalWords("q", kHeadDim, DType::kBf16);
  std::vector<uint16_t> k = NormalWords("k", kKvLen* kHeadDim, DType::kBf16);
  std::vector<uint16_t> v = NormalWords("v", kKvLen* kHeadDim, DType::kBf16);
  AttentionOperands Operands() const {
    return {DType::kBf16, kHeadDim, 0.125f, q.data(), k.data(), v.data(), kHeadDim};
  }
};

Order OrderOf(std::vector<Range> pieces, Combine combine = Combine::kLse, int32_t block = 128) {
  Order order;
  order.combine = pieces.size() == 1 ? Combine::kNone : combine;
  order.block = block;
  order.pieces = std::move(pieces);
  return order;
}

std::vector<float> Attend(const Order& order) {
  static const Head head;
  std::vector<float> output(kHeadDim);
  OrderedAttention(order, head.Operands(), output.data());
  return output;
}

std::vector<double> Exact() {
  const Head head;
  std::vector<double> scores(kKvLen), output(kHeadDim, 0.0);
  double sum = 0;
  for (int64_t j = 0; j < kKvLen; ++j) {
    for (int d = 0; d < kHeadDim; ++d) {
      scores[j] += double{FloatOfBf16(head.q[d])} * FloatOfBf16(head.k[j * kHeadDim + d]);
    }
    sum += scores[j] = std::exp(0.125 * scores[j]);
  }
  for (int64_t j = 0; j < kKvLen; ++j) {
    for (int d = 0; d < kHeadDim; ++d) {
      output[d] += scores[j] / sum * FloatOfBf16(head.v[j * kHeadDim + d]);
    }
  }
  return output;
}

TEST(OrderedAttention, EveryOrderIsNearTheExactResult) {
  const std::vector<double> exact = Exact();
  std::vector<Order> orders = {
      OrderOf({{0, kKvLen}}), OrderOf({{0, 256}, {256, 512}, {512, kKvLen}}),
      OrderOf({{0, 300}, {300, kKvLen}}, Combine::kChained), OrderOf({{0, kKvLen}}, {}, 16)};
  orders.push_back(orders[0]);
  orders.back().descending = true;
  orders.push_back(orders[1]);
  orders.back().arithmetic = Arithmetic::kFmaChain;
  orders.push_back(orders[1]);
  orders.back().partial = DType::kBf16;
  for (size_t i = 0; i < orders.size(); ++i) {
    const std::vector<float> output = Attend(orders[i]);
    for (int d = 0; d < kHeadDim; ++d) EXPECT_NEAR(output[d], exact[d], 2e-3) << i << " " << d;
  }
}

TEST(OrderedAttention, WhatTheOrderNamesChangesBits) {
  const Order one = OrderOf({{0, kKvLen}});
  const std::vector<float> base = Attend(one);
  EXPECT_EQ(Attend(one), base);
  Order other = one;
  other.descending = true;
  EXPECT_NE(Attend(other), base);
  other = one;
  other.block = 64;
  EXPECT_NE(Attend(other), base);
  other = one;
  other.arithmetic = Arithmetic::kMmaSm80;
  EXPECT_NE(Attend(other), base);
  EXPECT_NE(Attend(OrderOf({{0, 384}, {384, kKvLen}})), base);
}

TEST(OrderedAttention, ChainedPiecesOnWholeBlocksAreOnePass) {
  EXPECT_EQ(Attend(OrderOf({{0, 384}, {384, kKvLen}}, Combine::kChained)),
            Attend(OrderOf({{0, kKvLen}})));
  EXPECT_NE(Attend(OrderOf({{0, 300}, {300, kKvLen}}, Combine::kChained)),
            Attend(OrderOf({{0, kKvLen}})));
}

TEST(OrderedAttention, ALonePieceNeedsNoMerging) {
  Order lse = OrderOf({{0, kKvLen}});
  lse.combine = Combine::kLse;
  EXPECT_EQ(Attend(lse), Attend(OrderOf({{0, kKvLen}})));
}

TEST(OrderedAttention, AsManyLanesAsPiecesIsListOrder) {
  std::vector<Range> pieces;
  for (int64_t begin = 0; begin < kKvLen; begin += 100) pieces.push_back({begin, begin + 100});
  Order order = OrderOf(pieces);
  const std::vector<float> list = Attend(order);
  order.combine_lanes = 7;
  EXPECT_EQ(Attend(order), list);
  order.combine_lanes = 4;
  EXPECT_NE(Attend(order), list);
}

TEST(OrderedAttention, OneKeyGivesItsValue) {
  const Head head;
  std::vector<float> output = Attend(OrderOf({{0, 1}}));
  for (int d = 0; d < kHeadDim; ++d) EXPECT_EQ(output[d], FloatOfBf16(head.v[d]));
}

}  // namespace
}  // namespace batchvar
