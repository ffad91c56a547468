#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/config/load_experiment.h"
#include "tests/config/experiment_text.h"

namespace batchvar {
namespace {

// What a scheduler section of these keys is refused with; it is on line 4, its keys from column 13.
std::string SchedulerError(const std::string& keys) {
  return ErrorWith("scheduler: {" + keys + "}\n");
}

ExperimentSpec SchedulerSpec(const std::string& keys) {
  return SpecWith("scheduler: {" + keys + "}\n");
}

TEST(LoadScheduler, DefaultsAreThoseOfVllm) {
  const ExperimentSpec spec = SpecWith("");
  const SchedulerConfig& config = spec.scheduler;
  EXPECT_EQ(config.policy, SchedulerPolicy::kVllmV1);
  EXPECT_EQ(config.max_num_batched_tokens, 8192);
  EXPECT_EQ(config.max_num_seqs, 1024);
  EXPECT_EQ(config.max_model_len, 8192);
  EXPECT_EQ(config.block_size, 16);
  EXPECT_TRUE(config.enable_chunked_prefill);
  EXPECT_TRUE(config.enable_prefix_caching);
  EXPECT_TRUE(config.async_scheduling);
  EXPECT_TRUE(config.scheduler_reserve_full_isl);
  EXPECT_EQ(config.watermark, 0);
  EXPECT_EQ(config.priority, QueuePriority::kFcfs);
  EXPECT_EQ(config.output_ends_by, OutputEndsBy::kEos);
  EXPECT_EQ(spec.padding.mode, PaddingMode::kCapture);
  EXPECT_EQ(spec.padding.rule, CaptureRule::kVllm032);
  EXPECT_EQ(spec.padding.sizes.size(), 51U);
  EXPECT_EQ(spec.padding.sizes.back(), 512);
}

TEST(LoadScheduler, BatchDefaultsFollowTheDevice) {
  struct Case {
    const char* device;
    int32_t tokens;
    int32_t seqs;
  };
  // b200: at least 160 GiB. a100_sxm: 80 GiB, but an A100. rtx_pro_6000: 95 GiB.
  for (const Case& expected : {Case{"b200", 16384, 1024},
                               {"h200_sxm", 8192, 1024},
                               {"h20", 8192, 1024},
                               {"rtx_pro_6000", 8192, 1024},
                               {"a100_sxm", 2048, 256},
                               {"l40s", 2048, 256},
                               {"rtx4090", 2048, 256}}) {
    const ExperimentSpec spec = SpecWith("", {std::string("device=") + expected.device});
    EXPECT_EQ(spec.scheduler.max_num_batched_tokens, expected.tokens) << expected.device;
    EXPECT_EQ(spec.scheduler.max_num_seqs, expected.seqs) << expected.device;
  }
}

TEST(LoadScheduler, ADefaultGivesWayToTheOtherLimit) {
  const SchedulerConfig small = SchedulerSpec("max_num_batched_tokens: 512").scheduler;
  EXPECT_EQ(small.max_num_batched_tokens, 512);
  EXPECT_EQ(small.max_num_seqs, 512);
  const SchedulerConfig one = SchedulerSpec("max_num_seqs: 1, max_model_len: 100").scheduler;
  EXPECT_EQ(one.max_num_batched_tokens, 100);
  const SchedulerConfig whole =
      SpecWith("scheduler: {enable_chunked_prefill: false}\n", {"model=qwen3_0_6b"}).scheduler;
  EXPECT_EQ(whole.max_num_batched_tokens, 40960);
}

TEST(LoadScheduler, ReadsEveryKey) {
  const ExperimentSpec spec = SchedulerSpec(
      "policy: vllm_v1, max_num_batched_tokens: 4096, max_num_seqs: 64, max_model_len: 2048,\n"
      "block_size: 32, num_gpu_blocks: 500, gpu_memory_utilization: 0.5,\n"
      "enable_chunked_prefill: false, chunk_alignment: 64, long_prefill_token_threshold: 256,\n"
      "long_prefill_token_threshold_adaptive: true, enable_prefix_caching: false,\n"
      "async_scheduling: false, scheduler_reserve_full_isl: false, watermark: 0.01,\n"
      "priority: priority, output_ends_by: length, padding: capture, capture_sizes: auto,\n"
      "capture_version: vllm_0_9_2");
  const SchedulerConfig& config = spec.scheduler;
  EXPECT_EQ(config.max_num_batched_tokens, 4096);
  EXPECT_EQ(config.max_num_seqs, 64);
  EXPECT_EQ(config.max_model_len, 2048);
  EXPECT_EQ(config.block_size, 32);
  EXPECT_EQ(config.num_gpu_blocks, 500);
  EXPECT_EQ(spec.gpu_memory_utilization, 0.5);
  EXPECT_FALSE(config.enable_chunked_prefill);
  EXPECT_EQ(config.chunk_alignment, 64);
  EXPECT_EQ(config.long_prefill_token_threshold, 256);
  EXPECT_TRUE(config.long_prefill_token_threshold_adaptive);
  EXPECT_FALSE(config.enable_prefix_caching);
  EXPECT_FALSE(config.async_scheduling);
  EXPECT_FALSE(config.scheduler_reserve_full_isl);
  EXPECT_EQ(config.watermark, 0.01);
  EXPECT_EQ(config.priority, QueuePriority::kPriority);
  EXPECT_EQ(config.output_ends_by, OutputEndsBy::kLength);
  EXPECT_EQ(spec.padding.rule, CaptureRule::kVllm092);
  EXPECT_EQ(spec.padding.sizes.size(), 67U);
}

TEST(LoadScheduler, ChecksValues) {
  EXPECT_EQ(SchedulerError("max_num_seq: 4"),
            "exp.yaml:4:13: scheduler.max_num_seq: unknown key 'max_num_seq'; did you mean "
            "'max_num_seqs'?");
  EXPECT_EQ(SchedulerError("max_num_seqs: 010"),
            "exp.yaml:4:27: scheduler.max_num_seqs: '010' is not a decimal integer; write 10");
  EXPECT_EQ(SchedulerError("max_num_seqs: \"64\""),
            "exp.yaml:4:27: scheduler.max_num_seqs: \"64\" is quoted text, not an integer; remove "
            "the quotes");
  EXPECT_EQ(SchedulerError("max_num_seqs: 0"),
            "exp.yaml:4:27: scheduler.max_num_seqs: must be between 1 and 16777216, got 0");
  EXPECT_EQ(SchedulerError("block_size: 0"),
            "exp.yaml:4:25: scheduler.block_size: must be between 1 and 16777216, got 0");
  EXPECT_EQ(SchedulerError("async_scheduling: no"),
            "exp.yaml:4:31: scheduler.async_scheduling: 'no' is not a boolean; write false");
  EXPECT_EQ(SchedulerError("watermark: 1"),
            "exp.yaml:4:24: scheduler.watermark: must be at least 0 and below 1, got 1");
  EXPECT_EQ(SchedulerError("gpu_memory_utilization: 0"),
            "exp.yaml:4:37: scheduler.gpu_memory_utilization: must be above 0 and at most 1, got "
            "0");
  EXPECT_EQ(
      SchedulerError("gpu_memory_utilization: 90%"),
      "exp.yaml:4:37: scheduler.gpu_memory_utilization: '90%' is not a finite decimal number");
  EXPECT_EQ(SchedulerError("max_model_len: 8193"),
            "exp.yaml:4:28: scheduler.max_model_len: must be between 2 and 8192, got 8193");
  EXPECT_EQ(SchedulerError("max_model_len: \"auto\""),
            "exp.yaml:4:28: scheduler.max_model_len: \"auto\" is quoted text, not an integer; "
            "remove the quotes");
  EXPECT_EQ(SchedulerError("output_ends_by: eso"),
            "exp.yaml:4:29: scheduler.output_ends_by: 'eso' is not one of eos, length; did you "
            "mean 'eos'?");
  EXPECT_EQ(ErrorWith("scheduler: 3\n").substr(0, 51),
            "exp.yaml:4:12: scheduler: unknown scheduler '3' (kn");
  EXPECT_EQ(ErrorWith("scheduler: [static]\n"),
            "exp.yaml:4:12: scheduler: must be a map of keys, not a list");
}

TEST(LoadScheduler, ExplainsVllmsOwnPolicyKey) {
  EXPECT_EQ(SchedulerError("policy: fcfs"),
            "exp.yaml:4:21: scheduler.policy: is the scheduler here (vllm_v1, static, orca, "
            "sglang); for vLLM's own `policy: fcfs` write `priority: fcfs`");
  EXPECT_EQ(SchedulerError("policy: priority"),
            "exp.yaml:4:21: scheduler.policy: is the scheduler here (vllm_v1, static, orca, "
            "sglang); for vLLM's own `policy: priority` write `priority: priority`");
  EXPECT_EQ(SchedulerError("policy: vllm_v2"),
            "exp.yaml:4:21: scheduler.policy: 'vllm_v2' is not one of vllm_v1, static, orca, "
            "sglang; did you mean 'vllm_v1'?");
}

TEST(LoadScheduler, RefusesKeysThatThePolicyDoesNotUse) {
  EXPECT_EQ(SchedulerError("policy: static, max_num_batched_tokens: 64"),
            "exp.yaml:4:29: scheduler.max_num_batched_tokens: belongs to policy 'vllm_v1' and is "
            "not used by policy 'static'; remove it");
  for (const char* key :
       {"enable_chunked_prefill: true", "chunk_alignment: 8", "long_prefill_token_threshold: 8",
        "long_prefill_token_threshold_adaptive: true", "enable_prefix_caching: true",
        "async_scheduling: true", "scheduler_reserve_full_isl: true", "watermark: 0.1",
        "priority: fcfs"}) {
    EXPECT_NE(SchedulerError(std::string("policy: orca, ") + key)
                  .find("is not used by policy 'orca'; remove it"),
              std::string::npos)
        << key;
    EXPECT_EQ(SchedulerError(key), "ok") << key;
  }
}

TEST(LoadScheduler, WhatAPolicyDoesNotUseIsOff) {
  const SchedulerConfig config =
      SchedulerSpec("policy: static, max_num_seqs: 32, output_ends_by: length, padding: exact")
          .scheduler;
  EXPECT_EQ(config.policy, SchedulerPolicy::kStatic);
  EXPECT_EQ(config.max_num_seqs, 32);
  EXPECT_FALSE(config.enable_chunked_prefill);
  EXPECT_FALSE(config.enable_prefix_caching);
  EXPECT_FALSE(config.async_scheduling);
  EXPECT_FALSE(config.scheduler_reserve_full_isl);
}

TEST(LoadScheduler, ANameMeansTheSameAsItsPolicy) {
  for (const char* name : {"vllm_v1", "static", "orca", "sglang"}) {
    const std::string by_name = ExpandToYaml(SpecWith("scheduler: " + std::string(name) + "\n"));
    const std::string by_policy =
        ExpandToYaml(SpecWith("scheduler: {policy: " + std::string(name) + "}\n"));
    EXPECT_EQ(by_name, by_policy);
    EXPECT_NE(by_name.find(std::string("policy: ") + name), std::string::npos);
  }
}

TEST(LoadScheduler, RefusesCombinationsThatVllmRefuses) {
  EXPECT_EQ(SchedulerError("max_num_seqs: 64, max_num_batched_tokens: 32"),
            "exp.yaml:4:27: scheduler.max_num_seqs: is more than max_num_batched_tokens, 32; lower "
            "one or raise the other");
  EXPECT_EQ(SchedulerError("enable_chunked_prefill: false, max_num_batched_tokens: 4096"),
            "exp.yaml:4:37: scheduler.enable_chunked_prefill: false needs a max_num_batched_tokens "
            "of at least max_model_len, 8192, but it is 4096");
  EXPECT_EQ(SchedulerError("chunk_alignment: 9000"),
            "exp.yaml:4:30: scheduler.chunk_alignment: is more than max_num_batched_tokens, 8192, "
            "so no chunk could be cut");
}

TEST(LoadScheduler, AutoBlocksFollowMemoryAndUtilization) {
  // (85,520,809,984 * 0.9 - 16,060,522,496 - 1.7e9) / (2 * 32 * 8 * 128 * 2 * 16)
  EXPECT_EQ(SpecWith("").scheduler.num_gpu_blocks, 28232);
  EXPECT_EQ(SchedulerSpec("num_gpu_blocks: auto, max_model_len: auto").scheduler.num_gpu_blocks,
            28232);
  EXPECT_EQ(SchedulerSpec("block_size: 32").scheduler.num_gpu_blocks, 14116);
  EXPECT_LT(SchedulerSpec("gpu_memory_utilization: 0.5").scheduler.num_gpu_blocks, 28232 / 2);
}

TEST(LoadScheduler, OneSequenceMustFit) {
  EXPECT_EQ(SchedulerError("num_gpu_blocks: 512"),
            "exp.yaml:4:29: scheduler.num_gpu_blocks: one sequence of max_model_len 8192 does not "
            "fit: the KV cache's 512 blocks hold 8176 tokens; lower scheduler.max_model_len to "
            "8176 or less");
  EXPECT_EQ(SchedulerError("num_gpu_blocks: 513"), "ok");  // block 0 is the null block
  EXPECT_EQ(SchedulerError("max_model_len: 64, num_gpu_blocks: 4"),
            "exp.yaml:4:28: scheduler.max_model_len: one sequence of max_model_len 64 does not "
            "fit: the KV cache's 4 blocks hold 48 tokens; lower scheduler.max_model_len to 48 or "
            "less");
  EXPECT_EQ(ErrorWith("scheduler: static\n", {"model=llama31_8b", "device=rtx4090"}),
            "exp.yaml:4:1: scheduler.max_model_len: one sequence of max_model_len 131072 does not "
            "fit: the KV cache's 2584 blocks hold 41328 tokens; lower scheduler.max_model_len to "
            "41328 or less");
  EXPECT_EQ(ErrorWith("", {"model=llama3_70b"}),
            "exp.yaml:1:1: scheduler.num_gpu_blocks: the weights of llama3_70b on 1 x h100_sxm "
            "leave no memory for a KV cache; raise tp or scheduler.gpu_memory_utilization");
  EXPECT_EQ(ErrorWith("tp: 4\n", {"model=llama3_70b"}), "ok");
}

TEST(LoadPadding, ReadsAnExplicitList) {
  const PaddingSpec padding = SchedulerSpec("capture_sizes: [1, 8, 64]").padding;
  EXPECT_FALSE(padding.sizes_auto);
  EXPECT_EQ(padding.sizes, (std::vector<int32_t>{1, 8, 64}));
  EXPECT_TRUE(SchedulerSpec("padding: exact").padding.sizes.empty());
}

TEST(LoadPadding, ChecksTheList) {
  EXPECT_EQ(SchedulerError("capture_sizes: [1, 8, 8]"),
            "exp.yaml:4:28: scheduler.capture_sizes: must ascend, but 8 follows 8");
  EXPECT_EQ(SchedulerError("capture_sizes: [8, 4]"),
            "exp.yaml:4:28: scheduler.capture_sizes: must ascend, but 4 follows 8");
  EXPECT_EQ(SchedulerError("capture_sizes: [1, 08]"),
            "exp.yaml:4:32: scheduler.capture_sizes[1]: '08' is not a decimal integer; write 8");
  EXPECT_EQ(SchedulerError("capture_sizes: []"),
            "exp.yaml:4:28: scheduler.capture_sizes: is empty; write 'padding: exact' instead");
  EXPECT_EQ(SchedulerError("capture_sizes: 8"),
            "exp.yaml:4:28: scheduler.capture_sizes: must be a list of integers, not a single "
            "value");
}

TEST(LoadPadding, RefusesKeysWithoutAUse) {
  EXPECT_EQ(SchedulerError("padding: exact, capture_sizes: auto"),
            "exp.yaml:4:29: scheduler.capture_sizes: is not used by 'padding: exact'; remove it");
  EXPECT_EQ(SchedulerError("capture_version: vllm_0_11, capture_sizes: [1]"),
            "exp.yaml:4:13: scheduler.capture_version: is not used by a list of capture_sizes; "
            "remove it");
  EXPECT_EQ(SchedulerError("capture_version: vllm_0_13"),
            "exp.yaml:4:30: scheduler.capture_version: 'vllm_0_13' is not one of vllm_0_9_2, "
            "vllm_0_11, vllm_0_12, vllm_0_32, sglang_2025, sglang_0_5_23; did you mean "
            "'vllm_0_11'?");
}

}  // namespace
}  // namespace batchvar
