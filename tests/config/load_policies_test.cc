#include <gtest/gtest.h>

#include <string>

#include "sim/config/load_experiment.h"
#include "tests/config/experiment_text.h"

namespace batchvar {
namespace {

// The value of `policies` begins in column 11 of line 4.
std::string PolicyError(const std::string& value) { return ErrorWith("policies: " + value + "\n"); }

PolicySpec Policies(const std::string& value) {
  return SpecWith("policies: " + value + "\n").policies;
}

TEST(LoadPolicies, TheDefaultIsTextbook) {
  const PolicySpec policies = SpecWith("").policies;
  EXPECT_EQ(policies.name, "textbook");
  EXPECT_EQ(policies.gemm.kind, GemmPolicyKind::kTextbook);
  EXPECT_EQ(policies.gemm.tile_m, 16);
  EXPECT_EQ(policies.gemm.k_min, 256);
  EXPECT_EQ(policies.attention.max_split, 32);
  EXPECT_EQ(policies.norm.kind, NormPolicyKind::kNormInvariant);
  EXPECT_EQ(policies.allreduce.kind, AllReducePolicyKind::kOneShot);
}

TEST(LoadPolicies, TilesOfBatchInvariantFollowTheDtype) {
  const GemmPolicySpec bf16 = Policies("batch_invariant").gemm;
  EXPECT_EQ(bf16.kind, GemmPolicyKind::kBatchInvariant);
  EXPECT_EQ(bf16.tile_m, 128);
  EXPECT_EQ(bf16.tile_n, 128);
  EXPECT_EQ(bf16.tile_k, 64);
  const GemmPolicySpec fp16 = SpecWith("policies: batch_invariant\ndtype: fp16\n").policies.gemm;
  EXPECT_EQ(fp16.tile_n, 256);
  const GemmPolicySpec own = Policies("{gemm: {name: batch_invariant, tile_n: 64}}").gemm;
  EXPECT_EQ(own.tile_m, 128);
  EXPECT_EQ(own.tile_n, 64);
}

TEST(LoadPolicies, ReadsBareNamesAndMaps) {
  const PolicySpec policies = Policies(
      "{gemm: {name: textbook, tile_m: 32, max_split: 8}, attention: batch_invariant, "
      "norm: norm_vllm, allreduce: {name: one_shot}}");
  EXPECT_EQ(policies.name, "inline");
  EXPECT_EQ(policies.gemm.tile_m, 32);
  EXPECT_EQ(policies.gemm.tile_n, 128);
  EXPECT_EQ(policies.gemm.max_split, 8);
  EXPECT_EQ(policies.attention.kind, AttentionPolicyKind::kBatchInvariant);
  EXPECT_EQ(policies.attention.split_size, 2048);
  EXPECT_EQ(policies.norm.kind, NormPolicyKind::kNormVllm);
}

TEST(LoadPolicies, NamesWhatThisVersionHas) {
  EXPECT_EQ(PolicyError("vllm_h100"),
            "exp.yaml:4:11: policies: the preset 'vllm_h100' needs policies that are not in this "
            "version; it has batch_invariant, textbook");
  EXPECT_EQ(PolicyError("sglang_h100"),
            "exp.yaml:4:11: policies: the preset 'sglang_h100' needs policies that are not in this "
            "version; it has batch_invariant, textbook");
  EXPECT_EQ(PolicyError("textbok"),
            "exp.yaml:4:11: policies: unknown policy preset 'textbok'; did you mean 'textbook'? "
            "(known: batch_invariant, textbook)");
  EXPECT_EQ(PolicyError("{attention: fa3}"),
            "exp.yaml:4:23: policies.attention.name: 'fa3' is not one of textbook, "
            "batch_invariant");
  EXPECT_EQ(PolicyError("{gemm: {name: text_book}}"),
            "exp.yaml:4:25: policies.gemm.name: 'text_book' is not one of textbook, "
            "batch_invariant; did you mean 'textbook'?");
  EXPECT_EQ(PolicyError("{moe: moe_vllm}"),
            "exp.yaml:4:17: policies.moe: there is no choice of MoE policy in this version; remove "
            "it");
}

TEST(LoadPolicies, RefusesParametersThatThePolicyDoesNotUse) {
  EXPECT_EQ(PolicyError("{gemm: {name: batch_invariant, k_min: 64}}"),
            "exp.yaml:4:42: policies.gemm.k_min: is not used by policy 'batch_invariant'; remove "
            "it");
  EXPECT_EQ(PolicyError("{attention: {name: textbook, split_size: 64}}"),
            "exp.yaml:4:40: policies.attention.split_size: is not used by policy 'textbook'; "
            "remove it");
  EXPECT_EQ(PolicyError("{attention: {name: batch_invariant, max_split: 64}}"),
            "exp.yaml:4:47: policies.attention.max_split: is not used by policy 'batch_invariant'; "
            "remove it");
  EXPECT_EQ(PolicyError("{norm: {name: norm_vllm, tile_m: 8}}"),
            "exp.yaml:4:36: policies.norm.tile_m: unknown key 'tile_m'");
  EXPECT_EQ(PolicyError("{gemm: {tile_m: 0}}"),
            "exp.yaml:4:27: policies.gemm.tile_m: must be between 1 and 16777216, got 0");
}

TEST(LoadPolicies, LeavesDtypeDependentTilesOpenByItself) {
  const absl::StatusOr<PolicySpec> policies = LoadPolicies("batch_invariant");
  ASSERT_TRUE(policies.ok()) << policies.status();
  EXPECT_EQ(policies->name, "batch_invariant");
  EXPECT_EQ(policies->gemm.tile_n, 0);
  EXPECT_EQ(policies->attention.split_size, 2048);
  EXPECT_FALSE(LoadPolicies("vllm_h100").ok());
}

}  // namespace
}  // namespace batchvar
