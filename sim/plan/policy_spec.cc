#include "sim/plan/policy_spec.h"

#include "sim/plan/policy_words.h"

namespace batchvar {
namespace {

constexpr Tile kSmallTile = {16, 128, 64};  // of the worked numbers: 32 blocks for 16 x 4096
constexpr Tile kWideTile = {128, 128, 64};

// batch_invariant_ops f22b1fbe, 2025-11-03.
Tile InvariantTile(DType dtype) {
  switch (dtype) {
    case DType::kBf16: return {128, 128, 64};
    case DType::kFp16: return {128, 256, 64};
    case DType::kFp32: return {128, 128, 32};
    case DType::kFp8E4m3: break;  // no kernel of that project
  }
  return {128, 128, 64};
}

Tile DefaultTile(const GemmPolicySpec& spec, DType dtype) {
  switch (spec.kind) {
    case GemmPolicyKind::kTextbook:
    case GemmPolicyKind::kCutlassSplitK: return kSmallTile;
    case GemmPolicyKind::kBatchInvariant:
      return spec.variant == InvariantVariant::kFreeTile ? kSmallTile : InvariantTile(dtype);
    case GemmPolicyKind::kStreamK:
    case GemmPolicyKind::kDeepGemm:
    case GemmPolicyKind::kGemv:
    case GemmPolicyKind::kTable:
    case GemmPolicyKind::kNvHeuristics: return kWideTile;
  }
  return kWideTile;
}

}  // namespace

TableLayout UsualLayout(NvBackend backend) {
  return backend == NvBackend::kGeneric ? TableLayout::kTn : TableLayout::kNt;
}

GemmPolicySpec DefaultGemmPolicy(GemmPolicyKind kind) {
  GemmPolicySpec spec;
  spec.kind = kind;
  if (kind != GemmPolicyKind::kTextbook) spec.tile_m = spec.tile_n = spec.tile_k = 0;
  if (kind == GemmPolicyKind::kNvHeuristics) spec.layout = UsualLayout(spec.backend);
  return spec;
}

Tile TileOf(const GemmPolicySpec& spec, DType dtype) {
  const Tile own = DefaultTile(spec, dtype);
  return {spec.tile_m > 0 ? spec.tile_m : own.m, spec.tile_n > 0 ? spec.tile_n : own.n,
          spec.tile_k > 0 ? spec.tile_k : own.k};
}

const char* PolicyName(GemmPolicyKind kind) {
  switch (kind) {
    case GemmPolicyKind::kTextbook: return "textbook";
    case GemmPolicyKind::kBatchInvariant: return "batch_invariant";
    case GemmPolicyKind::kCutlassSplitK: return "cutlass_splitk";
    case GemmPolicyKind::kStreamK: return "stream_k";
    case GemmPolicyKind::kDeepGemm: return "deepgemm";
    case GemmPolicyKind::kGemv: return "gemv";
    case GemmPolicyKind::kTable: return "table";
    case GemmPolicyKind::kNvHeuristics: return "nv_heuristics";
  }
  return "?";
}

const char* PolicyName(AttentionPolicyKind kind) {
  switch (kind) {
    case AttentionPolicyKind::kTextbook: return "textbook";
    case AttentionPolicyKind::kBatchInvariant: return "batch_invariant";
    case AttentionPolicyKind::kFa2: return "fa2";
    case AttentionPolicyKind::kFa3: return "fa3";
    case AttentionPolicyKind::kFlashInfer: return "flashinfer";
    case AttentionPolicyKind::kVllmTriton: return "vllm_triton";
    case AttentionPolicyKind::kSglangTriton: return "sglang_triton";
    case AttentionPolicyKind::kPagedV1V2: return "paged_v1_v2";
    case AttentionPolicyKind::kCascade: return "cascade";
  }
  return "?";
}

const char* PolicyName(NormPolicyKind kind) {
  switch (kind) {
    case NormPolicyKind::kNormInvariant: return "norm_invariant";
    case NormPolicyKind::kNormVllm: return "norm_vllm";
  }
  return "?";
}

const char* PolicyName(AllReducePolicyKind kind) {
  switch (kind) {
    case AllReducePolicyKind::kOneShot: return "one_shot";
    case AllReducePolicyKind::kTwoShot: return "two_shot";
    case AllReducePolicyKind::kRing: return "ring";
    case AllReducePolicyKind::kTree: return "tree";
    case AllReducePolicyKind::kExact: return "exact";
    case AllReducePolicyKind::kVllm: return "vllm";
    case AllReducePolicyKind::kSglang: return "sglang";
    case AllReducePolicyKind::kOneShotUpTo: return "one_shot_up_to";
  }
  return "?";
}

const char* PolicyName(MoePolicyKind kind) {
  switch (kind) {
    case MoePolicyKind::kMoeVllm: return "moe_vllm";
  }
  return "?";
}

const char* ModeName(SplitKMode mode) { return NameIn(kSplitKModeNames, mode); }
const char* ModeName(StreamKMode mode) { return NameIn(kStreamKModeNames, mode); }
const char* ArchName(DeepGemmArch arch) { return NameIn(kDeepGemmArchNames, arch); }
const char* VariantName(InvariantVariant variant) {
  return NameIn(kInvariantVariantNames, variant);
}
const char* LayoutName(TableLayout layout) { return NameIn(kTableLayoutNames, layout); }
const char* BackendName(NvBackend backend) { return NameIn(kNvBackendNames, backend); }

const std::vector<AttentionPolicyKind>& AllAttentionPolicies() {
  static const std::vector<AttentionPolicyKind> kinds = {
      AttentionPolicyKind::kTextbook,     AttentionPolicyKind::kBatchInvariant,
      AttentionPolicyKind::kFa2,          AttentionPolicyKind::kFa3,
      AttentionPolicyKind::kFlashInfer,   AttentionPolicyKind::kVllmTriton,
      AttentionPolicyKind::kSglangTriton, AttentionPolicyKind::kPagedV1V2,
      AttentionPolicyKind::kCascade};
  return kinds;
}

const std::vector<AllReducePolicyKind>& AllAllReducePolicies() {
  static const std::vector<AllReducePolicyKind> kinds = {
      AllReducePolicyKind::kOneShot, AllReducePolicyKind::kTwoShot,    AllReducePolicyKind::kRing,
      AllReducePolicyKind::kTree,    AllReducePolicyKind::kExact,      AllReducePolicyKind::kVllm,
      AllReducePolicyKind::kSglang,  AllReducePolicyKind::kOneShotUpTo};
  return kinds;
}

const std::vector<std::string>& AttentionPolicyKeys(AttentionPolicyKind kind) {
  using Keys = std::vector<std::string>;
  static const Keys textbook = {"tile_q", "tile_kv", "max_split"};
  static const Keys batch_invariant = {"tile_kv", "split_size", "prefix_apart"};
  static const Keys fa2 = {"num_splits"};
  static const Keys fa3 = {"num_splits", "varlen", "page_size"};
  static const Keys flashinfer = {"page_size",       "cuda_graph",       "tensor_cores",
                                  "blocks_per_sm",   "fixed_split_size", "prefill_fixed_split_size",
                                  "disable_split_kv"};
  static const Keys vllm_triton = {"cuda_graph", "segments"};
  static const Keys sglang_triton = {"max_kv_splits", "static_kv_splits", "split_tile_size"};
  static const Keys paged = {"page_size"};
  static const Keys cascade = {"num_splits", "page_size"};
  switch (kind) {
    case AttentionPolicyKind::kTextbook: return textbook;
    case AttentionPolicyKind::kBatchInvariant: return batch_invariant;
    case AttentionPolicyKind::kFa2: return fa2;
    case AttentionPolicyKind::kFa3: return fa3;
    case AttentionPolicyKind::kFlashInfer: return flashinfer;
    case AttentionPolicyKind::kVllmTriton: return vllm_triton;
    case AttentionPolicyKind::kSglangTriton: return sglang_triton;
    case AttentionPolicyKind::kPagedV1V2: return paged;
    case AttentionPolicyKind::kCascade: return cascade;
  }
  return textbook;
}

}  // namespace batchvar
