#include "sim/plan/step_time.h"

#include <gtest/gtest.h>

#include "tests/plan/devices.h"
#include "tests/shape/models.h"

namespace batchvar {
namespace {

TEST(StepTime, WorkedDecodeStepOfLlama8b) {
  const StepTimeModel model(Llama3_8b(), H100(), 1, DType::kBf16);
  EXPECT_EQ(model.streamed_bytes(), 16'060'522'496 - 2 * 128'256 * 4'096);  // no input embedding
  EXPECT_EQ(model.kv_bytes_per_token(), 131'072);
  const StepCost cost = model.Cost({1, 1, 4096, 4096});
  EXPECT_EQ(cost.overhead, 100'000'000);
  EXPECT_EQ(cost.weight_traffic, 4'480'552'043);  // 15.01 GB / 3.35 TB/s
  EXPECT_EQ(cost.gemm_compute, 15'176'795);       // 2 * 7.5e9 / 989e12
  EXPECT_EQ(cost.kv_traffic, 160'259'974);
  EXPECT_EQ(cost.attention_compute, 2'171'369);
  EXPECT_EQ(cost.allreduce, 0);
  EXPECT_EQ(cost.Total(), 100'000'000 + 4'480'552'043 + 160'259'974);
}

TEST(StepTime, TensorParallelRanksShareWeightsAndTalk) {
  const StepTimeModel model(Llama3_8b(), H100(), 4, DType::kBf16);
  EXPECT_EQ(model.streamed_bytes(), (16'060'522'496 - 2 * 128'256 * 4'096) / 4);
  EXPECT_EQ(model.kv_bytes_per_token(), 131'072 / 4);
  const StepCost cost = model.Cost({64, 64, 0, 0});
  // 64 all-reduces of 64 tokens x 8192 bytes at 450 GB/s
  EXPECT_EQ(cost.allreduce, 74'565'405);
  EXPECT_EQ(cost.kv_traffic, 0);
}

TEST(StepTime, KneeIsTheFirstComputeBoundM) {
  for (const int32_t tp : {1, 2, 8}) {
    for (const ModelSpec& spec : {Llama3_8b(), Qwen3_30b_a3b()}) {
      const StepTimeModel model(spec, H100(), tp, DType::kBf16);
      const int64_t knee = model.KneeM();
      const StepCost at = model.Cost({knee, knee, 0, 0});
      const StepCost before = model.Cost({knee - 1, knee - 1, 0, 0});
      EXPECT_GE(at.gemm_compute, at.weight_traffic);
      EXPECT_LT(before.gemm_compute, before.weight_traffic);
    }
  }
  // Bytes and flops of a dense 16-bit model cancel: peak / bandwidth.
  EXPECT_EQ(StepTimeModel(Llama3_8b(), H100(), 1, DType::kBf16).KneeM(), 296);
}

TEST(StepTime, KvTokensMatchingWeights) {
  const StepTimeModel model(Llama3_8b(), H100(), 1, DType::kBf16);
  EXPECT_EQ(model.KvTokensMatchingWeights(), 114'517);
  const StepCost cost = model.Cost({1, 1, model.KvTokensMatchingWeights(), 0});
  EXPECT_GE(cost.kv_traffic, cost.weight_traffic);
}

TEST(StepTime, LargeLoadsDoNotOverflow) {
  const StepTimeModel model(Llama3_8b(), H100(), 1, DType::kBf16);
  const StepCost cost = model.Cost({1 << 20, 1024, int64_t{1} << 33, int64_t{1} << 40});
  EXPECT_GT(cost.gemm_compute, 0);
  EXPECT_GT(cost.kv_traffic, 0);
  EXPECT_GT(cost.attention_compute, 0);
  EXPECT_GT(cost.Total(), cost.gemm_compute);
}

TEST(NumGpuBlocks, FormulaOfTheConfigReference) {
  DeviceSpec device = H100();
  device.reserve_bytes = 4'000'000'000;
  // (80e9 * 0.9 - 16,060,522,496 - 4e9) / (131072 * 16) = 24766.9...
  EXPECT_EQ(NumGpuBlocks(Llama3_8b(), device, 1, DType::kBf16, 16, 900'000), 24'766);
  EXPECT_GT(NumGpuBlocks(Llama3_8b(), device, 2, DType::kBf16, 16, 900'000), 2 * 24'766);
}

TEST(NumGpuBlocks, RoundsDownBelowZeroToo) {
  DeviceSpec device = H100();
  device.memory_bytes = 16'060'522'496;
  EXPECT_EQ(NumGpuBlocks(Llama3_8b(), device, 1, DType::kBf16, 16, 1'000'000), 0);
  device.memory_bytes -= 1;
  EXPECT_EQ(NumGpuBlocks(Llama3_8b(), device, 1, DType::kBf16, 16, 1'000'000), -1);
}

}  // namespace
}  // namespace batchvar
