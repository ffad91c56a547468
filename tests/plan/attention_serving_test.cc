// The attention of serving engines as policies: FlashInfer, Triton kernels of vLLM and SGLang, and
// two paths of earlier vLLM versions. Worked numbers for Llama-3-8B on 132 SMs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sim/plan/attention_policy.h"
#include "sim/plan/flashinfer_plan.h"
#include "sim/plan/order_digest.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr AttentionHeads kHeads = {32, 8, 128};

std::unique_ptr<AttentionPolicy> Make(
    AttentionPolicyKind kind,
    const std::function<void(AttentionPolicySpec*)>& change = [](AttentionPolicySpec*) {}) {
  AttentionPolicySpec spec;
  spec.kind = kind;
  change(&spec);
  return MakeAttentionPolicy(spec);
}

std::vector<AttentionRequest> Decodes(size_t count, int64_t kv_len) {
  return std::vector<AttentionRequest>(count, AttentionRequest{1, kv_len});
}

Order FirstOrder(const AttentionPolicy& policy, const std::vector<AttentionRequest>& step,
                 const AttentionHeads& heads = kHeads) {
  return policy.Plan(step, heads, H100())[0].order;
}

TEST(AttentionFlashInfer, WorkedChunksGrowWithTheBatch) {
  const auto policy = Make(AttentionPolicyKind::kFlashInfer);
  const auto chunk = [&policy](size_t batch) {
    return policy->Rule(Decodes(batch, 4096), kHeads, H100()).split_size;
  };
  EXPECT_THAT((std::vector<int64_t>{chunk(1), chunk(2), chunk(3), chunk(4), chunk(6), chunk(8),
                                    chunk(12), chunk(16)}),
              ElementsAre(128, 256, 384, 512, 832, 1024, 2048, 2048));
  for (const size_t batch : {24, 32, 200}) EXPECT_EQ(chunk(batch), 0) << batch;
}

TEST(AttentionFlashInfer, MergesInLanesAndWalksUp) {
  const auto policy = Make(AttentionPolicyKind::kFlashInfer);
  const Order four = FirstOrder(*policy, Decodes(8, 4096));
  EXPECT_FALSE(four.descending);
  EXPECT_EQ(four.pieces.size(), 4u);
  EXPECT_EQ(four.combine_lanes, 0);  // four lanes, four pieces: one after another
  const Order many = FirstOrder(*policy, Decodes(1, 4096));
  EXPECT_EQ(many.pieces.size(), 32u);
  EXPECT_EQ(many.combine_lanes, 4);
  EXPECT_EQ(FirstOrder(*policy, Decodes(1, 4096), {8, 8, 64}).combine_lanes, 8);
}

TEST(AttentionFlashInfer, FixedChunksIgnoreTheNeighbours) {
  const auto policy = Make(AttentionPolicyKind::kFlashInfer, [](AttentionPolicySpec* spec) {
    spec->fixed_split_size = 2048;
    spec->prefill_fixed_split_size = 4096;
  });
  const Order alone = FirstOrder(*policy, {{1, 5000}});
  EXPECT_THAT(alone.pieces, ElementsAre(Range{0, 2048}, Range{2048, 4096}, Range{4096, 5000}));
  EXPECT_EQ(FirstOrder(*policy, {{1, 5000}, {1, 90000}, {512, 9000}}), alone);
  EXPECT_THAT(FirstOrder(*policy, {{512, 5000}}).pieces,
              ElementsAre(Range{0, 4096}, Range{4096, 5000}));
  const auto off = Make(AttentionPolicyKind::kFlashInfer,
                        [](AttentionPolicySpec* spec) { spec->disable_split_kv = true; });
  EXPECT_EQ(FirstOrder(*off, Decodes(1, 50000)).pieces.size(), 1u);
  EXPECT_THAT(off->Explain(Decodes(1, 50000), kHeads, H100()),
              Contains("1 decode: splitting is off"));
}

TEST(AttentionFlashInfer, CudaCoresCountBlocksNotWorkItems) {
  const auto policy = Make(AttentionPolicyKind::kFlashInfer,
                           [](AttentionPolicySpec* spec) { spec->tensor_cores = false; });
  // 264 blocks at once, 8 KV heads: 33 requests fill the grid.
  EXPECT_EQ(policy->Rule(Decodes(33, 4096), kHeads, H100()).split_size, 0);
  EXPECT_EQ(policy->Rule(Decodes(1, 4096), kHeads, H100()).split_size, 128);
  const Order order = FirstOrder(*policy, Decodes(1, 4096));
  EXPECT_EQ(order.arithmetic, Arithmetic::kFmaChain);
  EXPECT_EQ(order.block, 8);  // 16 threads along a head, 4 heads, 2 positions each
}

TEST(AttentionFlashInfer, GraphsKeepTheSplitKernel) {
  const auto policy = Make(AttentionPolicyKind::kFlashInfer,
                           [](AttentionPolicySpec* spec) { spec->cuda_graph = true; });
  const AttentionRule rule = policy->Rule(Decodes(64, 100), kHeads, H100());
  EXPECT_EQ(rule.split_size, 128);
  EXPECT_EQ(FirstOrder(*policy, Decodes(64, 100)).pieces.size(), 1u);
}

TEST(AttentionFlashInfer, PrefillsArePlannedApart) {
  const auto policy = Make(AttentionPolicyKind::kFlashInfer);
  const Order alone = FirstOrder(*policy, {{1, 4096}});
  EXPECT_EQ(FirstOrder(*policy, {{1, 4096}, {700, 4000}}), alone);
  const Order chunk = FirstOrder(*policy, {{32, 4096}});
  const Order with_other = FirstOrder(*policy, {{32, 4096}, {700, 4000}});
  EXPECT_NE(chunk, with_other);  // another chunk and another query tile
  EXPECT_EQ(FlashInferWarpTileKv(16, 128, 90), 32);
  EXPECT_EQ(FlashInferWarpTileKv(64, 128, 90), 128);
  EXPECT_EQ(FlashInferWarpTileKv(128, 128, 90), 64);
  EXPECT_EQ(FlashInferWarpTileKv(16, 256, 89), 16);
}

TEST(AttentionVllmTriton, SeventeenSequencesLoseTheirSegments) {
  const auto policy = Make(AttentionPolicyKind::kVllmTriton);
  EXPECT_FALSE(policy->RuleUsesKvLengths());
  const Order of_16 = FirstOrder(*policy, Decodes(16, 4096));
  EXPECT_EQ(of_16.pieces.size(), 16u);
  EXPECT_EQ(of_16.block, 16);
  const Order of_17 = FirstOrder(*policy, Decodes(17, 4096));
  EXPECT_EQ(of_17.pieces.size(), 1u);
  EXPECT_EQ(of_17.block, 32);
  EXPECT_EQ(FirstOrder(*policy, {{1, 4096}, {2, 10}}), of_17);
  EXPECT_THAT(policy->Explain(Decodes(17, 4096), kHeads, H100()),
              Contains(HasSubstr("17 sequences, more than 16")));
  // 129 positions are 9 tiles of 16: 9 segments, one tile each.
  EXPECT_EQ(FirstOrder(*policy, {{1, 129}}).pieces.size(), 9u);
}

TEST(AttentionVllmTriton, SegmentsByKeyAndDevice) {
  const auto one =
      Make(AttentionPolicyKind::kVllmTriton, [](AttentionPolicySpec* spec) { spec->segments = 1; });
  EXPECT_EQ(FirstOrder(*one, Decodes(1, 4096)).pieces.size(), 1u);
  const auto policy = Make(AttentionPolicyKind::kVllmTriton);
  EXPECT_EQ(policy->Rule(Decodes(1, 4096), kHeads, Device(188, 120)).split_factor, 64);
  EXPECT_EQ(policy->Rule(Decodes(2, 4096), kHeads, Device(188, 120)).split_factor, 16);
}

TEST(AttentionSglangTriton, LengthsAndNumbersMoveTheCount) {
  const auto policy = Make(AttentionPolicyKind::kSglangTriton);
  // Alone: 132 * log2(64) = 792 blocks wanted, 8 exist: the cap of 8 splits.
  EXPECT_EQ(FirstOrder(*policy, Decodes(1, 4096)).pieces.size(), 8u);
  EXPECT_EQ(FirstOrder(*policy, Decodes(128, 4096)).pieces.size(), 1u);
  // A short neighbour in a full batch brings splits back: lengths are uneven.
  std::vector<AttentionRequest> step = Decodes(128, 4096);
  step[127].kv_len = 1024;
  EXPECT_EQ(FirstOrder(*policy, step).pieces.size(), 4u);
  EXPECT_EQ(FirstOrder(*policy, step).block, 32);
  EXPECT_EQ(FirstOrder(*policy, Decodes(1, 4096), {8, 8, 128}).block, 64);
}

TEST(AttentionSglangTriton, StaticAndTileSettingsIgnoreNeighbours) {
  const auto fixed = Make(AttentionPolicyKind::kSglangTriton,
                          [](AttentionPolicySpec* spec) { spec->static_kv_splits = true; });
  EXPECT_FALSE(fixed->RuleUsesKvLengths());
  EXPECT_EQ(FirstOrder(*fixed, Decodes(300, 4096)).pieces.size(), 8u);
  EXPECT_EQ(FirstOrder(*fixed, Decodes(1, 5)).pieces.size(), 1u);
  const auto tiles = Make(AttentionPolicyKind::kSglangTriton,
                          [](AttentionPolicySpec* spec) { spec->split_tile_size = 256; });
  const Order alone = FirstOrder(*tiles, {{1, 1000}});
  EXPECT_EQ(alone.pieces.size(), 4u);
  EXPECT_EQ(FirstOrder(*tiles, {{1, 1000}, {1, 9}, {1, 99999}}), alone);
}

TEST(AttentionSglangTriton, ExtendWalksThePrefixAndThenTheChunk) {
  const auto policy = Make(AttentionPolicyKind::kSglangTriton);
  const Order aligned = FirstOrder(*policy, {{100, 228}});
  EXPECT_THAT(aligned.pieces, ElementsAre(Range{0, 228}));
  const Order cut = FirstOrder(*policy, {{100, 200}});
  EXPECT_THAT(cut.pieces, ElementsAre(Range{0, 100}, Range{100, 200}));
  EXPECT_EQ(cut.combine, Combine::kChained);
}

TEST(AttentionPaged, PartialResultsIn16Bits) {
  const auto policy = Make(AttentionPolicyKind::kPagedV1V2);
  const Order v2 = FirstOrder(*policy, {{1, 1200}});
  EXPECT_THAT(v2.pieces, ElementsAre(Range{0, 512}, Range{512, 1024}, Range{1024, 1200}));
  EXPECT_EQ(v2.partial, DType::kBf16);
  EXPECT_EQ(v2.arithmetic, Arithmetic::kFmaChain);
  const Order v1 = FirstOrder(*policy, Decodes(17, 1200));  // 544 blocks
  EXPECT_EQ(v1.pieces.size(), 1u);
  EXPECT_EQ(v1.partial, DType::kFp32);
  // One partition: copied, so the same bits either way.
  EXPECT_EQ(FirstOrder(*policy, {{1, 500}, {1, 1200}}), FirstOrder(*policy, {{1, 500}}));
  // One request beyond 8192 moves a full batch to v2.
  std::vector<AttentionRequest> step = Decodes(64, 1200);
  step.push_back({1, 8193});
  EXPECT_EQ(FirstOrder(*policy, step), v2);
  EXPECT_EQ(FirstOrder(*policy, {{40, 1200}, {1, 9000}}).pieces.size(), 1u);  // a prompt
}

TEST(AttentionCascade, SharedPrefixIsReducedApart) {
  const auto policy = Make(AttentionPolicyKind::kCascade);
  const std::vector<AttentionRequest> step(32, AttentionRequest{1, 2100, 2050});
  const Order order = FirstOrder(*policy, step);
  EXPECT_THAT(order.pieces, ElementsAre(Range{0, 2048}, Range{2048, 2100}));  // whole pages
  EXPECT_EQ(order.partial, DType::kBf16);
  EXPECT_TRUE(order.descending);
  EXPECT_EQ(policy->Rule(step, kHeads, H100()).shared_prefix, 2048);
  EXPECT_THAT(policy->Explain(step, kHeads, H100()), Contains(HasSubstr("reduced apart")));
  // A neighbour that shares nothing, and the kernel is fa3's again.
  std::vector<AttentionRequest> mixed = step;
  mixed.push_back({1, 2100, 0});
  const auto fa3 = Make(AttentionPolicyKind::kFa3);
  EXPECT_EQ(policy->Rule(mixed, kHeads, H100()), fa3->Rule(mixed, kHeads, H100()));
  EXPECT_EQ(FirstOrder(*policy, mixed), FirstOrder(*fa3, mixed));
  EXPECT_THAT(policy->Explain(mixed, kHeads, H100()), Contains(HasSubstr("no cascade")));
  EXPECT_THAT(policy->Explain({{1, 2100, 2050}}, kHeads, H100()),
              Contains("1 request, fewer than 8: no cascade"));
  // Ampere runs fa2.
  const auto fa2 = Make(AttentionPolicyKind::kFa2);
  EXPECT_EQ(policy->Rule(mixed, kHeads, Device(108, 80)),
            fa2->Rule(mixed, kHeads, Device(108, 80)));
}

}  // namespace
}  // namespace batchvar
