#include "sim/config/config_overrides.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/config/experiment_text.h"

namespace batchvar {
namespace {

TEST(Overrides, ReplaceAndAddValues) {
  const ExperimentSpec spec =
      SpecWith("seed: 1\nscheduler: {max_num_seqs: 8}\n",
               {"seed=7", "scheduler.max_num_seqs=64", "scheduler.watermark=0.01",
                "goodput.ttft_ms=200", "workload.prompt_len={uniform: {min: 1, max: 9}}"});
  EXPECT_EQ(spec.seed, 7U);
  EXPECT_EQ(spec.scheduler.max_num_seqs, 64);
  EXPECT_EQ(spec.scheduler.watermark, 0.01);
  EXPECT_EQ(spec.goodput.ttft_ms, 200);
  EXPECT_EQ(spec.workload.synthetic.prompt_len.max, 9);
}

TEST(Overrides, ReachInsideNamedFiles) {
  const ExperimentSpec spec =
      SpecWith("scheduler: vllm_v1\npolicies: batch_invariant\n",
               {"device.sm_count=66", "model.layers=2", "scheduler.max_num_seqs=64",
                "policies.gemm.tile_n=64", "policies.attention.split_size=512"});
  EXPECT_EQ(spec.device.name, "h100_sxm");
  EXPECT_EQ(spec.device.sm_count, 66);
  EXPECT_EQ(spec.device.memory_bytes_per_s, 3350000000000);
  EXPECT_EQ(spec.model.layers, 2);
  EXPECT_EQ(spec.model.hidden_size, 4096);
  EXPECT_EQ(spec.scheduler.max_num_seqs, 64);
  EXPECT_EQ(spec.policies.gemm.kind, GemmPolicyKind::kBatchInvariant);
  EXPECT_EQ(spec.policies.gemm.tile_n, 64);
  EXPECT_EQ(spec.policies.gemm.tile_m, 128);
  EXPECT_EQ(spec.policies.attention.split_size, 512);
}

TEST(Overrides, ReachThroughTheDefaultPolicies) {
  const ExperimentSpec spec = SpecWith("", {"policies.gemm.tile_n=64"});
  EXPECT_EQ(spec.policies.name, "textbook");
  EXPECT_EQ(spec.policies.gemm.tile_n, 64);
  EXPECT_EQ(spec.policies.gemm.k_min, 256);
}

TEST(Overrides, ApplyInOrder) {
  const ExperimentSpec spec =
      SpecWith("", {"device.sm_count=66", "device=l40s", "device.sm_count=70"});
  EXPECT_EQ(spec.device.name, "l40s");
  EXPECT_EQ(spec.device.sm_count, 70);
  EXPECT_EQ(SpecWith("", {"device.sm_count=66", "device=l40s"}).device.sm_count, 142);
}

TEST(Overrides, FillAnEmptySection) {
  EXPECT_EQ(SpecWith("scheduler:\n", {"scheduler.max_num_seqs=64"}).scheduler.max_num_seqs, 64);
}

TEST(Overrides, TakeOneWholeYamlValue) {
  EXPECT_EQ(SpecWith("", {"scheduler.capture_sizes=[1, 8]"}).padding.sizes.size(), 2U);
  EXPECT_EQ(ErrorWith("", {"seed='7'"}),
            "--set seed='7': seed: \"7\" is quoted text, not an integer; remove the quotes");
  EXPECT_EQ(ErrorWith("", {"seed="}),
            "--set seed=: seed: has no value; give one or remove the key");
  EXPECT_EQ(ErrorWith("", {"seed=[1"}),
            "--set seed=[1: seed: the value '[1' is not one YAML value");
  EXPECT_EQ(ErrorWith("", {"goodput={a: 1, a: 2}"}),
            "--set goodput={a: 1, a: 2}: goodput: the value '{a: 1, a: 2}' is not one YAML value");
}

TEST(Overrides, MistakesNameTheFlag) {
  EXPECT_EQ(ErrorWith("", {"seed"}),
            "--set seed: must have the form KEY=VALUE, as in scheduler.max_num_seqs=64");
  EXPECT_EQ(ErrorWith("", {"=3"}),
            "--set =3: must have the form KEY=VALUE, as in scheduler.max_num_seqs=64");
  EXPECT_EQ(ErrorWith("", {"scheduler..x=3"}),
            "--set scheduler..x=3: 'scheduler..x' has an empty key");
  EXPECT_EQ(ErrorWith("", {"scheduler.max_num_seqs=010"}),
            "--set scheduler.max_num_seqs=010: scheduler.max_num_seqs: '010' is not a decimal "
            "integer; write 10");
  EXPECT_EQ(ErrorWith("", {"scheduler.max_num_seq=1"}),
            "--set scheduler.max_num_seq=1: scheduler.max_num_seq: unknown key 'max_num_seq'; did "
            "you mean 'max_num_seqs'?");
  EXPECT_EQ(ErrorWith("", {"shceduler.max_num_seqs=1"}),
            "--set shceduler.max_num_seqs=1: shceduler: unknown key 'shceduler'; did you mean "
            "'scheduler'?");
  EXPECT_EQ(ErrorWith("", {"device=h100_sxx"}).substr(0, 76),
            "--set device=h100_sxx: device: unknown device 'h100_sxx'; did you mean 'h100");
}

TEST(Overrides, CannotGoBelowAPlainValue) {
  EXPECT_EQ(ErrorWith("seed: 3\n", {"seed.x=1"}),
            "--set seed.x=1: seed: is a single value and has no keys of its own; set it as a "
            "whole");
  EXPECT_EQ(ErrorWith("scheduler: {capture_sizes: [1]}\n", {"scheduler.capture_sizes.0=1"}),
            "--set scheduler.capture_sizes.0=1: scheduler.capture_sizes: is a list and has no keys "
            "of its own; set it as a whole");
  EXPECT_EQ(ErrorOf("model: nope\n", {"model.layers=1"}).substr(0, 44),
            "exp.yaml:1:8: model: unknown model 'nope' (k");
}

TEST(Overrides, ABareValueStaysAPolicyNameWithParameters) {
  const ExperimentSpec spec =
      SpecWith("policies: {gemm: batch_invariant}\n", {"policies.gemm.tile_m=64"});
  EXPECT_EQ(spec.policies.gemm.kind, GemmPolicyKind::kBatchInvariant);
  EXPECT_EQ(spec.policies.gemm.tile_m, 64);
}

TEST(Overrides, CarryTheFlagAsThePlaceForJson) {
  const absl::StatusOr<ExperimentSpec> spec = LoadText(kHead, {"tp=x"});
  const Location where = LocationOf(spec.status());
  EXPECT_EQ(where.file, "--set tp=x");
  EXPECT_EQ(where.line, 0);
  EXPECT_EQ(where.field, "tp");
}

}  // namespace
}  // namespace batchvar
