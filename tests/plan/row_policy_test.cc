#include "sim/plan/row_policy.h"

#include <gtest/gtest.h>

#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

constexpr NormPolicySpec kInvariant = {NormPolicyKind::kNormInvariant};
constexpr NormPolicySpec kVllm = {NormPolicyKind::kNormVllm};

int32_t Block(const NormPolicySpec& spec, int64_t rows, int64_t width) {
  return NormOrder(spec, rows, width, DType::kBf16).block;
}

TEST(NormOrder, InvariantIgnoresTheRows) {
  for (const int64_t width : {64, 128, 576, 1024, 4096, 8192, 128256}) {
    const Order one = NormOrder(kInvariant, 1, width, DType::kBf16);
    for (const int64_t rows : {2, 255, 256, 8192}) {
      EXPECT_EQ(NormOrder(kInvariant, rows, width, DType::kBf16), one);
    }
    EXPECT_TRUE(CoversOnce(one, width));
  }
  EXPECT_EQ(Block(kInvariant, 1, 4096), 512);
  EXPECT_EQ(Block(kInvariant, 1, 576), 72);
  EXPECT_EQ(Block(kInvariant, 1, 8192), 1024);
  EXPECT_EQ(Block(kInvariant, 1, 16384), 1024);
}

TEST(NormOrder, VllmChangesAt256Rows) {
  EXPECT_EQ(Block(kVllm, 1, 4096), 512);
  EXPECT_EQ(Block(kVllm, 255, 4096), 512);
  EXPECT_EQ(Block(kVllm, 256, 4096), 256);
  EXPECT_NE(ClassOfOrder(NormOrder(kVllm, 255, 4096, DType::kBf16)),
            ClassOfOrder(NormOrder(kVllm, 256, 4096, DType::kBf16)));
  // Narrow rows never had more threads than the smaller block allows.
  EXPECT_EQ(NormOrder(kVllm, 255, 1024, DType::kBf16), NormOrder(kVllm, 256, 1024, DType::kBf16));
  EXPECT_EQ(Block(kVllm, 256, 128), 16);
}

TEST(NormOrder, OddWidthsLoadNarrowVectors) {
  EXPECT_EQ(Block(kVllm, 1, 577), 577);
  EXPECT_EQ(Block(kVllm, 1, 580), 145);
  EXPECT_EQ(Block(kInvariant, 1, 1), 1);
  EXPECT_EQ(NormOrder(kInvariant, 1, 4096, DType::kFp32).block, 1024);
}

TEST(RowPolicies, NameTheirSource) {
  EXPECT_EQ(NormSource(kInvariant).project, "FlashInfer");
  EXPECT_EQ(NormSource(kVllm).project, "vLLM");
}

}  // namespace
}  // namespace batchvar
