#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/config/load_experiment.h"
#include "tests/config/experiment_text.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

std::string SglangError(const std::string& keys) {
  return ErrorWith("scheduler: {policy: sglang, " + keys + "}\n");
}

ExperimentSpec SglangSpec(const std::string& keys, const std::vector<std::string>& overrides = {}) {
  return SpecWith("scheduler: {policy: sglang" + (keys.empty() ? "" : ", " + keys) + "}\n",
                  overrides);
}

TEST(LoadSglang, DefaultsAreThoseOfTheServer) {
  const ExperimentSpec spec = SglangSpec("");
  const SglangConfig& sglang = spec.scheduler.sglang;
  EXPECT_EQ(spec.scheduler.policy, SchedulerPolicy::kSglang);
  EXPECT_EQ(spec.scheduler.max_model_len, 8192);
  EXPECT_EQ(sglang.page_size, 1);
  EXPECT_EQ(sglang.chunked_prefill_size, 8192);
  EXPECT_EQ(sglang.max_prefill_tokens, 16384);
  EXPECT_EQ(sglang.prefill_max_requests, 0);
  EXPECT_EQ(sglang.schedule_policy, SchedulePolicy::kFcfs);
  EXPECT_FALSE(sglang.enable_mixed_chunk);
  EXPECT_FALSE(sglang.disable_radix_cache);
  EXPECT_EQ(sglang.schedule_conservativeness, 1.0);
  EXPECT_FALSE(sglang.disable_overlap_schedule);
  EXPECT_EQ(sglang.TruncationAlignSize(), 0);
  EXPECT_FALSE(sglang.ignore_eos);
  EXPECT_TRUE(spec.padding.by_phase);
  EXPECT_EQ(spec.padding.rule, CaptureRule::kSglang0523);
  EXPECT_EQ(spec.padding.cuda_graph_max_bs, 256);
  EXPECT_EQ(spec.padding.sizes.back(), 256);
  EXPECT_TRUE(spec.padding.prefill_sizes.empty());
}

TEST(LoadSglang, MemoryIsSharedOutAsTheServerDoes) {
  // 81,559 MiB less 512 + 1.5 * 8192 + 2 * 256 + 128, to three digits.
  const ExperimentSpec spec = SglangSpec("");
  EXPECT_EQ(spec.gpu_memory_utilization, 0.835);
  // (85,520,809,984 * 0.835 - 16,060,522,496) / 131,072 bytes a token
  EXPECT_EQ(spec.scheduler.sglang.max_total_tokens, 422282);
  EXPECT_EQ(spec.scheduler.sglang.max_running_requests, 4096);  // 422,282 / 8192 * 512, at most
  const ExperimentSpec half = SglangSpec("mem_fraction_static: 0.5, page_size: 64");
  EXPECT_EQ(half.scheduler.sglang.max_total_tokens % 64, 0);
  EXPECT_LT(half.scheduler.sglang.max_total_tokens, 422281 / 2);
  EXPECT_EQ(SglangSpec("max_total_tokens: 2000").scheduler.sglang.max_running_requests, 1000);
}

TEST(LoadSglang, DefaultsFollowTheDevice) {
  struct Case {
    const char* device;
    int32_t chunk;
    int32_t graph;
  };
  for (const Case& expected : {Case{"b200", 16384, 512},
                               {"h200_sxm", 8192, 256},
                               {"a100_sxm", 8192, 256},
                               {"l40s", 4096, 32},
                               {"rtx4090", 4096, 24}}) {
    const ExperimentSpec spec = SglangSpec("", {std::string("device=") + expected.device});
    EXPECT_EQ(spec.scheduler.sglang.chunked_prefill_size, expected.chunk) << expected.device;
    EXPECT_EQ(spec.padding.cuda_graph_max_bs, expected.graph) << expected.device;
  }
  EXPECT_EQ(SglangSpec("", {"tp=4"}).padding.cuda_graph_max_bs, 512);
}

TEST(LoadSglang, ReadsEveryKey) {
  const ExperimentSpec spec = SglangSpec(
      "context_length: 4096, page_size: 16, max_total_tokens: 60000, mem_fraction_static: 0.8,\n"
      "chunked_prefill_size: 2048, max_prefill_tokens: 1000, prefill_max_requests: 3,\n"
      "max_running_requests: 64, schedule_policy: lpm, enable_mixed_chunk: true,\n"
      "disable_radix_cache: true, schedule_conservativeness: 0.3, disable_overlap_schedule: true,\n"
      "enable_deterministic_inference: true, attention_backend: flashinfer,\n"
      "flashinfer_prefill_split_tile_size: 512, ignore_eos: true, output_ends_by: length,\n"
      "padding: capture, capture_sizes: auto, capture_version: sglang_2025,\n"
      "cuda_graph_max_bs: 40, enable_piecewise_cuda_graph: true");
  const SglangConfig& sglang = spec.scheduler.sglang;
  EXPECT_EQ(spec.scheduler.max_model_len, 4096);
  EXPECT_EQ(sglang.page_size, 16);
  EXPECT_EQ(sglang.max_total_tokens, 60000);
  EXPECT_EQ(spec.gpu_memory_utilization, 0.8);
  EXPECT_EQ(sglang.chunked_prefill_size, 2048);
  EXPECT_EQ(sglang.max_prefill_tokens, 1000);
  EXPECT_EQ(sglang.prefill_max_requests, 3);
  EXPECT_EQ(sglang.max_running_requests, 64);
  EXPECT_EQ(sglang.schedule_policy, SchedulePolicy::kLpm);
  EXPECT_TRUE(sglang.enable_mixed_chunk);
  EXPECT_TRUE(sglang.disable_radix_cache);
  EXPECT_EQ(sglang.schedule_conservativeness, 0.3);
  EXPECT_TRUE(sglang.disable_overlap_schedule);
  EXPECT_EQ(sglang.TruncationAlignSize(), 512);
  EXPECT_TRUE(sglang.ignore_eos);
  EXPECT_EQ(spec.padding.sizes, (std::vector<int32_t>{1, 2, 4, 8, 16, 24, 32, 40}));
  EXPECT_EQ(spec.padding.prefill_sizes.back(), 2048);
}

TEST(LoadSglang, ChunksAreCutOffByMinusOne) {
  EXPECT_EQ(SglangSpec("chunked_prefill_size: -1").scheduler.sglang.chunked_prefill_size, -1);
  EXPECT_EQ(SglangSpec("chunked_prefill_size: auto").scheduler.sglang.chunked_prefill_size, 8192);
  EXPECT_EQ(SglangError("chunked_prefill_size: 0"),
            "exp.yaml:4:51: scheduler.chunked_prefill_size: must be -1 (prompts are not cut) or a "
            "multiple of page_size, 1, got 0");
  EXPECT_THAT(
      SglangError("page_size: 16, chunked_prefill_size: 100"),
      HasSubstr("must be -1 (prompts are not cut) or a multiple of page_size, 16, got 100"));
}

// A key pasted under the wrong engine is told whose it is, and what it is called here.
TEST(LoadSglang, KeysOfOtherPoliciesAreNamed) {
  EXPECT_EQ(SglangError("max_num_seqs: 64"),
            "exp.yaml:4:29: scheduler.max_num_seqs: belongs to policies 'vllm_v1', 'static', "
            "'orca' and is not used by policy 'sglang'; remove it, or see max_running_requests");
  EXPECT_EQ(SglangError("watermark: 0.1"),
            "exp.yaml:4:29: scheduler.watermark: belongs to policy 'vllm_v1' and is not used by "
            "policy 'sglang'; remove it, or see schedule_conservativeness");
  EXPECT_EQ(ErrorWith("scheduler: {chunked_prefill_size: 64}\n"),
            "exp.yaml:4:13: scheduler.chunked_prefill_size: belongs to policy 'sglang' and is not "
            "used by policy 'vllm_v1'; remove it, or see max_num_batched_tokens");
  EXPECT_EQ(ErrorWith("scheduler: {policy: static, disable_overlap_schedule: true}\n"),
            "exp.yaml:4:29: scheduler.disable_overlap_schedule: belongs to policy 'sglang' and is "
            "not used by policy 'static'; remove it");
  EXPECT_THAT(SglangError("capture_version: vllm_0_32"),
              HasSubstr("vllm_0_32 is a rule of another engine than policy 'sglang'"));
  EXPECT_THAT(ErrorWith("scheduler: {capture_version: sglang_0_5_23}\n"),
              HasSubstr("sglang_0_5_23 is a rule of another engine than policy 'vllm_v1'"));
}

TEST(LoadSglang, RefusesWhatTheServerRefuses) {
  EXPECT_THAT(SglangError("enable_deterministic_inference: true, chunked_prefill_size: 2048"),
              HasSubstr("2048 is less than the length to which deterministic mode aligns first "
                        "chunks, 4096: a longer prompt would wait for ever (sglang#36344)"));
  EXPECT_EQ(SglangError("enable_deterministic_inference: true, attention_backend: fa3, "
                        "chunked_prefill_size: 2048"),
            "ok");
  EXPECT_THAT(SglangError("attention_backend: fa3"),
              HasSubstr("is not used by 'enable_deterministic_inference: false'; remove it"));
  EXPECT_THAT(SglangError("max_total_tokens: 1000, max_running_requests: 501"),
              HasSubstr("is more than half of max_total_tokens, 1000, to which the server cuts it; "
                        "write 500"));
  EXPECT_THAT(SglangError("page_size: 16, max_total_tokens: 1000"),
              HasSubstr("must be a multiple of page_size, 16; write 992"));
  EXPECT_THAT(SglangError("ignore_eos: true"), HasSubstr("true needs 'output_ends_by: length'"));
  EXPECT_THAT(SglangError("max_total_tokens: 5"), HasSubstr("5 tokens hold no request"));
  EXPECT_THAT(SglangError("schedule_policy: random"), HasSubstr("is not one of fcfs, lpm"));
  EXPECT_THAT(SglangError("schedule_conservativeness: 0"), HasSubstr("must be above 0"));
  EXPECT_THAT(SglangError("padding: exact, cuda_graph_max_bs: 8"),
              HasSubstr("is not used by 'padding: exact'; remove it"));
}

TEST(LoadSglang, ExpandedItReadsBackAsItself) {
  for (const char* keys :
       {"", "page_size: 16, chunked_prefill_size: -1, padding: exact",
        "enable_deterministic_inference: true, schedule_policy: lpm, max_total_tokens: 30000",
        "enable_deterministic_inference: true, attention_backend: triton",
        "capture_sizes: [1, 8], enable_piecewise_cuda_graph: true",
        "cuda_graph_max_bs: 24, ignore_eos: true, output_ends_by: length"}) {
    const std::string expanded = ExpandToYaml(SglangSpec(keys));
    const auto again = LoadExperimentText(expanded, "expanded", ".", {});
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << expanded;
    EXPECT_EQ(ExpandToYaml(*again), expanded);
  }
}

}  // namespace
}  // namespace batchvar
