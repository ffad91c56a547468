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
  EXPECT_EQ(PolicyError("textbok"),
            "exp.yaml:4:11: policies: unknown policy preset 'textbok'; did you mean 'textbook'? "
            "(known: batch_invariant, sglang_h100, textbook, vllm_h100)");
  EXPECT_EQ(PolicyError("{attention: fa4}"),
            "exp.yaml:4:23: policies.attention.name: 'fa4' is not one of textbook, "
            "batch_invariant, fa2, fa3, flashinfer, vllm_triton, sglang_triton, paged_v1_v2, "
            "cascade; did you mean 'fa2'?");
  EXPECT_EQ(PolicyError("{gemm: {name: text_book}}"),
            "exp.yaml:4:25: policies.gemm.name: 'text_book' is not one of textbook, "
            "batch_invariant, cutlass_splitk, stream_k, deepgemm, gemv, table, nv_heuristics; did "
            "you mean 'textbook'?");
}

TEST(LoadPolicies, EveryPolicyReadsBackFromItsExpandedForm) {
  const char* const texts[] = {
      "vllm_h100",
      "sglang_h100",
      "{gemm: {name: cutlass_splitk, split_k: 4, mode: parallel}}",
      "{gemm: {name: stream_k, generation: 2, occupancy: 2}}",
      "{gemm: {name: stream_k, mode: split_k, splits: 4, cluster_m: 2}}",
      "{gemm: {name: deepgemm, arch: sm100}}",
      "{gemm: {name: gemv, m_max: 4, then: {name: stream_k}}}",
      "{gemm: {name: table, path: t.csv, gpu: H100, layout: tn, slice_k: false}}",
      "{gemm: {name: nv_heuristics, library: lib.so}}",
      "{gemm: {name: nv_heuristics, library: lib.so, gpu: H100_SXM, backend: triton, layout: tn, "
      "auto_tune: false, candidates: 1}}",
      "{gemm: {name: batch_invariant, variant: sglang}}",
      "{attention: {name: fa2, num_splits: 3}, allreduce: two_shot}",
      "{attention: {name: fa3, varlen: false}, allreduce: {name: ring, channels: 2}}",
      "{attention: {name: flashinfer, fixed_split_size: 2048}, allreduce: exact}",
      "{attention: {name: vllm_triton, segments: 1}, allreduce: {name: vllm, fallback: tree}}",
      "{attention: {name: sglang_triton, split_tile_size: 256}, allreduce: sglang}",
      "{attention: paged_v1_v2, allreduce: {name: one_shot_up_to, max_bytes: 65536}}",
      "{attention: cascade}",
      "{attention: {name: batch_invariant, prefix_apart: true}}",
  };
  for (const char* text : texts) {
    const std::string once = ExpandToYaml(SpecWith("policies: " + std::string(text) + "\n"));
    const auto again = LoadExperimentText(once, "again.yaml", ".", {});
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(ExpandToYaml(*again), once) << text;
  }
}

TEST(LoadPolicies, TheLayoutOfNvHeuristicsFollowsTheBackend) {
  const GemmPolicySpec generic = Policies("{gemm: {name: nv_heuristics, library: l}}").gemm;
  EXPECT_EQ(generic.backend, NvBackend::kGeneric);
  EXPECT_EQ(generic.layout, TableLayout::kTn);
  EXPECT_TRUE(generic.auto_tune);
  EXPECT_EQ(generic.candidates, 8);
  const std::string start = "{gemm: {name: nv_heuristics, library: l, backend: cutlass3";
  EXPECT_EQ(Policies(start + "}}").gemm.layout, TableLayout::kNt);
  EXPECT_EQ(Policies(start + ", layout: tn}}").gemm.layout, TableLayout::kTn);
}

TEST(LoadPolicies, RefusesValuesThatAPolicyCannotHave) {
  for (const char* text :
       {"{gemm: {name: stream_k, generation: 4}}", "{gemm: {name: stream_k, cluster_m: 3}}",
        "{gemm: {name: stream_k, generation: 2, mode: stream_k}}",
        "{gemm: {name: stream_k, mode: data_parallel, splits: 2}}",
        "{gemm: {name: gemv, lanes: 1}}", "{gemm: {name: gemv, then: gemv}}",
        "{gemm: nv_heuristics}", "{gemm: {name: nv_heuristics, library: l, candidates: 65}}",
        "{gemm: {name: nv_heuristics, library: l, backend: cublas}}",
        "{gemm: {name: nv_heuristics, library: l, slice_k: true}}", "{gemm: {name: table}}",
        "{gemm: {name: deepgemm, tile_m: 64}}", "{attention: {name: fa3, cuda_graph: true}}",
        "{allreduce: {name: one_shot, channels: 2}}",
        "{allreduce: {name: vllm, fallback: two_shot}}",
        "{allreduce: {name: one_shot_up_to, fallback: ring}}",
        "{allreduce: {name: two_shot, max_bytes: 1024}}"}) {
    EXPECT_NE(PolicyError(text), "") << text;
  }
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
  EXPECT_TRUE(LoadPolicies("vllm_h100").ok());
}

}  // namespace
}  // namespace batchvar
